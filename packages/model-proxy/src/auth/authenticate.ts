/** The interface of authentication. Keys per user, with limits, will be added here. */
import type { IncomingMessage } from 'node:http';
import type { ProxyError } from '../errors/proxy-error.js';

/** An authenticated client. */
export interface Client {
  /** Name for logs and metrics, never the key; null if the client has no name. */
  readonly alias: string | null;
}

/**
 * Authenticates a request by its head, before the body is read. Synchronous, because every request
 * calls it.
 * @param offered subprotocols of a WebSocket handshake, the only place where a browser can put the
 * key. Absent for other requests.
 * @returns the client, or the error to answer with.
 */
export type Authenticate = (
  request: Pick<IncomingMessage, 'headers'>,
  offered?: readonly string[],
) => Client | ProxyError;

const anonymous: Client = { alias: null };

/**
 * Accepts every client, for a configuration without keys. The client's Authorization header is
 * never sent upstream.
 */
export const openToAll: Authenticate = () => anonymous;
