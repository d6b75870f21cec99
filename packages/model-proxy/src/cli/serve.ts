/** `model-proxy`: the service, from its configuration to the signal that ends it. */
import { createLog, outputFormat } from '@rackless/daemon/log.js';
import { obeySignals } from '@rackless/daemon/signals.js';
import { createNotify } from '@rackless/daemon/systemd-notify.js';
import { ConfigError, loadConfig, type LoadedConfig } from '../config/load.js';
import { startProxy, StartError, type Proxy } from '../proxy.js';
import { reportFaults, type StartOptions } from './start-options.js';

/**
 * Serves until SIGTERM or SIGINT.
 * @returns the exit code: 0 after a signal, 1 where it did not start; what was wrong is on standard error, a line for each fault.
 */
export async function serve({ warnings, ...options }: StartOptions): Promise<number> {
  const load = () => loadConfig(options);
  let config: LoadedConfig;
  try {
    config = load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return reportFaults(error.faults, [...warnings, ...error.warnings]);
  }
  const { logLevel: level, jsonLogs } = config.listen;
  const log = createLog({ level, format: jsonLogs === null ? outputFormat() : jsonLogs ? 'json' : 'text' });
  for (const warning of [...warnings, ...config.warnings]) log.warn(warning);

  let proxy: Proxy;
  try {
    proxy = await startProxy({ config, load, log });
  } catch (error) {
    log.flush();
    if (!(error instanceof StartError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
  const notify = createNotify({ environment: options.environment, log });
  const stopped = obeySignals({ running: proxy, notify, log });
  // What was said so far is for somebody who waits for it.
  log.flush();
  await notify('READY=1', `STATUS=serving at ${proxy.addresses.join(' ')}`);
  await stopped;
  log.flush();
  return 0;
}
