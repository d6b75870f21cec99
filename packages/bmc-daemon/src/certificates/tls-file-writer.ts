/** Puts a new certificate, and its key, into the files of EMULATOR_SSL_CERT and EMULATOR_SSL_KEY. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { replaceFile } from '@rackless/daemon/replace-file.js';
import { fileReason, readTextFile } from '@rackless/daemon/text-file.js';
import type { TlsFiles } from '@rackless/daemon/tls.js';
import { StorageError } from '../storage-error.js';

/** A file cannot be written; the message names it. Certificate and key are as before. */
export class TlsFileWriteError extends StorageError {
  override readonly name = 'TlsFileWriteError';
}

/** What is to stand in the files, as PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/**
 * Replaces the pair. Each file is replaced as a whole and keeps its mode and owner; a key that stays is not written. Wherever this
 * ends, by a crash or a full disk, the files are a pair: the key file has both keys while the certificate changes, and whoever reads
 * them takes the one that fits (`loadTls`).
 * @throws {TlsFileWriteError}
 */
export function writeTlsFiles({ sslCert, sslKey }: TlsFiles, { cert, key }: TlsPair): void {
  if (isOneFile(sslCert, sslKey)) {
    write(sslCert, `${cert}${key}`);
    return;
  }
  const before = readKeyFile(sslKey);
  if (hasKeyOf(before, cert)) {
    write(sslCert, cert);
    return;
  }
  // The old one first: that is what other programs take.
  write(sslKey, `${before.trimEnd()}\n${key}`);
  try {
    write(sslCert, cert);
  } catch (error) {
    try {
      write(sslKey, before);
    } catch {
      // The new key stays beside the old one, which is harmless; that the certificate was not written is what is to be told.
    }
    throw error;
  }
  try {
    write(sslKey, key);
  } catch {
    // The pair is complete as it is; the old key goes with the next replacement.
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
    // One of them is missing; writing it says so.
    return false;
  }
}

/** Whether the only key of a key file's text is the certificate's. */
function hasKeyOf(text: string, cert: string): boolean {
  if ((text.match(/-----BEGIN [A-Z ]*PRIVATE KEY-----/g)?.length ?? 0) !== 1) return false;
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(text));
  } catch {
    // Whatever it is, it is replaced.
    return false;
  }
}
