/** What stands in a PEM text (RFC 7468): certificates and private keys, and whether anything else does. */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { opensSoon } from './locked-key.js';

export interface PemContents {
  /** In their order. */
  readonly certificates: readonly X509Certificate[];
  /** Not for anybody to see. */
  readonly keys: readonly KeyObject[];
}

/** The text is not what it should be. The message says why, and quotes nothing of it. */
export class PemError extends Error {
  override readonly name = 'PemError';
}

// Up to the next line of dashes and no further: the time is that of the text, whatever stands in it.
const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,64})-----[^-]*(?:-(?!----)[^-]*)*-----END \1-----/g;
/** As OpenSSL reads them. */
const CERTIFICATES = ['CERTIFICATE', 'X509 CERTIFICATE', 'TRUSTED CERTIFICATE'];
/** `openssl ecparam -genkey` writes them before the key, which has them, too. */
const PARAMETERS = 'EC PARAMETERS';

/**
 * Reads all blocks; what stands between them says nothing (RFC 7468 §2).
 * @param passphrase of keys that have one.
 * @throws {PemError}
 */
export function readPem(text: string, passphrase?: string): PemContents {
  const certificates: X509Certificate[] = [];
  const keys: KeyObject[] = [];
  for (const [pem, label = ''] of text.matchAll(BLOCK)) {
    if (CERTIFICATES.includes(label)) certificates.push(readCertificate(pem));
    else if (/(^| )PRIVATE KEY$/.test(label)) keys.push(readKey(pem, passphrase));
    else if (label !== PARAMETERS) throw new PemError(`there is a ${label} in it`);
  }
  // A block that was cut off is no block, and would be overlooked.
  const begun = text.match(/-----BEGIN /g)?.length ?? 0;
  if (begun > (text.match(BLOCK)?.length ?? 0)) throw new PemError('it is cut off, or otherwise no PEM');
  return { certificates, keys };
}

/**
 * The certificates of a file that OpenSSL has taken already; whatever else stands in it (a key, DH parameters) is passed over, as
 * OpenSSL does.
 * @throws {PemError}
 */
export function readCertificates(text: string): readonly X509Certificate[] {
  return [...text.matchAll(BLOCK)].flatMap(([pem, label = '']) =>
    CERTIFICATES.includes(label) ? [readCertificate(pem)] : [],
  );
}

/** Certificates as PEM, one after the other, and nothing else. */
export function pemOf(certificates: readonly X509Certificate[]): string {
  return certificates.map((certificate) => certificate.toString()).join('');
}

/** A key as PEM (PKCS #8), without a passphrase. */
export function keyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function readCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new PemError('there is a certificate in it that can not be read', { cause: error });
  }
}

function readKey(pem: string, passphrase: string | undefined): KeyObject {
  const isLocked = pem.includes('ENCRYPTED');
  if (isLocked && passphrase === undefined) throw new PemError('its private key has a passphrase');
  if (pem.includes('BEGIN ENCRYPTED') && !opensSoon(pem))
    throw new PemError('its private key takes too long to open: it has too many iterations');
  try {
    return createPrivateKey(passphrase === undefined ? pem : { key: pem, passphrase });
  } catch (error) {
    const why = isLocked ? 'its private key does not open with this passphrase' : 'its private key can not be read';
    throw new PemError(why, { cause: error });
  }
}
