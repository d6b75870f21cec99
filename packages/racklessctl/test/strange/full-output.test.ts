/** Commands whose standard output cannot be written. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { oneMachine, scriptedServices } from '../support/scripted-service.js';

const serve = scriptedServices();
const BIN = path.join(import.meta.dirname, '../../bin/racklessctl.js');

/** Runs racklessctl with standard output to a file or a program. */
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
    'is a failure of %s',
    async (line) => {
      const service = await serve(oneMachine());
      expect(await runInto('>/dev/full', [...line.split(' '), '--url', service.url])).toEqual({
        code: 1,
        stderr: 'racklessctl: writing standard output: there is no room left on the device\n',
      });
    },
  );

  it('is a failure of --help', async () => {
    expect(await runInto('>/dev/full', ['--help'])).toMatchObject({ code: 1 });
  });
});

describe('a reader that closes the pipe', () => {
  it('is no failure', async () => {
    const service = await serve(oneMachine({ Name: 'x'.repeat(1_000_000) }));
    expect(await runInto('| true', ['list', '--json', '--url', service.url])).toEqual({ code: 0, stderr: '' });
  });
});
