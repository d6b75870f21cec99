/** A request as undici takes it: one body, of an exact length where there is one, and only the headers that it does not write itself. */
import type { Dispatcher } from 'undici';
import { BodyStream } from './body-stream.js';
import type { UpstreamRequest } from './upstream.js';

/** What goes over the wire. */
export type WireRequest = Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'body'> & { readonly headers: string[] };

/** Up to here one write of joined chunks is cheaper than several writes; in bytes. */
const JOINED_BYTES = 65_536;
/** Of a larger body, neighbours up to here. */
const SMALL_BYTES = 4_096;

/** How a forward proxy wants to be asked for plain HTTP: by the whole URL (RFC 9112 §3.2.2). */
export interface AbsoluteForm {
  /** Of the upstream. */
  readonly host: string;
  /** For the forward proxy itself, a secret; null: it asks for none. */
  readonly authorization: string | null;
}

/** @param path path and query. */
export function wireRequest(
  request: UpstreamRequest,
  path: string,
  { absolute }: { readonly absolute: AbsoluteForm | null },
): WireRequest {
  const headers = [...request.headers];
  // What comes compressed has to be decoded before the model's name can be found in it.
  if (!hasHeader(headers, 'accept-encoding')) headers.push('accept-encoding', 'identity');
  if (absolute !== null) {
    headers.push('host', absolute.host);
    if (absolute.authorization !== null) headers.push('proxy-authorization', absolute.authorization);
  }
  return {
    method: request.method,
    path: withoutFragment(absolute === null ? path : `http://${absolute.host}${path}`),
    headers,
    body: wireBody(request.body, headers),
  };
}

function wireBody(chunks: UpstreamRequest['body'], headers: string[]): Buffer | BodyStream | null {
  if (chunks instanceof BodyStream) {
    if (chunks.byteLength !== null) headers.push('content-length', String(chunks.byteLength));
    return chunks;
  }
  const [first] = chunks;
  if (first === undefined) return null;
  if (chunks.length === 1) return first;
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (length <= JOINED_BYTES) return Buffer.concat(chunks, length);
  headers.push('content-length', String(length));
  // undici takes any iterable of buffers and writes them one after the other, as the connection takes them; its declaration
  // does not say so.
  return fewer(chunks) as unknown as Buffer;
}

/** Each piece is a write. Views of one memory that follow each other become one view, small pieces next to each other are joined. */
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

function hasHeader(headers: readonly string[], name: string): boolean {
  for (let at = 0; at < headers.length; at += 2) if (headers[at] === name) return true;
  return false;
}

function withoutFragment(path: string): string {
  const at = path.indexOf('#');
  return at === -1 ? path : path.slice(0, at);
}
