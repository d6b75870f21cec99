/** `bmc-daemon`: the service, from its settings to the signal that ends it. */
import { inspectSettings } from '../config/inspect.js';
import type { LoadedSettings } from '../config/load.js';
import { startDaemon, StartError, type Daemon } from '../daemon.js';
import { createLog, outputFormat, type Log } from '../log.js';
import { createNotify, reloading, type Notify } from '../server/systemd-notify.js';

/**
 * Serves until SIGTERM or SIGINT.
 * @returns the exit code: 0 after a signal, 1 where it did not start; what was wrong is on standard error, a line for each fault.
 */
export async function serve(loaded: LoadedSettings): Promise<number> {
  const { settings } = loaded;
  const inspection = inspectSettings(loaded);
  const faults = [...loaded.faults, ...inspection.faults];
  const warnings = [...loaded.warnings, ...inspection.warnings];
  if (faults.length > 0) {
    // A misspelled name is often why something else is at fault. There is no log yet, whose settings may be at fault too.
    for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
    for (const fault of faults) process.stderr.write(`${fault}\n`);
    return 1;
  }
  const { logLevel: level, logFormat } = settings;
  const log = createLog({ level, format: logFormat === 'auto' ? outputFormat() : logFormat });
  for (const warning of warnings) log.warn(warning);

  let daemon: Daemon;
  try {
    daemon = await startDaemon({ ...loaded, environment: process.env, log });
  } catch (error) {
    log.flush();
    if (!(error instanceof StartError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
  const notify = createNotify({ environment: process.env, log });
  const signals = listen(daemon, notify, log);
  await notify('READY=1', `STATUS=serving at ${daemon.addresses.join(' ')}`);
  await signals.stopped;
  log.flush();
  return 0;
}

/** Obeys the signals. `stopped` resolves when the daemon has ended after SIGTERM or SIGINT. */
function listen(daemon: Daemon, notify: Notify, log: Log): { readonly stopped: Promise<void> } {
  let stopping = false;
  const stopped = new Promise<void>((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      if (stopping) {
        log.warn(`${signal} again: ending at once`);
        log.flush();
        process.exit(1);
      }
      stopping = true;
      log.info(`${signal}: stopping`);
      // Said beside the stop and not before it: systemd's attention is not worth a second.
      void Promise.allSettled([notify('STOPPING=1'), daemon.close()]).then(([, closed]) => {
        if (closed.status === 'rejected') log.error('stopping', { error: closed.reason });
        resolve();
      });
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
  process.on('SIGHUP', () => {
    if (stopping) return;
    void notify(...reloading())
      .then(() => daemon.reload())
      .then(() => notify('READY=1'));
  });
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      // Nobody knows what state this leaves behind: systemd starts a new process, and the machines keep theirs.
      log.error('ending after an error that nobody expected', { error });
      log.flush();
      process.exit(1);
    });
  }
  return { stopped };
}
