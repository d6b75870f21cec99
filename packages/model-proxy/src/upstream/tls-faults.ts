/** Explains TLS faults and names the setting to check, because OpenSSL's messages do not. */
import { authorityOf, codeOf, type Peer } from './peer.js';

/** Question for errors in which the upstream rejects the handshake. */
export const CERTIFICATE_QUESTION = 'does it require a client certificate (ssl_certificate, ssl_certificate_key)?';

/**
 * Returns OpenSSL's reason for an alert of the peer: 1000 plus the alert's number (RFC 8446 §6).
 */
const alert = (number: number): number => 1000 + number;

/** handshake_failure, bad_certificate, certificate_unknown, unknown_ca, certificate_required. */
const wantsCertificate: ReadonlySet<number> = new Set([40, 42, 46, 48, 116].map(alert));
/** SSL_R_HTTP_REQUEST, SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_WRONG_VERSION_NUMBER. */
const speaksNoTls: ReadonlySet<number> = new Set([156, 198, 267]);
/** protocol_version, SSL_R_UNSUPPORTED_PROTOCOL. */
const speaksOldTls: ReadonlySet<number> = new Set([alert(70), 258]);

/**
 * Reads OpenSSL's reason number from `error:0A000410:…`; undefined for other messages. The names of reasons, which
 * are Node's `code`, change between versions of OpenSSL. The numbers do not (openssl/sslerr.h).
 */
function opensslReason({ message }: Error): number | undefined {
  const packed = /\berror:([0-9A-F]{8}):/i.exec(message)?.[1];
  return packed === undefined ? undefined : Number.parseInt(packed, 16) & 0x7f_ffff;
}

/**
 * Explains a TLS fault.
 * @returns a sentence without its period, with the CA file, never with a key.
 */
export function tlsFault(error: Error, peer: Peer): string {
  const name = authorityOf(peer);
  const { caFile, caSetting } = peer.tls ?? { caFile: null, caSetting: 'ssl_verify' };
  const authorities = caFile === null ? 'the built-in authorities' : `the authorities of ${caFile} (${caSetting})`;
  const advice =
    caFile === null
      ? 'set ssl_verify to the path of a CA bundle that contains its authority'
      : `add its authority to ${caFile}, or set ssl_verify to another bundle`;
  const code = codeOf(error);
  const reason = opensslReason(error);
  if (reason !== undefined && wantsCertificate.has(reason))
    return `${name} refused the TLS handshake (${code}): ${CERTIFICATE_QUESTION}`;
  if (reason !== undefined && speaksNoTls.has(reason))
    return `${name} does not speak TLS (${code}): is api_base http:// instead of https://?`;
  if (reason !== undefined && speaksOldTls.has(reason)) return `${name} does not speak TLS 1.2 or later (${code})`;
  switch (code) {
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return `The certificate of ${name} is self-signed and not among ${authorities} (${code}): ${advice}`;
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'CERT_UNTRUSTED':
    case 'CERT_SIGNATURE_FAILURE':
      return `The certificate of ${name} was not issued by any of ${authorities} (${code}): ${advice}`;
    case 'CERT_HAS_EXPIRED':
      return `The certificate of ${name}, or of its authority, has expired (${code}; checked against ${authorities})`;
    case 'CERT_NOT_YET_VALID':
      return `The certificate of ${name}, or of its authority, is not valid yet (${code}; checked against ${authorities})`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `The certificate of ${name} is for another host (${certificateNames(error)}): use a name of the certificate in api_base`;
    case 'ECONNRESET':
    case 'EPIPE':
      return `${name} closed the connection during the TLS handshake (${code})`;
    default:
      return `TLS with ${name} failed: ${reasonText(error)} (${code === '' ? error.name : code}; checked against ${authorities})`;
  }
}

/**
 * Returns OpenSSL's reason. Node's message is longer, and begins with a memory address of this
 * process.
 */
function reasonText(error: Error): string {
  return 'reason' in error && typeof error.reason === 'string' ? error.reason : error.message;
}

/** Returns Node's `reason`, which has the expected name and the names of the certificate. */
function certificateNames(error: Error): string {
  return 'reason' in error && typeof error.reason === 'string' ? error.reason.replace(/\.$/, '') : error.message;
}
