/** A TCP server that sends the bytes of a test: incomplete or invalid HTTP, or nothing. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import { waitFor } from '../harness/wait.js';

/** An accepted connection. */
export interface Visit {
  readonly socket: Socket;
  /** All bytes that were read, as latin1. */
  text: string;
  /** Number of earlier connections. */
  readonly index: number;
}

/** The end of a head. */
export const HEAD_END = '\r\n\r\n';

export class ScriptedServer {
  readonly visits: Visit[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param onData called for each chunk, with all bytes of the connection so far. */
  static async start(
    onData: (visit: Visit) => void,
    options: { readonly onVisit?: (visit: Visit) => void } = {},
  ): Promise<ScriptedServer> {
    const server = createServer({ noDelay: true });
    const scripted = new ScriptedServer(server);
    server.on('connection', (socket) => {
      const visit: Visit = { socket, text: '', index: scripted.visits.length };
      scripted.visits.push(visit);
      socket.on('error', () => undefined);
      options.onVisit?.(visit);
      socket.on('data', (chunk) => {
        visit.text += chunk.toString('latin1');
        onData(visit);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return scripted;
  }

  get port(): number {
    // Listening on TCP: it has an address of this kind.
    return (this.#server.address() as AddressInfo).port;
  }

  get apiBase(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  /** Number of open connections. */
  get open(): number {
    return this.visits.filter(({ socket }) => !socket.destroyed).length;
  }

  /** Returns the number of written bytes that the kernels of the peers have accepted. */
  bytesAccepted(): number {
    return this.visits.reduce((sum, { socket }) => sum + socket.bytesWritten - socket.writableLength, 0);
  }

  /** Waits for a number of connections. @returns the last one. */
  visited(count: number): Promise<Visit> {
    return waitFor(
      () => this.visits[count - 1],
      () => `${this.visits.length} connections came instead of ${count}`,
    );
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    for (const { socket } of this.visits) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** Makes a complete answer with a length and keep-alive. */
export function answerOf(body: string, head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json'): string {
  return `${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Returns the body of a request with a Content-Length; undefined: incomplete. */
export function requestBody(text: string): string | undefined {
  const end = text.indexOf(HEAD_END);
  if (end === -1) return undefined;
  const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
  const body = text.slice(end + HEAD_END.length);
  return body.length >= length ? body : undefined;
}

/**
 * Answers the complete requests of a connection in order.
 * @param answer returns the bytes to write; null: nothing.
 */
export function answering(
  answer: (body: string, visit: Visit, request: number) => string | null,
): (visit: Visit) => void {
  const progress = new WeakMap<Visit, { read: number; requests: number }>();
  return (visit) => {
    const { read, requests } = progress.get(visit) ?? { read: 0, requests: 0 };
    const body = requestBody(visit.text.slice(read));
    if (body === undefined) return;
    progress.set(visit, { read: visit.text.length, requests: requests + 1 });
    const text = answer(body, visit, requests);
    if (text !== null) visit.socket.write(text, 'latin1');
  };
}
