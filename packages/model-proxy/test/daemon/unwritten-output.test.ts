/** Tests commands that cannot write standard output: the disk is full, or the reader of the pipe has ended. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const BIN = path.join(import.meta.dirname, '../../bin/model-proxy.js');

/** A server that answers as a proxy with one key. */
const proxy = createServer((request, response) => {
  const isList = request.url?.startsWith('/key/list') === true;
  response.end(JSON.stringify(isList ? { keys: [{ token: 'a', spend: 0 }], total_pages: 1 } : { key: 'sk-new' }));
});
let url = '';
beforeAll(async () => {
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`; // A TCP server has such an address.
});
afterAll(() => new Promise((resolve) => proxy.close(resolve)));

/** Runs a command whose standard output goes to `target`: `>FILE` or `| PROGRAM`. */
function runInto(target: string, args: readonly string[]): Promise<{ readonly code: number; readonly stderr: string }> {
  const { PATH = '' } = process.env;
  const env = { PATH, HOME: '/nowhere', LITELLM_PROXY_URL: url, LITELLM_MASTER_KEY: 'sk-1' };
  const script = `set -o pipefail; "$0" "$@" ${target}`;
  return new Promise((resolve) => {
    execFile('bash', ['-c', script, process.execPath, BIN, ...args], { env }, (error, _stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stderr });
    });
  });
}

/** Each row: the command line for the title, and its words. */
const commands = [
  ['--help'],
  ['--version'],
  ['--validate_config', '--model', 'gpt-5'],
  ['key', 'create'],
  ['key', 'list'],
  ['key', 'list', '--json'],
  ['key', 'revoke', 'an-alias'],
  ['key', '--help'],
].map((args) => [args.join(' '), args] as const);

describe('a full disk', () => {
  it.each(commands)('makes %s fail with one line, not with a stack trace', async (_, args) => {
    const { code, stderr } = await runInto('>/dev/full', args);
    const line = 'model-proxy: writing standard output: there is no room left on the device\n';
    // The check of a configuration prints warnings before this line.
    expect([code, stderr.slice(-line.length), stderr.includes('    at ')]).toEqual([1, line, false]);
  });
});

describe('a reader that closes the pipe', () => {
  it.each(commands)('does not make %s fail', async (_, args) => {
    const { code, stderr } = await runInto('| true', args);
    expect([code, stderr.includes('EPIPE')]).toEqual([0, false]);
  });
});
