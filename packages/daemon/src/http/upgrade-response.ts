/** Answers requests for another protocol, whose socket Node's HTTP server has released. */
import { ServerResponse, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Returns a response for a request of Node's `upgrade` event. The socket closes after the response.
 * To keep the socket, call `response.detachSocket()` before the response has begun.
 * @returns undefined if an earlier request of the connection has no answer yet. The function then
 *   closes the connection. Browsers and SDKs never send a handshake before that answer.
 */
export function upgradeResponse(request: IncomingMessage, socket: Duplex): ServerResponse | undefined {
  // Node declares a Duplex, but its http and https servers always pass a Socket.
  if (!(socket instanceof Socket)) {
    socket.destroy();
    return undefined;
  }
  socket.on('error', () => socket.destroy());
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  try {
    response.assignSocket(socket);
  } catch {
    socket.destroy();
    return undefined;
  }
  response.on('finish', () => socket.destroySoon());
  // Node's server emits this event for its own responses. Without the event, an answer above 64 KB
  // would wait forever.
  socket.on('drain', () => response.emit('drain'));
  return response;
}

/**
 * Returns whether a request is for a WebSocket. Checks only the header `Upgrade`, not the other
 * requirements of RFC 6455 §4.2.1.
 */
export function isWebSocketRequest({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}
