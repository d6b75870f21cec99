/** Who is asking. Keys of many users and their limits come with the next issue: this is their seam. */
import type { IncomingMessage } from 'node:http';
import type { ProxyError } from '../errors.js';

/** A client that may ask. */
export interface Client {
  /** For logs and metrics, never the key itself; null: nobody had to say who they are. */
  readonly alias: string | null;
}

/**
 * Decides by the head of a request alone, before its body is read; synchronous, as it stands on the hot path.
 * @param offered subprotocols of a WebSocket handshake: browsers can put the key nowhere else. Absent for other requests.
 */
export type Authenticate = (
  request: Pick<IncomingMessage, 'headers'>,
  offered?: readonly string[],
) => Client | ProxyError;

const anybody: Client = { alias: null };

/** No key is configured: whatever Authorization a client sends is accepted, and none is needed. It never goes upstream. */
export const openToAll: Authenticate = () => anybody;
