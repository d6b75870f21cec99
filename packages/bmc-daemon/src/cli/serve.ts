/** `bmc-daemon`: runs the service until a signal. */
import { setFlagsFromString } from 'node:v8';
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { createLog, outputFormat } from '@rackless/daemon/log/log.js';
import { handleSignals } from '@rackless/daemon/process/signals.js';
import { exitCodeOfStart } from '@rackless/daemon/process/start-failure.js';
import { printStartReport } from '@rackless/daemon/process/start-report.js';
import { createNotify, startWatchdog } from '@rackless/daemon/process/systemd-notify.js';
import { inspectSettings, type Inspection } from '../config/inspect.js';
import type { LoadedSettings } from '../config/load.js';
import type { Daemon } from '../daemon.js';
import type { CheckedSettings } from '../reload.js';
import { StartError } from '../start-error.js';

/**
 * V8 collects old objects when the heap has grown by this percentage of the used memory. By default, V8 lets
 * the heap grow up to four times. While a client starts 2,000 machines, requests wait and become old
 * objects: the daemon used 480 MiB with the default, and 300 MiB with this value.
 */
const HEAP_GROWTH_PERCENT = 80;

/**
 * Serves until SIGTERM or SIGINT.
 * @param load reads the settings, again for every reload.
 * @returns the exit code: 0 after a signal; 78 if a file or a setting must be corrected before a start can
 *   succeed; 1 if the same start may succeed later. Standard error has a line for each fault.
 */
export async function serve(load: () => LoadedSettings): Promise<number> {
  const loaded = load();
  const { settings } = loaded;
  const { faults, warnings, machineFile } = inspected(loaded);
  if (faults.length > 0) {
    // Writes faults to standard error, because the settings of the log may have a fault too.
    printStartReport({ faults, warnings });
    return exitCode.configuration;
  }
  const { logLevel: level, logFormat } = settings;
  const log = createLog({ level, format: logFormat === 'auto' ? outputFormat() : logFormat });
  for (const warning of warnings) log.warn(warning);

  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  // Imports this only after the check of the settings, because it loads most of the daemon's code.
  const { startDaemon } = await import('../daemon.js');
  let daemon: Daemon;
  try {
    const reread = (): CheckedSettings => inspected(load());
    daemon = await startDaemon({ ...loaded, environment: process.env, log, machineFile, reread });
  } catch (error) {
    log.flush();
    if (!(error instanceof StartError)) throw error;
    printStartReport({ faults: [error.message], warnings: [] });
    return exitCodeOfStart(error);
  }
  const notify = createNotify({ environment: process.env, log });
  startWatchdog({ environment: process.env, notify, pid: process.pid });
  const stopped = handleSignals({ running: daemon, notify, log });
  // Writes the start messages before systemd reports the service as started.
  log.flush();
  await notify('READY=1', `STATUS=serving at ${daemon.addresses.join(' ')}`);
  await stopped;
  log.flush();
  return exitCode.done;
}

/** Returns the settings, and the faults and warnings of the settings and of the files that the settings name. */
function inspected(loaded: LoadedSettings): CheckedSettings & Pick<Inspection, 'machineFile'> {
  const inspection = inspectSettings(loaded, process.env);
  return {
    settings: loaded.settings,
    origins: loaded.origins,
    machineFile: inspection.machineFile,
    faults: [...loaded.faults, ...inspection.faults],
    warnings: [...loaded.warnings, ...inspection.warnings],
  };
}
