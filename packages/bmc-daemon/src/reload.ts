/** Reading the configuration again while the service runs: one way for SIGHUP and for Manager.Reset. */
import { isDeepStrictEqual } from 'node:util';
import type { Log } from '@rackless/daemon/log.js';
import { loadTls, type TlsFiles, type TlsOptions } from '@rackless/daemon/tls.js';
import { reloadableKeys } from './config/reloadable.js';
import { settingKeys, settingsTable, type SettingKey, type Settings } from './config/settings.js';

/** A configuration as it is now. Its settings are not to be used where there are faults. */
export interface Reread {
  readonly settings: Settings;
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

export interface ReloadOptions {
  /** The settings that hold: those that can change are changed in this very object. */
  readonly live: Settings;
  /** Undefined: there is nothing to read, only the certificate's files. */
  readonly reread: (() => Reread) | undefined;
  readonly setTls: (tls: TlsOptions) => void;
  readonly log: Log;
}

/** Takes what can be taken, and says in the log what was, what waits for a restart, and what was wrong. Never throws. */
export function reloadSettings({ live, reread, setTls, log }: ReloadOptions): void {
  const next = readAgain(reread, log);
  if (next !== undefined) takeOver(live, next, log);
  const tlsFiles = tlsFilesOf(live);
  if (tlsFiles === undefined) return;
  try {
    setTls(loadTls(tlsFiles));
    log.info('certificate and key read again', { certificate: tlsFiles.sslCert });
  } catch (error) {
    log.error('reading certificate and key again: the old ones stay', { error });
  }
}

/** Both files; undefined: plain HTTP. */
export function tlsFilesOf({ sslCert, sslKey }: Pick<Settings, 'sslCert' | 'sslKey'>): TlsFiles | undefined {
  return sslCert === null || sslKey === null ? undefined : { sslCert, sslKey };
}

function readAgain(reread: ReloadOptions['reread'], log: Log): Settings | undefined {
  if (reread === undefined) return undefined;
  try {
    const { settings, faults, warnings } = reread();
    for (const warning of warnings) log.warn(warning);
    for (const fault of faults) log.error(fault);
    if (faults.length === 0) return settings;
    log.error('reading the configuration again: what held before goes on to hold');
  } catch (error) {
    log.error('reading the configuration again: what held before goes on to hold', { error });
  }
  return undefined;
}

function takeOver(live: Settings, next: Settings, log: Log): void {
  const changed = settingKeys.filter((key) => !isDeepStrictEqual(live[key], next[key]));
  // From HTTP to HTTPS, or back, is another listener.
  const sameScheme = (tlsFilesOf(live) === undefined) === (tlsFilesOf(next) === undefined);
  const taken = changed.filter(
    (key) => reloadableKeys.some((known) => known === key) && (sameScheme || (key !== 'sslCert' && key !== 'sslKey')),
  );
  Object.assign(live, Object.fromEntries(taken.map((key) => [key, next[key]])));
  const names = (keys: readonly SettingKey[]): string => keys.map((key) => settingsTable[key].name).join(', ');
  const waiting = changed.filter((key) => !taken.includes(key));
  log.info(`configuration read again: ${taken.length === 0 ? 'nothing new' : names(taken)}`);
  if (waiting.length > 0) log.warn(`changed, and taken with the next start of the daemon: ${names(waiting)}`);
}
