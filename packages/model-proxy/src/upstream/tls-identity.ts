/**
 * Reads the TLS files of a deployment, and makes a secure context and a digest for sharing
 * connections.
 */
import { createHash } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { readTextFile } from '@rackless/daemon/files/text-file.js';
import { loadTls } from '@rackless/daemon/network/tls.js';
import type { UpstreamTls } from '../providers/deployment.js';
import type { Environment } from '../settings.js';

/** The contents of TLS files at the time of reading. */
export interface TlsIdentity {
  /** Equal for equal settings and equal contents of all files. */
  readonly digest: string;
  readonly secureContext: SecureContext;
  readonly verify: boolean;
  readonly hasClientCertificate: boolean;
  /** The CA bundle; null: Node's built-in roots, or no verification. */
  readonly caFile: string | null;
  /** The setting that names {@link caFile}. It has no meaning if `caFile` is null. */
  readonly caSetting: 'ssl_verify' | 'SSL_CERT_FILE';
}

/**
 * Reads the files of TLS settings and makes the context. For a large bundle, the context needs many
 * milliseconds of CPU time. With `ssl_verify: true`, the file of SSL_CERT_FILE replaces the built-in roots, as in
 * OpenSSL and LiteLLM.
 * @param former an identity of the same settings, which is used again if the contents are the same.
 * @throws {Error} if a file cannot be read, or contains no PEM. Also if the key does not belong to the certificate, or
 *   OpenSSL rejects the contents. The message names the file.
 */
export function readTlsIdentity(
  tls: UpstreamTls,
  environment: Environment,
  former: TlsIdentity | null = null,
): TlsIdentity {
  const fromEnvironment = tls.verify === true ? (environment['SSL_CERT_FILE'] ?? '') : '';
  const caFile = typeof tls.verify === 'string' ? tls.verify : fromEnvironment === '' ? null : fromEnvironment;
  const options: SecureContextOptions = {};
  if (caFile !== null) options.ca = readPem(caFile, 'CERTIFICATE');
  if (tls.clientCertificate !== null) {
    const { certFile, keyFile } = tls.clientCertificate;
    readPem(certFile, 'CERTIFICATE');
    readPem(keyFile, 'PRIVATE KEY');
    // loadTls selects the key of the certificate. OpenSSL would use the first key of the key file, even
    // if this key belongs to another certificate.
    const { cert, key } = loadTls({ sslCert: certFile, sslKey: keyFile });
    options.cert = cert;
    options.key = key;
  }
  const material = JSON.stringify([tls.verify !== false, caFile, options.ca, options.cert, options.key]);
  const digest = createHash('sha256').update(material).digest('base64');
  if (former?.digest === digest) return former;
  return {
    digest,
    secureContext: contextOf(options, tls, caFile),
    verify: tls.verify !== false,
    hasClientCertificate: tls.clientCertificate !== null,
    caFile,
    caSetting: typeof tls.verify === 'string' ? 'ssl_verify' : 'SSL_CERT_FILE',
  };
}

function contextOf(options: SecureContextOptions, tls: UpstreamTls, caFile: string | null): SecureContext {
  try {
    return createSecureContext(options);
  } catch (cause) {
    const files = [caFile, tls.clientCertificate?.certFile, tls.clientCertificate?.keyFile].filter(Boolean).join(', ');
    throw new Error(`reading certificates from ${files}: ${reason(cause)}`, { cause });
  }
}

/**
 * Reads a PEM file. OpenSSL accepts a file without certificates as an empty list of authorities;
 * every connection would then fail without a clear reason.
 * @throws {Error} if the file cannot be read, or has no PEM block with the label.
 */
function readPem(file: string, label: string): string {
  let text: string;
  try {
    text = readTextFile(file);
  } catch (cause) {
    throw new Error(`reading ${file}: ${reason(cause)}`, { cause });
  }
  if (!new RegExp(`-----BEGIN [A-Z0-9 ]*${label}-----`).test(text)) {
    throw new Error(`reading ${file}: the file has no PEM block of a ${label.toLowerCase()}`);
  }
  return text;
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
