/** Requests as bytes, answers as bytes: nothing is added, decoded or forgiven. */
import { request, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { once } from 'node:events';

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

/** Everything that a server answers to these bytes until it closes or, after the first answer, `until` is found in it. */
export async function exchangeBytes(port: number, bytes: Buffer, until?: RegExp): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  socket.on('data', (piece: Buffer) => {
    text += piece.toString('latin1');
    if (until?.test(text) === true) socket.destroy();
  });
  // A reset is a closed connection, too.
  socket.once('error', () => undefined);
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  const closed = once(socket, 'close');
  socket.write(bytes);
  await closed;
  return text;
}
