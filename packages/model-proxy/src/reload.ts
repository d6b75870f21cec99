/** Replaces the configuration of a running proxy or group, completely or not at all. */
import type { Log } from '@rackless/daemon/log/log.js';
import { loadTls, type TlsOptions } from '@rackless/daemon/network/tls.js';
import type { FileWatch } from './config/file-watch.js';
import { ConfigError, type LoadedConfig } from './config/load.js';

/**
 * The error of a reload after which no model could be served. At a start, this is allowed if `model_list` has
 * entries: a later reload may make them usable.
 */
const NO_MODEL_LEFT = 'no entry of model_list can be served';

/**
 * Compares a new configuration with the running one, and reads the new certificate.
 * @returns the certificate for new connections; null: plain HTTP.
 * @throws {ConfigError} if no model could be served anymore.
 * @throws {TlsFilesError} if the certificate cannot be used.
 */
export function checkReplacement(next: LoadedConfig, current: LoadedConfig): TlsOptions | null {
  if (next.proxy.deployments.length === 0 && current.proxy.deployments.length > 0)
    throw new ConfigError([...next.warnings, NO_MODEL_LEFT], [], next.watchedFiles);
  const { tls } = next.listen;
  return tls === null ? null : loadTls({ sslCert: tls.certFile, sslKey: tls.keyFile });
}

/** Options of {@link replaceConfig}. */
interface Replacing {
  /** Returns the configuration in use. */
  readonly current: () => LoadedConfig;
  readonly load: () => Promise<LoadedConfig>;
  readonly log: Log;
  readonly watch: FileWatch;
  /** Returns whether the proxy shuts down. It then needs no new configuration. */
  readonly isClosed: () => boolean;
  /** Prepares a configuration, without using it. @returns a function that makes the proxy use it. */
  readonly prepare: (next: LoadedConfig) => Promise<() => void | Promise<void>>;
}

/** Loads and applies a new configuration. Never rejects. */
export async function replaceConfig({ current, load, log, watch, isClosed, prepare }: Replacing): Promise<void> {
  if (isClosed()) return;
  const before = current();
  // A file that changes while it is read triggers another reload.
  watch.mark();
  let next: LoadedConfig;
  try {
    next = await load();
    if (isClosed()) return;
    const use = await prepare(next);
    if (isClosed()) return;
    await use();
  } catch (error) {
    // A failed reload must never end a working proxy, whatever the error.
    if (error instanceof ConfigError) for (const fault of error.faults) log.error(`reloading: ${fault}`);
    else log.error('reloading', { error });
    log.error('reloading the configuration failed: the old one stays in use');
    // The fault may lie in a file that only the faulty configuration names, so watch that file as
    // well.
    const faultyFiles = error instanceof ConfigError ? error.watchedFiles : [];
    watch.replace([...new Set([...before.watchedFiles, ...faultyFiles])]);
    return;
  }
  // Logs only new warnings, because a file can have a warning for each of thousands of entries.
  const known = new Set(before.warnings);
  for (const warning of next.warnings) if (!known.has(warning)) log.warn(warning);
  watch.replace(next.watchedFiles);
  log.info('configuration reloaded', { models: modelNames(next) });
}

/** Logs the addresses at the start. @param more further fields of the line. */
export function logServing(
  addresses: readonly string[],
  config: LoadedConfig,
  log: Pick<Log, 'info'>,
  more: Readonly<Record<string, number>> = {},
): void {
  const models = modelNames(config);
  for (const address of addresses) log.info(`serving at ${address}/v1`, { models, ...more });
}

const modelNames = ({ proxy }: LoadedConfig) => [...new Set(proxy.deployments.map(({ modelName }) => modelName))];
