/**
 * Opens the certificate of the service's own HTTPS: the listener's context, the files and the
 * signing requests.
 */
import type { Log } from '@rackless/daemon/log.js';
import { removeLeftovers } from '@rackless/daemon/replace-file.js';
import type { TlsOptions } from '@rackless/daemon/tls.js';
import {
  noRequestedKeys,
  openServerCertificate,
  requestedKeysState,
  type ServerCertificate,
} from './certificates/server-certificate.js';
import type { Settings } from './config/settings.js';
import { tlsFilesOf } from './reload.js';
import { openStateFile } from './state-file.js';

export interface TlsCertificateOptions {
  /** The certificate at the start; undefined for plain HTTP. */
  readonly tls: TlsOptions | undefined;
  /** The active settings; a reload may name other files. */
  readonly settings: Pick<Settings, 'sslCert' | 'sslKey'>;
  readonly setTls: (tls: TlsOptions) => void;
  readonly stateDir: string;
  /** Distinguishes the signing requests of services that share a folder. */
  readonly serviceUuid: string;
  readonly now: () => Date;
  readonly log: Log;
}

/**
 * Opens the certificate; returns null for plain HTTP.
 * @throws {StateFileError} if the keys of signing requests are unreadable.
 */
export function openTlsCertificate(options: TlsCertificateOptions): ServerCertificate | null {
  const { tls, settings, setTls, stateDir, serviceUuid, now, log } = options;
  const first = tlsFilesOf(settings);
  if (tls === undefined || first === undefined) return null;
  for (const leftover of [first.sslCert, first.sslKey].flatMap(removeLeftovers))
    log.warn(`removed ${leftover}, which a killed process left`);
  const state = openStateFile({
    folder: stateDir,
    name: `signing-requests-${serviceUuid}`,
    schema: requestedKeysState,
    initial: noRequestedKeys,
    log,
    broken: 'setAside',
  });
  return openServerCertificate({ tls, files: () => tlsFilesOf(settings) ?? first, setTls, state, log, now });
}
