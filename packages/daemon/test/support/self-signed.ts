/** Makes certificates for tests of TLS. */
import { execFileSync } from 'node:child_process';
import type { TlsOptions } from '../../src/network/tls.js';

/** Returns TLS options with a new self-signed certificate and its key. */
export function selfSigned(): TlsOptions {
  const pem = execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=localhost', '-keyout', '-', '-out', '-'],
    ],
    { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' },
  );
  // The text contains the certificate and the key. Each parser finds its part.
  return { cert: pem, key: pem, minVersion: 'TLSv1.2' };
}
