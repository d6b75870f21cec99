/**
 * An upstream may answer before it has read a request whole (413, 401) and close the connection with the rest unread, which resets it.
 * Whoever writes on hears of the reset, and the answer is still with the system: Node's sockets are destroyed by a fault of writing and
 * never read it (RFC 9112 §9.5 wants a client to watch for answers while it sends).
 */
import type { Socket } from 'node:net';

/** Lets a socket read what has arrived before it hears that it can not write any more. To be called before anything is written. */
export function readBeforeWriteFaults(socket: Socket): void {
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, done) => write(chunk, encoding, heldBack(done));
  if (writev !== undefined) socket._writev = (chunks, done) => writev(chunks, heldBack(done));
}

type Done = (error?: Error | null) => void;

function heldBack(done: Done): Done {
  return (error) => {
    if (!isClosedByPeer(error)) {
      done(error);
      return;
    }
    // Between two of these the system is asked once for what can be read; before the first it may have been the turn of writes.
    setImmediate(() => setImmediate(() => done(error)));
  };
}

function isClosedByPeer(error: Error | null | undefined): boolean {
  if (error === null || error === undefined) return false;
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
}
