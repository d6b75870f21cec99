/** Standard output and standard error that cannot be written: a full disk, and a reader that ends. */
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { daemonFixture, FAKE } from './fixture.js';
import { run, waitFor } from './process.js';

const { start } = daemonFixture();

/** Runs a command in a shell. @param target redirects its output, or pipes it to a command. */
const runInto = (target: string, args: readonly string[]): ReturnType<typeof run> =>
  run(args, { through: ['bash', '-c', `set -o pipefail; "$0" "$@" ${target}`] });

/** Returns whether the process has a handler for SIGTERM, so that the daemon has started. */
function handlesSigterm(pid: number): boolean {
  const [, handled = '0'] = /^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return ((BigInt(`0x${handled}`) >> BigInt(constants.signals.SIGTERM - 1)) & 1n) === 1n;
}

/** Each row: the command line for the title, and its words. */
const commands = [
  ['--help'],
  ['--version'],
  ['check', ...FAKE],
  ['doctor', ...FAKE, '--json'],
  ['machine', '--help'],
].map((args) => [args.join(' '), args] as const);

describe('a full disk', () => {
  it.each(commands)('is a failure of %s', async (_, args) => {
    expect(await runInto('>/dev/full', args)).toEqual({
      code: 1,
      stdout: '',
      stderr: 'bmc-daemon: writing standard output: there is no room left on the device\n',
    });
  });

  it('does not end the daemon, which reports once that its log has gaps', async () => {
    const daemon = start(FAKE, { through: ['bash', '-c', 'exec "$0" "$@" >/dev/full'] });
    const isReported = () => (daemon.stderr === '' || !handlesSigterm(daemon.pid) ? undefined : true);
    await waitFor(isReported, () => `nothing was reported: ${daemon.stderr}`);
    daemon.signal('SIGTERM');
    expect(await daemon.waitForExit()).toEqual({
      code: 0,
      stdout: '',
      stderr: 'bmc-daemon: writing the log: there is no room left on the device: lines are missing\n',
    });
  });
});

describe('a reader that closes the pipe', () => {
  it.each(commands)('is no failure of %s', async (_, args) => {
    const { code, stderr } = await runInto('| true', args);
    // The doctor reports problems of this host with exit code 1, so its exit code proves nothing here.
    expect([code === 1 && args[0] !== 'doctor', stderr]).toEqual([false, '']);
  });
});

describe('messages that cannot be written', () => {
  it('change neither the output nor the exit code of a command', async () => {
    const finished = await runInto('2>/dev/full', ['check', '--fake', '-p', 'abc']);
    expect(finished).toEqual({ code: 1, stdout: '', stderr: '' });
  });
});
