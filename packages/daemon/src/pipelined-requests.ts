/**
 * Pipelined requests (RFC 9112 §9.3.2): a client may send many requests on one connection before it reads the first answer. Answers go
 * out in order. Without a limit all the requests would run at once, and nothing would end those behind the first if the client leaves.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that wait on one connection. A single read of 64 KB holds up to 3,600. */
const MOST_WAITING = 100;

interface Waiting {
  count: number;
  /** Whether the limit is reached: the connection closes behind the last request that waits. */
  isFull: boolean;
  readonly stopReading: () => void;
}

/**
 * Runs one request of a connection at a time. The connection is not read while others wait. When {@link MOST_WAITING} wait, the answer
 * to the last one says `Connection: close`, and the client repeats what came behind it on another connection.
 * @returns a listener for `request`, `checkContinue` and `checkExpectation`, which share one limit.
 */
export function oneAtATime(): (handle: RequestListener) => RequestListener {
  const connections = new WeakMap<Socket, Waiting>();
  return (handle) => (request, response) => {
    // Node gives a response its socket when the answer before it has gone out.
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
  waiting.isFull = waiting.count === MOST_WAITING;
  if (waiting.isFull) response.shouldKeepAlive = false;
  response.once('socket', () => {
    waiting.count -= 1;
    if (waiting.count === 0) {
      connections.delete(socket);
      readOn(socket, waiting);
    }
    // Node still uses the response after this event.
    process.nextTick(() => {
      if (!response.destroyed) handle(request, response);
    });
  });
}

function stopReading(socket: Socket): Waiting {
  const pause = () => void socket.pause();
  // Node reads on for whoever reads a body, and the body of the request that runs has arrived already.
  socket.on('resume', pause);
  socket.pause();
  return { count: 0, isFull: false, stopReading: pause };
}

function readOn(socket: Socket, { stopReading: pause, isFull }: Waiting): void {
  if (isFull) return;
  socket.removeListener('resume', pause);
  // Behind an upgrade nobody listens: resuming would lose what comes next.
  if (socket.listenerCount('data') > 0) socket.resume();
}
