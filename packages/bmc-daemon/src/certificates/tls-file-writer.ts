/** Writes a new certificate and key to the files of EMULATOR_SSL_CERT and EMULATOR_SSL_KEY. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { replaceFile } from '@rackless/daemon/files/replace-file.js';
import { fileReason, readTextFile } from '@rackless/daemon/files/text-file.js';
import type { TlsFiles } from '@rackless/daemon/network/tls.js';
import { StorageError } from '../storage-error.js';

/** A failed read or write; the message names the file. The old certificate and its key stay in use. */
class TlsFileWriteError extends StorageError {
  override readonly name = 'TlsFileWriteError';
}

/** The new contents of the files, as PEM. */
interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/**
 * Replaces the pair. Each file is replaced as a whole and keeps its mode and owner; an unchanged
 * key is not written. The files match after a crash or a full disk at any step: the key file has
 * both keys while the certificate changes, and `loadTls` uses the matching one.
 * @throws {TlsFileWriteError}
 */
export function writeTlsFiles({ sslCert, sslKey }: TlsFiles, { cert, key }: TlsPair): void {
  if (isOneFile(sslCert, sslKey)) {
    write(sslCert, `${cert}${key}`);
    return;
  }
  const oldKeys = readKeyFile(sslKey);
  if (hasKeyOf(oldKeys, cert)) {
    write(sslCert, cert);
    return;
  }
  // The old key comes first, because other programs read the first key.
  write(sslKey, `${oldKeys.trimEnd()}\n${key}`);
  try {
    write(sslCert, cert);
  } catch (error) {
    try {
      write(sslKey, oldKeys);
    } catch {
      // The new key stays in the file, which is harmless. The thrown error names the certificate's file.
    }
    throw error;
  }
  try {
    write(sslKey, key);
  } catch {
    // The pair is complete. The next replacement removes the old key.
  }
}

function write(file: string, text: string): void {
  try {
    replaceFile(file, text);
  } catch (error) {
    throw new TlsFileWriteError(`writing ${file}: ${fileReason(error)}`, { cause: error });
  }
}

function readKeyFile(file: string): string {
  try {
    return readTextFile(file);
  } catch (error) {
    throw new TlsFileWriteError(`reading ${file}: ${fileReason(error)}`, { cause: error });
  }
}

function isOneFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    // A path cannot be resolved, for example because the file is missing. The caller then handles two
    // files: `replaceFile` creates a missing certificate file, and `readKeyFile` reports a missing key file.
    return false;
  }
}

/** Returns whether the text contains exactly one private key, and whether this key matches the certificate. */
function hasKeyOf(text: string, cert: string): boolean {
  if ((text.match(/-----BEGIN [A-Z ]*PRIVATE KEY-----/g)?.length ?? 0) !== 1) return false;
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(text));
  } catch {
    // The text contains no readable key, so the caller replaces it.
    return false;
  }
}
