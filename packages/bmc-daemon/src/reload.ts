/** Reloads the configuration while the service runs, for SIGHUP and for Manager.Reset. */
import { isDeepStrictEqual } from 'node:util';
import type { Log } from '@rackless/daemon/log/log.js';
import { loadTls, type TlsFiles, type TlsOptions } from '@rackless/daemon/network/tls.js';
import type { OpenedDriver } from './hypervisors/driver-context.js';
import { reloadableKeys } from './config/reloadable.js';
import { settingKeys, settingsTable, type SettingKey, type Settings } from './config/settings.js';

type Origins = Readonly<Record<SettingKey, string>>;

/** The configuration that a reload has read. Do not use its settings if it has faults. */
export interface CheckedSettings {
  readonly settings: Settings;
  /** The source of each setting. */
  readonly origins: Origins;
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

interface ReloadOptions {
  /** The active settings and their sources; a reload changes both objects. */
  readonly live: { readonly settings: Settings; readonly origins: Origins };
  /** Loads the configuration; undefined: a reload reads only the certificate and key. */
  readonly reread: (() => CheckedSettings) | undefined;
  readonly setTls: (tls: TlsOptions) => void;
  readonly setHosts: OpenedDriver['setHosts'];
  readonly log: Log;
}

/**
 * Applies the settings that can change, and logs which changed, which need a restart, and which are
 * wrong. If any is wrong, all old settings stay in use. Reads the certificate and key in each case. Never throws.
 * @returns the certificate of HTTPS; undefined for plain HTTP, or if the old certificate stays in use.
 */
export function reloadSettings(options: ReloadOptions): TlsOptions | undefined {
  const { live, reread, setTls, log } = options;
  const next = readAgain(reread, log);
  if (next !== undefined) applyReloadable(next, options);
  const tlsFiles = tlsFilesOf(live.settings);
  if (tlsFiles === undefined) return undefined;
  try {
    const tls = loadTls(tlsFiles);
    setTls(tls);
    log.info('certificate and key reloaded', { certificate: tlsFiles.sslCert });
    return tls;
  } catch (error) {
    log.error('reloading certificate and key failed: the old pair stays in use', { error });
    return undefined;
  }
}

/** Returns the files of the certificate and the key; undefined for plain HTTP. */
export function tlsFilesOf({ sslCert, sslKey }: Pick<Settings, 'sslCert' | 'sslKey'>): TlsFiles | undefined {
  return sslCert === null || sslKey === null ? undefined : { sslCert, sslKey };
}

function readAgain(reread: ReloadOptions['reread'], log: Log): CheckedSettings | undefined {
  if (reread === undefined) return undefined;
  try {
    const checked = reread();
    const { faults, warnings } = checked;
    for (const warning of warnings) log.warn(warning);
    for (const fault of faults) log.error(fault);
    if (faults.length === 0) return checked;
    log.error('reloading the configuration failed: the old one stays in use');
  } catch (error) {
    log.error('reloading the configuration failed: the old one stays in use', { error });
  }
  return undefined;
}

function applyReloadable(checked: CheckedSettings, { live: active, setHosts, log }: ReloadOptions): void {
  const { settings: live } = active;
  const { settings: next } = checked;
  const changed = settingKeys.filter((key) => !isDeepStrictEqual(live[key], next[key]));
  // A change between HTTP and HTTPS needs another listener.
  const sameScheme = (tlsFilesOf(live) === undefined) === (tlsFilesOf(next) === undefined);
  // One host and a list of hosts have different drivers.
  const sameDriver = setHosts !== undefined && typeof next.libvirtUri !== 'string';
  const isReloadable = (key: SettingKey): boolean => {
    if (key === 'sslCert' || key === 'sslKey') return sameScheme;
    if (key === 'libvirtUri') return sameDriver;
    return reloadableKeys.some((known) => known === key);
  };
  const taken = changed.filter(isReloadable);
  Object.assign(live, Object.fromEntries(taken.map((key) => [key, next[key]])));
  const names = (keys: readonly SettingKey[]): string => keys.map((key) => settingsTable[key].name).join(', ');
  const waiting = changed.filter((key) => !taken.includes(key));
  // The line of a setting may change without its value, so the sources of all active settings are replaced.
  const current = settingKeys.filter((key) => !waiting.includes(key));
  Object.assign(active.origins, Object.fromEntries(current.map((key) => [key, checked.origins[key]])));
  if (taken.includes('libvirtUri')) {
    setHosts?.(next.libvirtUri).catch((error: unknown) => log.error('changing the hosts failed', { error }));
  }
  log.info(`configuration reloaded: ${taken.length === 0 ? 'nothing new' : names(taken)}`);
  if (waiting.length > 0) log.warn(`these changes need a restart of the daemon: ${names(waiting)}`);
}
