/**
 * Limits request bodies that a server discards. After a response, Node reads the rest of the
 * request body. Each chunk costs a call, even if it is one byte: 1 MiB of chunks of one byte blocks
 * the event loop for half a second. No credentials are necessary for that.
 */
import type { IncomingMessage, RequestListener } from 'node:http';
import { ChunkAllowance } from './chunk-allowance.js';

/** Slow networks deliver segments of 536 bytes, so an honest average is above half of that. */
const LIMITS = { freeChunks: 4096, minAverageBytes: 256 };

/** Wraps a request listener. After the response, {@link limitChunks} limits the unread body. */
export function limitUnreadBodies(handle: RequestListener): RequestListener {
  return (request, response) => {
    // Without a transfer encoding, a client cannot choose the size of the chunks.
    if (request.headers['transfer-encoding'] !== undefined) {
      response.once('prefinish', () => {
        // A complete request has no more chunks. Without keep-alive, Node closes the connection.
        if (!request.complete && response.shouldKeepAlive) limitChunks(request);
      });
    }
    handle(request, response);
  };
}

/**
 * Reads and discards a body. Closes the connection if the body arrives in too many small chunks.
 */
export function limitChunks(request: IncomingMessage): void {
  const allowance = new ChunkAllowance(LIMITS);
  const count = (chunk: Buffer): void => {
    if (allowance.accept(chunk)) return;
    request.off('data', count);
    request.socket.pause();
    // Sends the rest of the response first.
    request.socket.destroySoon();
  };
  request.on('data', count);
  // A handler may have paused the request. The connection would then stay open without end.
  request.resume();
  // Marks the body as read. Without this call, Node discards the chunks and skips the listener
  // above.
  request.read(0);
}
