/**
 * An HTTP client for tests. It shows responses unchanged: no redirects, no decoding, all headers.
 */
import { once } from 'node:events';
import { createServer, request, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { connect } from 'node:net';

/** A received response. */
export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The text as JSON; undefined if it is empty or has another content type. */
  readonly json: unknown;
}

/** Headers and body of a request. */
export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string as it is, without a content type. */
  readonly body?: string | object;
}

/** A client of a server on a loopback port. */
export interface Client {
  readonly port: number;
  send(method: string, path: string, sent?: Sent): Promise<Received>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Received>;
  /**
   * Writes bytes to a new connection and returns everything received until the connection closes.
   */
  raw(bytes: string): Promise<string>;
  close(): Promise<void>;
}

/** Serves a listener on a free loopback port. The caller closes it. */
export async function serve(
  listener: RequestListener,
  prepare: (server: Server) => void = () => undefined,
): Promise<Client> {
  // As in network/listener.ts of packages/daemon: the pipeline checks the Host header itself.
  const server = createServer({ requireHostHeader: false }, listener);
  // A test on a busy host may reuse a connection at the moment at which the server would close it as idle.
  server.keepAliveTimeout = 0;
  prepare(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('listening on loopback: no port');
  return {
    ...clientAt(address.port),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns a client of the server at a loopback port. */
export function clientAt(port: number): Omit<Client, 'close'> {
  const send: Client['send'] = (method, path, sent = {}) => exchange(port, method, path, sent);
  return {
    port,
    send,
    get: (path, headers = {}) => send('GET', path, { headers }),
    raw: (bytes) => rawExchange(port, bytes),
  };
}

function exchange(port: number, method: string, path: string, { headers = {}, body }: Sent): Promise<Received> {
  const text = typeof body === 'object' ? JSON.stringify(body) : body;
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const received = Buffer.concat(chunks).toString();
        const type = incoming.headers['content-type'] ?? '';
        const json =
          type.startsWith('application/json') && received !== '' ? (JSON.parse(received) as unknown) : undefined;
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text: received, json });
      });
    });
    outgoing.on('error', reject);
    // Node sets no length for a body of GET and DELETE, so the server would parse it as a second
    // request.
    if (text !== undefined) outgoing.setHeader('Content-Length', Buffer.byteLength(text));
    if (typeof body === 'object') outgoing.setHeader('Content-Type', 'application/json');
    for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
    outgoing.end(text);
  });
}

function rawExchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
  });
}
