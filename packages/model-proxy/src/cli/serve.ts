/** The command `model-proxy`: runs the proxy until a signal ends it. */
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { createLog, outputFormat } from '@rackless/daemon/log/log.js';
import { handleSignals, type EarlySignals } from '@rackless/daemon/process/signals.js';
import { exitCodeOfStart } from '@rackless/daemon/process/start-failure.js';
import { printStartReport } from '@rackless/daemon/process/start-report.js';
import { createNotify, startWatchdog } from '@rackless/daemon/process/systemd-notify.js';
import { ConfigError, loadConfig, loadConfigInBackground, type LoadedConfig } from '../config/load.js';
import { recordingReader } from '../workers/recording-reader.js';
import type { Proxy } from '../proxy.js';
import type { StartOptions } from './start-options.js';

/**
 * Serves until SIGTERM or SIGINT. Standard error has a line for each fault of the start.
 * @returns the exit code: 0 after a signal, 78 for a faulty configuration or a file that cannot be
 * used, 1 if the cause may be temporary, such as a port in use.
 */
export async function serve({ warnings, ...options }: StartOptions, early?: EarlySignals): Promise<number> {
  let config: LoadedConfig;
  const texts = new Map<string, string>();
  try {
    config = loadConfig({ ...options, readText: recordingReader(texts) });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printStartReport({ faults: error.faults, warnings: [...warnings, ...error.warnings] });
    return exitCode.configuration;
  }
  const { logLevel: level, jsonLogs } = config.listen;
  const log = createLog({ level, format: jsonLogs === null ? outputFormat() : jsonLogs ? 'json' : 'text' });
  for (const warning of [...warnings, ...config.warnings]) log.warn(warning);

  if (config.listen.numWorkers > 1) {
    const { serveGroup } = await import('../workers/serve-group.js');
    return serveGroup({ options, loaded: { config, texts: [...texts] }, early, log });
  }
  // Imported only now, so that a faulty configuration is reported without loading the proxy's code.
  const { startProxy, StartError } = await import('../proxy.js');
  let proxy: Proxy;
  try {
    proxy = await startProxy({ config, load: () => loadConfigInBackground(options), log });
  } catch (error) {
    log.flush();
    if (!(error instanceof StartError)) throw error;
    printStartReport({ faults: [error.message], warnings: [] });
    return exitCodeOfStart(error);
  }
  const notify = createNotify({ environment: options.environment, log });
  startWatchdog({ environment: options.environment, notify, pid: process.pid });
  const stopped = handleSignals({ running: proxy, early, notify, log });
  // READY=1 unblocks other units, so write the log of the start first.
  log.flush();
  await notify('READY=1', `STATUS=serving at ${proxy.addresses.join(' ')}`);
  await stopped;
  log.flush();
  return exitCode.done;
}
