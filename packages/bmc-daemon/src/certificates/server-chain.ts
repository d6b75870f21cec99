/** Checks that clients will accept a certificate and its chain. */
import type { KeyObject, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { connect, createSecureContext, TLSSocket, type SecureContext } from 'node:tls';
import { errorCode } from '@rackless/daemon/error-code.js';
import type { CertificateDetails } from './extensions.js';
import { keyUsageAllowsTlsServer, purposesAllowServer, purposesOf } from './key-usage.js';
import { keyPem, pemOf } from './pem.js';

/**
 * The clocks of the CA and of this host may differ. So a certificate that becomes valid within this time is
 * accepted.
 */
const CLOCK_SKEW_MS = 5 * 60_000;
/**
 * Minimum length of an RSA key. Today's clients require it (OpenSSL's security level 2, browsers).
 */
const MIN_RSA_BITS = 2048;
/** Curves for certificates in TLS 1.3 (RFC 8446 §4.2.3), with OpenSSL's names. */
const tlsCurves = ['prime256v1', 'secp384r1', 'secp521r1'];

/**
 * Returns why a server cannot use the certificates, or undefined. The server's certificate comes
 * first, and each certificate after it is the issuer of the previous certificate.
 * @param extensions the extensions of each certificate.
 */
export function chainFault(
  certificates: readonly X509Certificate[],
  extensions: readonly CertificateDetails[],
  now: Date,
): string | undefined {
  const [leaf] = certificates;
  if (leaf === undefined) return 'the text contains no certificate';
  for (const [index, certificate] of certificates.entries()) {
    const what = index === 0 ? 'the certificate' : `certificate ${index + 1} of the chain`;
    if (Date.parse(certificate.validTo) <= now.getTime()) return `${what} has expired, on ${certificate.validTo}`;
    if (Date.parse(certificate.validFrom) > now.getTime() + CLOCK_SKEW_MS)
      return `${what} is not valid before ${certificate.validFrom}`;
    const [unknown] = extensions[index]?.unknownCritical ?? [];
    if (unknown !== undefined)
      return `${what} has the critical extension ${unknown}, so clients that do not know this extension reject it`;
    const issuer = certificates[index + 1];
    if (issuer !== undefined && !isIssuer(issuer, certificate))
      return `the chain is out of order: certificate ${index + 2} has not issued certificate ${index + 1}`;
    if (issuer !== undefined && !isCa(issuer)) return `certificate ${index + 2} of the chain is not a CA certificate`;
  }
  if (!purposesAllowServer(purposesOf(leaf)))
    return 'the certificate is not for servers, according to its extended key usage';
  if (!keyUsageAllowsTlsServer(extensions[0]?.keyUsage ?? []))
    return 'the certificate is not for servers, according to its key usage';
  return keyFault(leaf);
}

function isIssuer(issuer: X509Certificate, certificate: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
  } catch {
    // OpenSSL does not know this kind of signature, so this issuer cannot be checked.
    return false;
  }
}

/**
 * Returns whether a certificate may issue others (RFC 5280 §4.2.1.9). Also accepts every certificate that has issued
 * itself, because old roots have no extensions.
 */
function isCa(certificate: X509Certificate): boolean {
  return certificate.ca || certificate.checkIssued(certificate);
}

function keyFault({ publicKey }: X509Certificate): string | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKey;
  switch (type) {
    case 'rsa':
    case 'rsa-pss': {
      const bits = details?.modulusLength ?? 0;
      return bits < MIN_RSA_BITS ? `the key is too weak: ${bits} bits, the minimum is ${MIN_RSA_BITS}` : undefined;
    }
    case 'ec': {
      const curve = details?.namedCurve ?? 'unnamed';
      return tlsCurves.includes(curve) ? undefined : `the key is on a curve that TLS does not use: ${curve}`;
    }
    case 'ed25519':
    case 'ed448':
      return undefined;
    default:
      return `the key is of a kind that TLS does not use: ${type ?? 'unknown'}`;
  }
}

/**
 * Returns why the server cannot use a certificate with its key, or undefined. Tries a TLS handshake
 * in memory, because OpenSSL accepts some pairs (such as an RSA-PSS key for SHA-1) that fail in
 * every handshake.
 */
export async function pairFault(certificates: readonly X509Certificate[], key: KeyObject): Promise<string | undefined> {
  try {
    const secureContext = createSecureContext({ cert: pemOf(certificates), key: keyPem(key), minVersion: 'TLSv1.2' });
    await tryHandshake(secureContext);
    return undefined;
  } catch (error) {
    if (errorCode(error) === 'ABORT_ERR') return `a test handshake did not end within ${HANDSHAKE_MS / 1000} s`;
    const { reason } = error as { readonly reason?: unknown }; // Node adds this property to errors of OpenSSL.
    return `OpenSSL rejects the certificate with this key${typeof reason === 'string' ? `: ${reason}` : ''}`;
  }
}

/**
 * Timeout, longer than any handshake in memory. Without a timeout, a client side that ends silently
 * would block the request forever.
 */
const HANDSHAKE_MS = 10_000;

/** Runs a TLS handshake in memory. @throws the error of the server's side; an AbortError after the timeout. */
async function tryHandshake(secureContext: SecureContext): Promise<void> {
  const [near, far] = duplexPair();
  const server = new TLSSocket(near, { isServer: true, secureContext });
  // The client does not verify the certificate: each real client has its own list of trusted CAs.
  const client = connect({ socket: far, rejectUnauthorized: false });
  client.on('error', () => undefined);
  try {
    await once(server, 'secure', { signal: AbortSignal.timeout(HANDSHAKE_MS) });
  } finally {
    client.destroy();
    server.destroy();
  }
}
