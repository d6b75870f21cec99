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
 * Reads and tries a certificate and its key. Of several keys in the file it is the one that is the certificate's: while a pair is
 * replaced, which is one file after the other, the key file holds the old key and the new one.
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
  const pair = { ...options, key: ownKey(certificate, options.key, using) };
  attempt(using, 'OpenSSL does not accept the pair', () => createSecureContext(pair));
  return pair;
}

/** The key that is the certificate's. Of several one that can not be read is of no account where another fits. */
function ownKey(certificate: X509Certificate, text: string, using: string): string {
  let fault: unknown = new TlsFilesError(`${using}: it is not the key of the certificate`);
  for (const pem of keysOf(text)) {
    try {
      // Not left to the TLS context: a certificate and a key of different kinds are two halves of two pairs to it.
      if (certificate.checkPrivateKey(parseKey(pem, using))) return pem;
    } catch (error) {
      fault = error;
    }
  }
  throw fault;
}

const KEY = /-----BEGIN ((?:[A-Z]+ )*PRIVATE KEY)-----[\s\S]+?-----END \1-----/g;

/** The keys of a key file, one PEM each; the text as it is where there are not several. */
function keysOf(text: string): readonly string[] {
  const found = text.match(KEY) ?? [];
  return found.length > 1 ? found.map((pem) => `${pem}\n`) : [text];
}

function parseKey(pem: string, using: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
    throw new TlsFilesError(
      `${using}: ${/PASSPHRASE|PASSWORD|INTERRUPTED/.test(code) ? 'it has a passphrase' : 'it is not a PEM key'}`,
      { cause: error },
    );
  }
}

function attempt<T>(doing: string, reason: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw new TlsFilesError(`${doing}: ${reason}`, { cause: error });
  }
}
