/**
 * Reads early answers of upstreams. An upstream may answer (413, 401) before it has read all of a
 * request, and close the connection with unread bytes, which resets the connection. The next write
 * then fails while the answer is still in the kernel. Node destroys a socket after a failed
 * write without reading it. RFC 9112 §9.5 recommends that clients read answers while they send.
 */
import type { Socket } from 'node:net';
import { errorCode } from '@rackless/daemon/error-code.js';

/**
 * Delays the report of a failed write until the socket has read the bytes that have arrived. Call this before
 * the first write.
 */
export function readAnswerBeforeWriteError(socket: Socket): void {
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, done) => write(chunk, encoding, delayed(done));
  if (writev !== undefined) socket._writev = (chunks, done) => writev(chunks, delayed(done));
}

type Done = (error?: Error | null) => void;

function delayed(done: Done): Done {
  return (error) => {
    if (!isClosedByPeer(error)) {
      done(error);
      return;
    }
    // Between two `setImmediate` callbacks, Node polls the sockets once.
    setImmediate(() => setImmediate(() => done(error)));
  };
}

function isClosedByPeer(error: Error | null | undefined): boolean {
  const code = errorCode(error);
  return code === 'ECONNRESET' || code === 'EPIPE';
}
