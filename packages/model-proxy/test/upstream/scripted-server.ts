/** A TCP server that sends the bytes of a test: incomplete or invalid HTTP, or nothing. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import { waitFor } from '../harness/wait.js';

/** An accepted connection. */
export interface ScriptedConnection {
  readonly socket: Socket;
  /** All bytes that were read, as latin1. */
  text: string;
  /** Number of earlier connections. */
  readonly index: number;
}

/** The end of a head. */
export const HEAD_END = '\r\n\r\n';

/** A running server. */
export class ScriptedServer {
  readonly connections: ScriptedConnection[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts a server. @param onData called after each chunk, with the connection and its bytes so far. */
  static async start(
    onData: (connection: ScriptedConnection) => void,
    options: { readonly onConnection?: (connection: ScriptedConnection) => void } = {},
  ): Promise<ScriptedServer> {
    const server = createServer({ noDelay: true });
    const scripted = new ScriptedServer(server);
    server.on('connection', (socket) => {
      const connection: ScriptedConnection = { socket, text: '', index: scripted.connections.length };
      scripted.connections.push(connection);
      socket.on('error', () => undefined);
      options.onConnection?.(connection);
      socket.on('data', (chunk) => {
        connection.text += chunk.toString('latin1');
        onData(connection);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return scripted;
  }

  get port(): number {
    // A server that listens on TCP has an address of this type.
    return (this.#server.address() as AddressInfo).port;
  }

  get apiBase(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  /** Number of open connections. */
  get open(): number {
    return this.connections.filter(({ socket }) => !socket.destroyed).length;
  }

  /** Returns the number of bytes that the kernel has accepted from this server, over all connections. */
  bytesAccepted(): number {
    return this.connections.reduce((sum, { socket }) => sum + socket.bytesWritten - socket.writableLength, 0);
  }

  /** Waits for a number of connections. @returns the connection with this number, counted from 1. */
  waitForConnection(count: number): Promise<ScriptedConnection> {
    return waitFor(
      () => this.connections[count - 1],
      () => `${this.connections.length} connections came instead of ${count}`,
    );
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    for (const { socket } of this.connections) socket.destroy();
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
 * Answers each request of a connection. A client must wait for the answer before it sends the next request.
 * @param answer returns the bytes to write; null: nothing. Its `request` counts the requests of a connection from 0.
 */
export function answering(
  answer: (body: string, connection: ScriptedConnection, request: number) => string | null,
): (connection: ScriptedConnection) => void {
  const progress = new WeakMap<ScriptedConnection, { read: number; requests: number }>();
  return (connection) => {
    const { read, requests } = progress.get(connection) ?? { read: 0, requests: 0 };
    const body = requestBody(connection.text.slice(read));
    if (body === undefined) return;
    progress.set(connection, { read: connection.text.length, requests: requests + 1 });
    const text = answer(body, connection, requests);
    if (text !== null) connection.socket.write(text, 'latin1');
  };
}
