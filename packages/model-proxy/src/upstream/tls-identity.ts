/** What a deployment's TLS settings come to: a context to connect with, and a digest by which connections are shared. */
import { createHash } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { readTextFile } from '@rackless/daemon/text-file.js';
import { loadTls } from '@rackless/daemon/tls.js';
import type { UpstreamTls } from '../providers/deployment.js';
import type { Environment } from '../settings.js';

/** Read once; files that change later do not change it. */
export interface TlsIdentity {
  /** Equal where the settings and the contents of all files are equal. */
  readonly digest: string;
  readonly secureContext: SecureContext;
  readonly verify: boolean;
  readonly hasClientCertificate: boolean;
  /** The bundle that certificates are checked against; null: Node's own roots, or no check. */
  readonly caFile: string | null;
  /** What names {@link caFile}: `ssl_verify` or `SSL_CERT_FILE`. */
  readonly caSetting: 'ssl_verify' | 'SSL_CERT_FILE';
}

/**
 * Reads the files of TLS settings and builds the context; takes a few milliseconds for a large bundle.
 * `ssl_verify: true` with SSL_CERT_FILE set means that file, as in OpenSSL and LiteLLM: it takes the place of the built-in roots.
 * @throws {Error} naming the file when one cannot be read or holds no PEM.
 */
export function readTlsIdentity(tls: UpstreamTls, environment: Environment): TlsIdentity {
  const fromEnvironment = tls.verify === true ? (environment['SSL_CERT_FILE'] ?? '') : '';
  const caFile = typeof tls.verify === 'string' ? tls.verify : fromEnvironment === '' ? null : fromEnvironment;
  const options: SecureContextOptions = {};
  if (caFile !== null) options.ca = readPem(caFile, 'CERTIFICATE');
  if (tls.clientCertificate !== null) {
    const { certFile, keyFile } = tls.clientCertificate;
    readPem(certFile, 'CERTIFICATE');
    readPem(keyFile, 'PRIVATE KEY');
    // Of several keys in the file OpenSSL would take the first one, whosever it is.
    const { cert, key } = loadTls({ sslCert: certFile, sslKey: keyFile });
    options.cert = cert;
    options.key = key;
  }
  const material = JSON.stringify([tls.verify !== false, caFile, options.ca, options.cert, options.key]);
  return {
    digest: createHash('sha256').update(material).digest('base64'),
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

/** OpenSSL reads a file without certificates as no authority at all: every connection would fail, and nobody would know why. */
function readPem(file: string, label: string): string {
  let text: string;
  try {
    text = readTextFile(file);
  } catch (cause) {
    throw new Error(`reading ${file}: ${reason(cause)}`, { cause });
  }
  if (!new RegExp(`-----BEGIN [A-Z0-9 ]*${label}-----`).test(text)) {
    throw new Error(`reading ${file}: there is no PEM block of a ${label.toLowerCase()} in it`);
  }
  return text;
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
