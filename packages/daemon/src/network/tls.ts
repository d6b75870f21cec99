/** Loads the certificate and key for HTTPS. */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { errorCode } from '../error-code.js';
import { fileReason, readTextFile } from '../files/text-file.js';

/** Options for `https.createServer` and `setSecureContext`. */
export interface TlsOptions {
  readonly cert: string;
  readonly key: string;
  readonly minVersion: 'TLSv1.2';
}

/** Paths of the PEM files. */
export interface TlsFiles {
  readonly sslCert: string;
  readonly sslKey: string;
}

/**
 * The certificate or the key is unusable. The message names the file and the reason, never the key
 * itself.
 */
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
 * Reads and checks a certificate and its key. If the key file contains several keys, the function
 * selects the key of the certificate. This allows replacing the two files one after the other:
 * meanwhile the key file contains the old key and the new key.
 * @throws {TlsFilesError} if a file cannot be read, is not PEM, or has a passphrase. Also if the key does not match,
 *   or if OpenSSL does not accept the pair.
 */
export function loadTls({ sslCert, sslKey }: TlsFiles): TlsOptions {
  const options: TlsOptions = { cert: read('certificate', sslCert), key: read('key', sslKey), minVersion: 'TLSv1.2' };
  const certificate = attempt(
    `reading the certificate ${sslCert}`,
    'it is not a PEM certificate',
    () => new X509Certificate(options.cert),
  );
  const using = `using the key ${sslKey}`;
  const pair = { ...options, key: matchingKey(certificate, options.key, using) };
  attempt(using, 'OpenSSL does not accept the pair', () => createSecureContext(pair));
  return pair;
}

/**
 * Returns the key that matches the certificate. Ignores unreadable keys if another key matches.
 * @throws {TlsFilesError} if no key matches: the fault of the last unreadable key, if there is one.
 */
function matchingKey(certificate: X509Certificate, text: string, using: string): string {
  let fault: unknown = new TlsFilesError(`${using}: it is not the key of the certificate`);
  for (const pem of splitKeys(text)) {
    try {
      // createSecureContext does not detect a mismatch if the certificate and the key have
      // different types.
      if (certificate.checkPrivateKey(parseKey(pem, using))) return pem;
    } catch (error) {
      fault = error;
    }
  }
  throw fault;
}

const KEY = /-----BEGIN ((?:[A-Z]+ )*PRIVATE KEY)-----[\s\S]+?-----END \1-----/g;

/**
 * Splits a key file into one PEM text per key. Returns the whole text if it has fewer than two
 * keys.
 */
function splitKeys(text: string): readonly string[] {
  const keys = text.match(KEY) ?? [];
  return keys.length > 1 ? keys.map((pem) => `${pem}\n`) : [text];
}

function parseKey(pem: string, using: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    const code = errorCode(error) ?? '';
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
