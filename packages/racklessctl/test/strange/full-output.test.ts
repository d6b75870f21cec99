/** Tests commands that cannot write standard output: the disk is full, or the reader of the pipe has ended. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { oneMachine, scriptedServices } from '../support/scripted-service.js';

const serve = scriptedServices();
const BIN = path.join(import.meta.dirname, '../../bin/racklessctl.js');

/** Runs racklessctl. Its standard output goes to `target`: `>FILE` or `| PROGRAM`. */
function runInto(target: string, args: readonly string[]): Promise<{ readonly code: number; readonly stderr: string }> {
  const { PATH = '' } = process.env;
  const script = `set -o pipefail; "$0" "$@" ${target}`;
  return new Promise((resolve) => {
    const options = { env: { PATH, HOME: '/nowhere' } };
    execFile('bash', ['-c', script, process.execPath, BIN, ...args], options, (error, _stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stderr });
    });
  });
}

describe('a full disk', () => {
  it.each([['list'], ['list --json'], ['inventory'], ['inventory --format ironic'], ['power status --all']])(
    'makes %s fail',
    async (line) => {
      const service = await serve(oneMachine());
      expect(await runInto('>/dev/full', [...line.split(' '), '--url', service.url])).toEqual({
        code: 1,
        stderr: 'racklessctl: writing standard output: there is no room left on the device\n',
      });
    },
  );

  it('makes --help fail', async () => {
    expect(await runInto('>/dev/full', ['--help'])).toMatchObject({ code: 1 });
  });
});

describe('a reader that closes the pipe', () => {
  it('does not make the command fail', async () => {
    const service = await serve(oneMachine({ Name: 'x'.repeat(1_000_000) }));
    expect(await runInto('| true', ['list', '--json', '--url', service.url])).toEqual({ code: 0, stderr: '' });
  });
});
