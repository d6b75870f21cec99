/** The upstream of a request, and the codes of its connection's errors. */
import { errorCode } from '@rackless/daemon/error-code.js';
import type { Deployment } from '../providers/deployment.js';
import type { ForwardProxy } from './environment-proxy.js';
import type { TlsIdentity } from './tls-identity.js';

/** The upstream of a request. */
export interface Peer {
  readonly deployment: Deployment;
  readonly hostname: string;
  readonly port: number;
  readonly tls: TlsIdentity | null;
  readonly proxy: ForwardProxy | null;
}

/** Returns `host:port`, with an IPv6 address in brackets. */
export function authorityOf({ hostname, port }: Pick<Peer, 'hostname' | 'port'>): string {
  return hostname.includes(':') ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}

/**
 * Returns the error code of Node or OpenSSL, such as `ECONNREFUSED`. If attempts at several addresses
 * failed: the code of the first one. Empty: the error has no code.
 */
export function codeOf(error: Error): string {
  const code = errorCode(error);
  if (code !== undefined) return code;
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return codeOf(error.errors[0]);
  return '';
}
