/** Sends requests and receives answers as bytes, without changes and without decoding. */
import { request, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';

/** A complete answer. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** Parses the body. @throws {SyntaxError} if the body is not JSON. */
  json(): unknown;
}

/** Options of {@link call} and {@link open}. */
export interface CallOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. By default, the Content-Type of every body is JSON. */
  readonly body?: string | Buffer | object;
}

/** An answer whose body may still be arriving. */
export interface OpenAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The received chunks. */
  readonly pieces: readonly Buffer[];
  readonly text: string;
  /** Resolves at the end of the answer; `cut`: the connection closed before the whole answer arrived. */
  readonly ended: Promise<'whole' | 'cut'>;
  /** Closes the connection. */
  leave(): void;
}

/**
 * Sends a request on a new connection, and waits for the head of the answer.
 * @throws {Error} if the connection fails before the head.
 */
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
          // `ended` reports this error: `complete` is false if the answer did not arrive completely.
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

/** Sends a request, and waits for the whole answer. @throws {Error} if the connection fails or closes too early. */
export async function call(url: string, options: CallOptions = {}): Promise<Answer> {
  const { status, headers, pieces, ended } = await open(url, options);
  if ((await ended) === 'cut')
    throw new Error(`calling ${url}: the answer is incomplete: ${Buffer.concat(pieces).toString()}`);
  const body = Buffer.concat(pieces);
  const text = body.toString('utf8');
  return { status, headers, body, text, json: () => JSON.parse(text) as unknown };
}

/** Returns the first line of data of each server-sent event with data. The line ends must be LF. */
export function eventData(text: string): readonly string[] {
  return text
    .split('\n\n')
    .map((block) => /^data: ?(.*)$/m.exec(block)?.[1])
    .filter((data) => data !== undefined);
}

/** Options of {@link exchangeBytes}. */
export interface ExchangeOptions {
  /** Whether the client sends FIN after the bytes. Without FIN, the server waits for the rest of a request. */
  readonly finish?: boolean;
  /** Returns whether the answer so far is enough. The client then closes the connection. */
  readonly until?: (answer: string) => boolean;
}

/**
 * Sends bytes on a new connection, and waits until the connection closes.
 * @returns what the server has sent, as latin1; empty: the server closed the connection without an answer.
 */
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
  // A reset is no failure here: it also closes the connection.
  socket.on('error', () => undefined);
  socket.once('end', () => socket.end());
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  if (finish) socket.end(bytes);
  else socket.write(bytes);
  await closed;
  return Buffer.concat(pieces).toString('latin1');
}
