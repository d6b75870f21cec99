import { spawn } from 'node:child_process';

/** Binaries of a daemon with the QEMU driver, the monolithic one first; libvirt's own client knows the same two. */
const daemons = ['libvirtd', 'virtqemud'];

/** Debian and Red Hat keep daemons where a user's PATH does not look. */
const extraPath = ['/usr/sbin', '/usr/local/sbin', '/sbin'];

/**
 * Starts the user's own libvirtd, which ends by itself after 120 s without a client. It outlives this process on purpose: its
 * guests do too. When two clients start one at the same time, the second daemon finds the first one's pid file and gives way.
 * @param environment of this process: the daemon finds the user's directories by it.
 * @throws {AggregateError} when neither `libvirtd` nor `virtqemud` can be started.
 */
export async function startSessionDaemon(environment: NodeJS.ProcessEnv, commands = daemons): Promise<void> {
  const path = [environment['PATH'] ?? '/usr/bin:/bin', ...extraPath].join(':');
  const failures: Error[] = [];
  for (const command of commands) {
    const failure = await start(command, { ...environment, PATH: path });
    if (failure === null) return;
    failures.push(failure);
  }
  throw new AggregateError(failures, `starting a session daemon: neither ${commands.join(' nor ')} can be run`);
}

function start(command: string, environment: NodeJS.ProcessEnv): Promise<Error | null> {
  return new Promise((resolve) => {
    const child = spawn(command, ['--timeout=120'], { env: environment, detached: true, stdio: 'ignore', cwd: '/' });
    child.once('spawn', () => {
      child.unref();
      resolve(null);
    });
    child.once('error', resolve);
  });
}
