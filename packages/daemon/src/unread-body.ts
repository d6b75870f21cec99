/**
 * Limits request bodies that a server discards. After a response, Node reads the rest of the
 * request body. Each chunk costs a call, even if it is one byte: 1 MiB of chunks of one byte blocks
 * the event loop for half a second. No credentials are necessary for that.
 */
import type { IncomingMessage, RequestListener } from 'node:http';

/** Chunks that any body may have. */
const FREE_CHUNKS = 4096;
/** Average bytes of a chunk beyond that. Slow networks deliver segments of 536 bytes. */
const MIN_AVERAGE_BYTES = 256;

/** Wraps a request listener: see {@link limitChunks}. The limit applies once the response ended. */
export function limitUnreadBodies(handle: RequestListener): RequestListener {
  return (request, response) => {
    // Other bodies arrive in the pieces that the kernel reads.
    if (request.headers['transfer-encoding'] !== undefined) {
      response.once('prefinish', () => {
        // Otherwise Node closes the connection itself.
        if (!request.complete && response.shouldKeepAlive) limitChunks(request);
      });
    }
    handle(request, response);
  };
}

/** Reads and discards a body. Closes the connection if the body arrives in too many small chunks. */
export function limitChunks(request: IncomingMessage): void {
  let chunks = 0;
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    chunks += 1;
    bytes += chunk.length;
    if (chunks <= FREE_CHUNKS + bytes / MIN_AVERAGE_BYTES) return;
    request.off('data', count);
    request.socket.pause();
    // Sends what is left of the response first.
    request.socket.destroySoon();
  };
  request.on('data', count);
  // A handler may have paused the request. The connection would then stay open for ever.
  request.resume();
  // Tells Node that the body has a reader; it would discard the chunks uncounted.
  request.read(0);
}
