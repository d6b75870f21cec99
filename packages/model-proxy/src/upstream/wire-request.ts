/** A request as it goes over the wire: its head as one text, and the pieces of its body. */
import { BodyStream } from './body-stream.js';
import type { UpstreamRequest } from './upstream.js';

/** What goes over the wire. */
export interface WireRequest {
  /** Latin1, with the empty line behind it. */
  readonly head: string;
  /** Together as long as the head says. A stream that has no length is sent in chunks, as the head says then. */
  readonly body: readonly Buffer[] | BodyStream;
}

/** Of a body of several pieces, neighbours up to here are joined; in bytes. */
const SMALL_BYTES = 4_096;
/** Up to here all of it is one write anyway; in bytes. */
const ONE_WRITE_BYTES = 65_536;

/** How a forward proxy wants to be asked for plain HTTP: by the whole URL (RFC 9112 §3.2.2). */
export interface AbsoluteForm {
  /** Of the upstream. */
  readonly host: string;
  /** For the forward proxy itself, a secret; null: it asks for none. */
  readonly authorization: string | null;
}

/** A request that would not be one on the wire, or two. Names the header, not its value. */
export class UnsendableError extends Error {
  override readonly name = 'UnsendableError';
}

/**
 * @param path path and query.
 * @param host of the URL, with its port where it is not the scheme's.
 * @throws {UnsendableError}
 */
export function wireRequest(
  request: UpstreamRequest,
  path: string,
  { host, absolute }: { readonly host: string; readonly absolute: AbsoluteForm | null },
): WireRequest {
  const { method, headers, body } = request;
  const target = withoutFragment(absolute === null ? path : `http://${absolute.host}${path}`);
  if (/[^\x21-\x7e\x80-\xff]/.test(target)) throw new UnsendableError('invalid request path');
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  let hasCoding = false;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? '';
    head += headerLine(name, headers[at + 1] ?? '');
    if (name === 'accept-encoding') hasCoding = true;
  }
  // What comes compressed has to be decoded before the model's name can be found in it.
  if (!hasCoding) head += 'accept-encoding: identity\r\n';
  if (absolute !== null && absolute.authorization !== null)
    head += headerLine('proxy-authorization', absolute.authorization);
  if (body instanceof BodyStream) {
    const { byteLength } = body;
    head += byteLength === null ? 'transfer-encoding: chunked\r\n\r\n' : `content-length: ${byteLength}\r\n\r\n`;
    return { head, body };
  }
  let length = 0;
  for (const piece of body) length += piece.length;
  // A request without a body says so where one is to be expected (RFC 9110 §8.6).
  head += length > 0 || method !== 'GET' ? `content-length: ${length}\r\n\r\n` : '\r\n';
  return { head, body: length <= ONE_WRITE_BYTES ? body : fewer(body) };
}

/** Names that have been found to be proper ones; they are ours and the configuration's, and a few of clients. */
const properNames = new Set<string>();
const MAX_NAMES = 1000;
/** They say where a request ends, and on what connection. */
const framing = /^(?:host|connection|keep-alive|transfer-encoding|content-length|upgrade|expect|te|trailer)$/;

function headerLine(name: string, value: string): string {
  if (!properNames.has(name)) {
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) || framing.test(name))
      throw new UnsendableError(`invalid ${JSON.stringify(name)} header`);
    if (properNames.size < MAX_NAMES) properNames.add(name);
  }
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new UnsendableError(`invalid ${name} header`);
  return `${name}: ${value}\r\n`;
}

/** Each piece is written by itself. Views of one memory that follow each other become one view, small pieces next to each other are joined. */
function fewer(chunks: readonly Buffer[]): readonly Buffer[] {
  const joined: Buffer[] = [];
  let last: Buffer | undefined;
  for (const chunk of chunks) {
    if (last?.buffer === chunk.buffer && last.byteOffset + last.length === chunk.byteOffset) {
      last = Buffer.from(last.buffer, last.byteOffset, last.length + chunk.length);
    } else if (last !== undefined && last.length + chunk.length <= SMALL_BYTES) {
      last = Buffer.concat([last, chunk], last.length + chunk.length);
    } else {
      last = chunk;
      joined.push(chunk);
      continue;
    }
    joined[joined.length - 1] = last;
  }
  return joined;
}

function withoutFragment(path: string): string {
  const at = path.indexOf('#');
  return at === -1 ? path : path.slice(0, at);
}
