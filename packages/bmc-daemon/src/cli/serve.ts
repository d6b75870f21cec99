/** `bmc-daemon`: the service, from its settings to the signal that ends it. */
import { createLog, outputFormat } from '@rackless/daemon/log.js';
import { obeySignals } from '@rackless/daemon/signals.js';
import { createNotify } from '@rackless/daemon/systemd-notify.js';
import { inspectSettings } from '../config/inspect.js';
import type { LoadedSettings } from '../config/load.js';
import { startDaemon, StartError, type Daemon } from '../daemon.js';
import type { Reread } from '../reload.js';

/**
 * Serves until SIGTERM or SIGINT.
 * @param load reads the settings, again for every reload.
 * @returns the exit code: 0 after a signal, 1 where it did not start; what was wrong is on standard error, a line for each fault.
 */
export async function serve(load: () => LoadedSettings): Promise<number> {
  const loaded = load();
  const { settings } = loaded;
  const { faults, warnings } = inspected(loaded);
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
    daemon = await startDaemon({ ...loaded, environment: process.env, log, reread: () => inspected(load()) });
  } catch (error) {
    log.flush();
    if (!(error instanceof StartError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
  const notify = createNotify({ environment: process.env, log });
  const stopped = obeySignals({ running: daemon, notify, log });
  // What was said so far is for somebody who waits for it.
  log.flush();
  await notify('READY=1', `STATUS=serving at ${daemon.addresses.join(' ')}`);
  await stopped;
  log.flush();
  return 0;
}

/** With what is wrong with the files that the settings name. */
function inspected(loaded: LoadedSettings): Reread {
  const inspection = inspectSettings(loaded);
  return {
    settings: loaded.settings,
    faults: [...loaded.faults, ...inspection.faults],
    warnings: [...loaded.warnings, ...inspection.warnings],
  };
}
