/**
 * Limits pipelined requests (RFC 9112 §9.3.2). A client may send many requests on a connection
 * before it reads the first response, and the responses go out in order. Without a limit all the
 * requests run at the same time. If the client disconnects, nothing stops those after the first.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Maximum number of waiting requests per connection. A single read of 64 KB holds up to 3,600. */
const MAX_WAITING = 100;

interface Waiting {
  count: number;
  /** True once the limit is reached. The connection then closes after the last waiting request. */
  isFull: boolean;
  readonly stopReading: () => void;
}

/**
 * Runs the requests of each connection one at a time and does not read from the connection while
 * requests wait. When {@link MAX_WAITING} requests wait, the response to the last of them has
 * `Connection: close`. The client then repeats its later requests on another connection.
 * @returns a function that wraps the listeners for `request`, `checkContinue` and
 *   `checkExpectation`. All of them share the limit.
 */
export function serializeRequests(): (handle: RequestListener) => RequestListener {
  const connections = new WeakMap<Socket, Waiting>();
  return (handle) => (request, response) => {
    // Node assigns the socket to a response when the previous response is complete.
    if (response.socket === null) wait(connections, handle, request, response);
    else handle(request, response);
  };
}

function wait(
  connections: WeakMap<Socket, Waiting>,
  handle: RequestListener,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { socket } = request;
  const waiting = connections.get(socket) ?? stopReading(socket);
  connections.set(socket, waiting);
  if (waiting.isFull) return;
  waiting.count += 1;
  waiting.isFull = waiting.count === MAX_WAITING;
  if (waiting.isFull) response.shouldKeepAlive = false;
  response.once('socket', () => {
    waiting.count -= 1;
    if (waiting.count === 0) {
      connections.delete(socket);
      resumeReading(socket, waiting);
    }
    // Node still uses the response after this event.
    process.nextTick(() => {
      if (!response.destroyed) handle(request, response);
    });
  });
}

function stopReading(socket: Socket): Waiting {
  const pause = () => void socket.pause();
  // Node resumes the socket when a handler reads a request body. The body of the running request
  // has already arrived.
  socket.on('resume', pause);
  socket.pause();
  return { count: 0, isFull: false, stopReading: pause };
}

function resumeReading(socket: Socket, { stopReading: pause, isFull }: Waiting): void {
  if (isFull) return;
  socket.removeListener('resume', pause);
  // After an `Upgrade` request the socket has no listener, and resuming would lose data.
  if (socket.listenerCount('data') > 0) socket.resume();
}
