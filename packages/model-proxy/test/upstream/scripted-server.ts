/** A TCP server that speaks whatever a test wants: HTTP that breaks off, hangs, is none. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import { waitFor } from '../harness/wait.js';

/** A connection that came in. */
export interface Visit {
  readonly socket: Socket;
  /** Everything that was read, as latin1. */
  text: string;
  /** How many connections came before this one. */
  readonly index: number;
}

/** Where a visit's request ends. */
export const HEAD_END = '\r\n\r\n';

export class ScriptedServer {
  readonly visits: Visit[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param onData called with everything that a connection has sent so far, each time that more comes. */
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

  /** Connections that are open at this end. */
  get open(): number {
    return this.visits.filter(({ socket }) => !socket.destroyed).length;
  }

  /** Bytes that the other ends' systems have taken of what was written. */
  bytesAccepted(): number {
    return this.visits.reduce((sum, { socket }) => sum + socket.bytesWritten - socket.writableLength, 0);
  }

  /** Waits until this many connections have come. @returns the last of them. */
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

/** A whole answer with a length, keep-alive. */
export function answerOf(body: string, head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json'): string {
  return `${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Once a whole request (with a Content-Length) has come. @returns its body; undefined: not yet. */
export function requestBody(text: string): string | undefined {
  const end = text.indexOf(HEAD_END);
  if (end === -1) return undefined;
  const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
  const body = text.slice(end + HEAD_END.length);
  return body.length >= length ? body : undefined;
}

/**
 * Answers every whole request of a connection, one after the other.
 * @param answer what is written; null: nothing is.
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
