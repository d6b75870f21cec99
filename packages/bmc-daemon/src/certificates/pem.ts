/** Reads and writes certificates and private keys as PEM (RFC 7468). */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { decryptsQuickly } from './encrypted-key.js';

interface PemContents {
  /** In the order of the text. */
  readonly certificates: readonly X509Certificate[];
  /** Private keys, which no log and no answer may contain. */
  readonly keys: readonly KeyObject[];
}

/** An invalid PEM text. The message gives the reason, and quotes nothing except the label of an unexpected block. */
export class PemError extends Error {
  override readonly name = 'PemError';
}

// Linear time for any input: a block extends to the next line of dashes at most.
const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,64})-----[^-]*(?:-(?!----)[^-]*)*-----END \1-----/g;
/** The labels of certificates that OpenSSL reads. */
const CERTIFICATES = ['CERTIFICATE', 'X509 CERTIFICATE', 'TRUSTED CERTIFICATE'];
/** `openssl ecparam -genkey` writes this block before a key with the same parameters, so `readPem` ignores it. */
const PARAMETERS = 'EC PARAMETERS';

/**
 * Reads all blocks and ignores text between them (RFC 7468 §2).
 * @param passphrase the passphrase of encrypted keys.
 * @throws {PemError} for an unreadable certificate or key, for any other kind of block except
 *   `EC PARAMETERS`, and for a truncated text.
 */
export function readPem(text: string, passphrase?: string): PemContents {
  const certificates: X509Certificate[] = [];
  const keys: KeyObject[] = [];
  for (const [pem, label = ''] of text.matchAll(BLOCK)) {
    if (CERTIFICATES.includes(label)) certificates.push(readCertificate(pem));
    else if (/(^| )PRIVATE KEY$/.test(label)) keys.push(readKey(pem, passphrase));
    else if (label !== PARAMETERS) throw new PemError(`the text contains a ${label}`);
  }
  // Reports a truncated block, which the pattern does not match.
  const beginCount = text.match(/-----BEGIN /g)?.length ?? 0;
  if (beginCount > (text.match(BLOCK)?.length ?? 0)) throw new PemError('the text is truncated, or not PEM');
  return { certificates, keys };
}

/**
 * Returns the certificates of a file that OpenSSL accepted. Ignores other blocks (a key, DH parameters), as
 * OpenSSL does.
 * @throws {PemError} for an unreadable certificate.
 */
export function readCertificates(text: string): readonly X509Certificate[] {
  return [...text.matchAll(BLOCK)].flatMap(([pem, label = '']) =>
    CERTIFICATES.includes(label) ? [readCertificate(pem)] : [],
  );
}

/** Formats certificates as PEM. */
export function pemOf(certificates: readonly X509Certificate[]): string {
  return certificates.map((certificate) => certificate.toString()).join('');
}

/** Formats a key as PEM (PKCS #8), without a passphrase. */
export function keyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function readCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new PemError('the text contains an unreadable certificate', { cause: error });
  }
}

function readKey(pem: string, passphrase: string | undefined): KeyObject {
  const isEncrypted = pem.includes('ENCRYPTED');
  if (isEncrypted && passphrase === undefined) throw new PemError('the private key has a passphrase');
  if (pem.includes('BEGIN ENCRYPTED') && !decryptsQuickly(pem))
    throw new PemError('the private key takes too long to decrypt: it has too many iterations');
  try {
    return createPrivateKey(passphrase === undefined ? pem : { key: pem, passphrase });
  } catch (error) {
    const why = isEncrypted
      ? 'the private key cannot be decrypted with this passphrase'
      : 'the private key cannot be read';
    throw new PemError(why, { cause: error });
  }
}
