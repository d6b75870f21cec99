/** Certificate and key of the daemon's own HTTPS. */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { fileReason, readTextFile } from './text-file.js';

/** What `https.createServer` and `setSecureContext` take. */
export interface TlsOptions {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: 'TLSv1.2';
}

export interface TlsFiles {
  readonly sslCert: string;
  readonly sslKey: string;
}

/** The pair can not be used. The message names the file and the reason, never a key. */
export class TlsFilesError extends Error {
  override readonly name = 'TlsFilesError';
}

function read(what: string, file: string): string {
  try {
    return readTextFile(file);
  } catch (error) {
    throw new TlsFilesError(`reading the ${what} ${file}: ${fileReason(error)}`, { cause: error });
  }
}

/**
 * Reads and tries a certificate and its key.
 * @throws {TlsFilesError} where a file can not be read, is no PEM, has a passphrase, or the two do not belong together.
 */
export function loadTls({ sslCert, sslKey }: TlsFiles): TlsOptions {
  const options: TlsOptions = { cert: read('certificate', sslCert), key: read('key', sslKey), minVersion: 'TLSv1.2' };
  const certificate = attempt(
    `reading the certificate ${sslCert}`,
    'it is not a PEM certificate',
    () => new X509Certificate(options.cert),
  );
  const using = `using the key ${sslKey}`;
  let key: KeyObject;
  try {
    key = createPrivateKey(options.key);
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
    throw new TlsFilesError(
      `${using}: ${/PASSPHRASE|PASSWORD|INTERRUPTED/.test(code) ? 'it has a passphrase' : 'it is not a PEM key'}`,
      { cause: error },
    );
  }
  // Not left to the TLS context: a certificate and a key of different kinds are two halves of two pairs to it.
  if (!certificate.checkPrivateKey(key)) throw new TlsFilesError(`${using}: it is not the key of the certificate`);
  attempt(using, 'OpenSSL does not accept the pair', () => createSecureContext(options));
  return options;
}

function attempt<T>(doing: string, reason: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw new TlsFilesError(`${doing}: ${reason}`, { cause: error });
  }
}
