import { spawn } from 'node:child_process';

/** Daemons with the QEMU driver, in the order of preference, as in libvirt's own client. */
const daemons = ['libvirtd', 'virtqemud'];

/** Folders of daemons on Debian and Red Hat, which a user's PATH does not contain. */
const extraPath = ['/usr/sbin', '/usr/local/sbin', '/sbin'];

/**
 * Starts the user's own libvirtd, or virtqemud if the program libvirtd cannot be executed. Resolves when the process
 * runs, perhaps before it listens. The daemon exits after 120 s without a client and without a running domain. The
 * daemon continues after this process exits, because its domains continue to run. If two clients start a daemon at
 * the same time, the second daemon sees the pid file of the first and exits.
 * @param environment environment variables of the daemon. XDG_RUNTIME_DIR and HOME determine where its socket is.
 * @throws {AggregateError} if neither `libvirtd` nor `virtqemud` can be executed.
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
