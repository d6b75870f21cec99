/** Distinguishes plain HTTP from TLS on a TLS port. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';

/** Deadline for the first byte of a connection on a TLS port. */
const FIRST_BYTE_MS = 60_000;
/** Deadline for a whole plain HTTP request on a TLS port. */
const PLAIN_REQUEST_MS = 10_000;
/** First byte of a TLS handshake record (RFC 8446 §5.1). No HTTP method begins with it. */
const TLS_HANDSHAKE = 0x16;

/**
 * Reads the first byte of each connection to distinguish plain HTTP from TLS. It puts the byte back
 * before the TLS server gets the socket, so requests run at full speed.
 * @param onPlainHttp answers requests in plain HTTP. The connection closes after the answer.
 */
export function detectPlainHttp(secure: Server, onPlainHttp: RequestListener): void {
  const tlsHandlers = secure.listeners('connection');
  const answer: RequestListener = (request, response) => {
    response.shouldKeepAlive = false;
    onPlainHttp(request, response);
  };
  // Does not listen. It receives its sockets below.
  const plain = createServer({ requireHostHeader: false }, answer);
  // Answers `Expect: 100-continue` without 100 Continue, so that the client does not send its body,
  // perhaps a password, unencrypted.
  plain.on('checkContinue', answer);
  plain.on('clientError', (_error, socket) => socket.destroy());
  secure.removeAllListeners('connection');
  secure.on('connection', (socket: Socket) => {
    const firstByteTimer = setTimeout(() => socket.destroy(), FIRST_BYTE_MS);
    const fail = (): void => void socket.destroy();
    socket.once('error', fail);
    socket.once('close', () => clearTimeout(firstByteTimer));
    socket.once('readable', () => {
      clearTimeout(firstByteTimer);
      // The event 'readable' also follows an end or an error; then there is no data.
      const first = socket.read(1) as Buffer | null;
      if (first === null) {
        socket.destroy();
        return;
      }
      socket.unshift(first);
      socket.removeListener('error', fail);
      if (first[0] === TLS_HANDSHAKE) {
        for (const listener of tlsHandlers) listener.call(secure, socket);
        return;
      }
      // Node applies its own timeouts only to servers that listen.
      const requestTimer = setTimeout(() => socket.destroy(), PLAIN_REQUEST_MS);
      socket.once('close', () => clearTimeout(requestTimer));
      plain.emit('connection', socket);
    });
  });
}
