/** Serializes requests to HTTP/1.1. */
import { ownText } from '@rackless/daemon/text/own-text.js';
import { secretHeader } from '../../secret-names.js';
import { BodyStream } from '../body-stream.js';
import type { UpstreamRequest } from '../upstream.js';

/** A serialized request. */
export interface WireRequest {
  /** The head as latin1, with the empty line. */
  readonly head: string;
  /** Whether this is a HEAD request, whose answer has no body, whatever its head says (RFC 9110 §9.3.2). */
  readonly isHead: boolean;
  /** Has the length that the head announces. A stream without a length is sent in chunks. */
  readonly body: readonly Buffer[] | BodyStream;
}

/** Adjacent buffers of a body are joined up to this size. */
const SMALL_BYTES = 4_096;
/** The connection sends a body up to this size in a single write, so the body is not joined here. */
const ONE_WRITE_BYTES = 65_536;

/**
 * The data for the absolute form of a request, which a forward proxy expects for plain HTTP (RFC 9112
 * §3.2.2).
 */
export interface AbsoluteForm {
  /** Host and port of the upstream. */
  readonly host: string;
  /** Proxy-Authorization of the forward proxy, a secret; null: none. */
  readonly authorization: string | null;
}

/** The request cannot be serialized safely. The message names the header, not its value. */
export class UnsendableError extends Error {
  override readonly name = 'UnsendableError';
}

/**
 * Serializes a request.
 * @param path path and query.
 * @param host host of the URL, with its port if it is not the scheme's default.
 * @throws {UnsendableError} if the path or a header is invalid.
 */
export function wireRequest(
  request: UpstreamRequest,
  path: string,
  { host, absolute }: { readonly host: string; readonly absolute: AbsoluteForm | null },
): WireRequest {
  const { method, headers, body } = request;
  const isHead = method === 'HEAD';
  const target = withoutFragment(absolute === null ? path : `http://${absolute.host}${path}`);
  if (/[^\x21-\x7e\x80-\xff]/.test(target)) throw new UnsendableError('invalid request path');
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  let hasCoding = false;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    head += headerLine(name, headers[index + 1] ?? '');
    if (name === 'accept-encoding') hasCoding = true;
  }
  // The proxy would have to decompress an answer to find the model's name in it, so it asks for no compression.
  if (!hasCoding && request.isRaw !== true) head += 'accept-encoding: identity\r\n';
  if (absolute !== null && absolute.authorization !== null)
    head += headerLine('proxy-authorization', absolute.authorization);
  if (body instanceof BodyStream) {
    const { byteLength } = body;
    head += byteLength === null ? 'transfer-encoding: chunked\r\n\r\n' : `content-length: ${byteLength}\r\n\r\n`;
    return { head, isHead, body };
  }
  let length = 0;
  for (const piece of body) length += piece.length;
  // RFC 9110 §8.6: a method that usually has a body announces length 0.
  head += length > 0 || bodyMethods.has(method) ? `content-length: ${length}\r\n\r\n` : '\r\n';
  return { head, isHead, body: length <= ONE_WRITE_BYTES ? body : joinChunks(body) };
}

const bodyMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** A header that was sent before. Its name is valid. */
interface SentHeader {
  /** null: only the name is cached. */
  readonly value: string | null;
  readonly line: string;
}

/**
 * Caches the first header of each name. Most headers are the same in all requests to an upstream, such as
 * `accept`. Does not store secrets, which a reload may remove.
 */
const sentHeaders = new Map<string, SentHeader>();
const MAX_NAMES = 1000;
/** Longer values are not cached. */
const MAX_CACHED_VALUE = 256;
/**
 * Headers that decide where a request ends and how its connection is used. Only the proxy sets
 * them.
 */
const framingHeaders = /^(?:host|connection|keep-alive|transfer-encoding|content-length|upgrade|expect|te|trailer)$/;

function headerLine(name: string, value: string): string {
  const sent = sentHeaders.get(name);
  if (sent?.value === value) return sent.line;
  if (sent === undefined && (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) || framingHeaders.test(name)))
    throw new UnsendableError(`invalid ${JSON.stringify(name)} header`);
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new UnsendableError(`invalid ${name} header`);
  const line = `${name}: ${value}\r\n`;
  if (sent === undefined && sentHeaders.size < MAX_NAMES) {
    const isCached = value.length <= MAX_CACHED_VALUE && !secretHeader.test(name);
    // Copies: V8 keeps a whole head in memory for a text that was cut out of it.
    sentHeaders.set(ownText(name), { value: isCached ? ownText(value) : null, line: isCached ? ownText(line) : '' });
  }
  return line;
}

/** Reduces the number of writes. Joins adjacent views of the same memory, and small buffers. */
function joinChunks(chunks: readonly Buffer[]): readonly Buffer[] {
  const joined: Buffer[] = [];
  let lastChunk: Buffer | undefined;
  for (const chunk of chunks) {
    if (lastChunk?.buffer === chunk.buffer && lastChunk.byteOffset + lastChunk.length === chunk.byteOffset) {
      lastChunk = Buffer.from(lastChunk.buffer, lastChunk.byteOffset, lastChunk.length + chunk.length);
    } else if (lastChunk !== undefined && lastChunk.length + chunk.length <= SMALL_BYTES) {
      lastChunk = Buffer.concat([lastChunk, chunk], lastChunk.length + chunk.length);
    } else {
      lastChunk = chunk;
      joined.push(chunk);
      continue;
    }
    joined[joined.length - 1] = lastChunk;
  }
  return joined;
}

function withoutFragment(path: string): string {
  const fragmentStart = path.indexOf('#');
  return fragmentStart === -1 ? path : path.slice(0, fragmentStart);
}
