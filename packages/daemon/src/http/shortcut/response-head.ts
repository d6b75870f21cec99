/** Renders the heads of responses, with the same bytes as Node's `ServerResponse.writeHead`. */
import { STATUS_CODES } from 'node:http';
import { RenderedHeaders } from './rendered-headers.js';

/** A rendered head. */
interface RenderedHead {
  /** The status line, the headers and the empty line, as latin1. */
  readonly text: string;
  readonly hasBody: boolean;
  /** Whether the body is sent in chunks, because the headers do not have its length. */
  readonly isChunked: boolean;
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean;
}

/** The connection after the response. */
interface Connection {
  /** Whether the client wants to send another request. */
  readonly keepsAlive: boolean;
  /** How long the server waits for it, in seconds. */
  readonly idleSeconds: number;
}

/** Matches values of the header `Connection` that end the connection, as in Node. */
const CLOSE = /(?:^|\W)close(?:$|\W)/i;

/**
 * Renders a head.
 * @param headers rendered, or name, value, name, value.
 * @throws {Error} as Node, if a name or a value is not valid; also for a status below 200, and for headers that the
 *   shortcut cannot send, such as `Transfer-Encoding`.
 */
export function renderHead(
  status: number,
  headers: RenderedHeaders | readonly unknown[],
  connection: Connection,
): RenderedHead {
  if (!Number.isInteger(status) || status < 200 || status > 999) throw new RangeError(`invalid status ${status}`);
  const rendered = headers instanceof RenderedHeaders ? headers : renderList(headers);
  const { hasLength, hasDate, connection: ownConnection } = rendered;
  const keepsAlive = ownConnection === null ? connection.keepsAlive : !CLOSE.test(ownConnection);
  const hasBody = status !== 204 && status !== 304;
  const isChunked = hasBody && !hasLength;
  let end = hasDate ? '' : dateLine();
  if (ownConnection === null)
    end += keepsAlive
      ? `Connection: keep-alive\r\nKeep-Alive: timeout=${connection.idleSeconds}\r\n`
      : 'Connection: close\r\n';
  const text = `${statusLine(status)}${rendered.text}${end}${isChunked ? 'Transfer-Encoding: chunked\r\n\r\n' : '\r\n'}`;
  return { text, hasBody, isChunked, keepsAlive };
}

function renderList(headers: readonly unknown[]): RenderedHeaders {
  const rendered = new RenderedHeaders();
  rendered.addList(headers);
  return rendered;
}

const OK = 'HTTP/1.1 200 OK\r\n';

function statusLine(status: number): string {
  return status === 200 ? OK : `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
}

let currentDate: string | null = null;

/** Returns the line with the header `Date`. Renders it once for each second. */
function dateLine(): string {
  if (currentDate !== null) return currentDate;
  const now = new Date();
  currentDate = `Date: ${now.toUTCString()}\r\n`;
  setTimeout(() => (currentDate = null), 1000 - now.getMilliseconds()).unref();
  return currentDate;
}
