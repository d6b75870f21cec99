/** Requests as bytes, answers as bytes: nothing is added, decoded or forgiven. */
import { request, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** @throws {SyntaxError} where it is no JSON. */
  json(): unknown;
}

export interface CallOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: string | Buffer | object;
}

/** An answer whose head is here and whose body is still coming. */
export interface OpenAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Pieces as they came. */
  readonly pieces: readonly Buffer[];
  readonly text: string;
  /** How it ended; `cut` where it broke off. */
  readonly ended: Promise<'whole' | 'cut'>;
  /** Goes away. */
  leave(): void;
}

/** Sends a request on a connection of its own and waits for the head of the answer. @throws {Error} when the connection breaks before. */
export function open(url: string, { method = 'POST', headers = {}, body }: CallOptions = {}): Promise<OpenAnswer> {
  const bytes =
    body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
      ? Buffer.from(body ?? '')
      : Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method,
        agent: false,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(bytes.length) }),
          ...headers,
        },
      },
      (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        const ended = new Promise<'whole' | 'cut'>((resolveEnd) => {
          response.once('close', () => resolveEnd(response.complete ? 'whole' : 'cut'));
          // What is meant is told by `complete`.
          response.once('error', () => undefined);
        });
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          pieces,
          get text() {
            return Buffer.concat(pieces).toString('utf8');
          },
          ended,
          leave: () => response.destroy(),
        });
      },
    );
    sent.once('error', reject);
    sent.end(bytes);
  });
}

/** Sends a request and waits for the whole answer. @throws {Error} where it breaks off. */
export async function call(url: string, options: CallOptions = {}): Promise<Answer> {
  const { status, headers, pieces, ended } = await open(url, options);
  if ((await ended) === 'cut')
    throw new Error(`calling ${url}: the answer breaks off: ${Buffer.concat(pieces).toString()}`);
  const body = Buffer.concat(pieces);
  const text = body.toString('utf8');
  return { status, headers, body, text, json: () => JSON.parse(text) as unknown };
}

/** The data of a text of server-sent events, event by event; comments are left out. */
export function eventData(text: string): readonly string[] {
  return text
    .split('\n\n')
    .map((block) => /^data: ?(.*)$/m.exec(block)?.[1])
    .filter((data) => data !== undefined);
}

export interface ExchangeOptions {
  /** Says FIN after the bytes, as a client that has gone away; the server would wait for more otherwise. */
  readonly finish?: boolean;
  /** Goes as soon as what has come so far is enough. */
  readonly until?: (answer: string) => boolean;
}

/** Everything that a server answers to these bytes until it closes, byte for byte as latin1. Empty: it just closed. */
export async function exchangeBytes(
  port: number,
  bytes: Buffer,
  { finish = false, until }: ExchangeOptions = {},
): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece);
    if (until?.(Buffer.concat(pieces).toString('latin1')) === true) socket.destroy();
  });
  // A reset is a closed connection, too.
  socket.on('error', () => undefined);
  socket.once('end', () => socket.end());
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  if (finish) socket.end(bytes);
  else socket.write(bytes);
  await closed;
  return Buffer.concat(pieces).toString('latin1');
}
