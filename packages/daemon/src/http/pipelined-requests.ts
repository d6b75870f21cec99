/**
 * Limits pipelined requests (RFC 9112 §9.3.2). A client may send many requests on a connection
 * before it reads the first response, and the responses go out in order. Without a limit all the
 * requests run at the same time.
 */
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/** Maximum number of waiting requests per connection. A single read of 64 KB can contain 3,600 requests. */
const MAX_WAITING = 100;

/**
 * Runs the requests of each connection one at a time. When more than {@link MAX_WAITING} requests
 * wait, it closes the connection, which also ends the running request. Pausing the socket instead
 * does not help: a server that does not read does not notice that the client has disconnected.
 * @returns a function that wraps the listeners for `request`, `checkContinue` and
 *   `checkExpectation`. All of them share the limit.
 */
export function serializeRequests(): (handle: RequestListener) => RequestListener {
  const waiting = new WeakMap<Socket, number>();
  return (handle) => (request, response) => {
    // Node assigns the socket to a response when the previous response is complete. So no earlier request is running.
    if (response.socket !== null) {
      handle(request, response);
      return;
    }
    const { socket } = request;
    const count = (waiting.get(socket) ?? 0) + 1;
    waiting.set(socket, count);
    if (count > MAX_WAITING) {
      socket.destroy();
      return;
    }
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      // Node continues to prepare the response after it has emitted `socket`, so the handler must run later.
      process.nextTick(() => {
        if (!response.destroyed && !socket.destroyed) handle(request, response);
      });
    });
  };
}
