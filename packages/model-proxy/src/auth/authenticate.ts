/** The interface of authentication. */
import type { IncomingMessage } from 'node:http';
import type { ProxyError } from '../errors/proxy-error.js';
import type { VirtualKey } from './virtual-key.js';

/** An authenticated client. */
export interface Client {
  /** Name for logs, spans and reports, never the key; null if the client has no name. */
  readonly alias: string | null;
  /** Absent for the master key, and if the configuration has no keys. */
  readonly key?: VirtualKey;
}

/**
 * Authenticates a request by its head, before the body is read. Synchronous, because every request
 * calls it.
 * @param elsewhere a key in another place than the usual headers, such as the query. The headers have priority.
 * @returns the client, or the error to answer with.
 */
export type Authenticate = (request: Pick<IncomingMessage, 'headers'>, elsewhere?: string) => Client | ProxyError;

const anonymous: Client = { alias: null };

/**
 * Accepts every client, for a configuration without keys. The client's Authorization header is
 * never sent upstream.
 */
export const openToAll: Authenticate = () => anonymous;
