/**
 * Limits the heads of answers to clients. Node's clients reject a head above 16 KB, and nginx
 * rejects more than 4 KB with its defaults. LiteLLM's own test requires less than 4,096 bytes. But an
 * upstream may send 64 KB.
 */

/** Maximum size of the status line and all headers together. */
const MAX_HEAD_BYTES = 4096;
/**
 * Room for the status line and for headers that follow: content type and length, date, connection,
 * CORS.
 */
const RESERVED_BYTES = 512;
/** `: ` and the line end. */
const SEPARATOR_BYTES = 4;

/** Without these headers the client misreads the body, a redirect or a handshake. They are dropped last. */
const essential = /^(?:content-(?:length|type|encoding|range)|location|sec-websocket-.*)$/;

interface Header {
  /** Index of the header's name. */
  readonly index: number;
  readonly bytes: number;
  readonly isEssential: boolean;
}

/**
 * Drops the longest of the upstream's headers until the head is small enough, essential headers last.
 * @param headers name, value, name, value; changed in place.
 * @param from index of the upstream's first header. Headers before it stay.
 * @param otherBytes size of the head's headers that are not in the list.
 * @returns how many headers were dropped.
 */
export function dropLongHeaders(headers: string[], from: number, otherBytes = 0): number {
  let excess = RESERVED_BYTES - MAX_HEAD_BYTES + otherBytes + bytesOfHeaders(headers);
  if (excess <= 0) return 0;

  const dropped = new Set<number>();
  for (const { index, bytes } of longestFirst(headers, from)) {
    if (excess <= 0) break;
    dropped.add(index);
    excess -= bytes;
  }
  let keptEnd = from;
  for (let index = from; index + 1 < headers.length; index += 2) {
    if (dropped.has(index)) continue;
    headers[keptEnd] = headers[index] ?? '';
    headers[keptEnd + 1] = headers[index + 1] ?? '';
    keptEnd += 2;
  }
  headers.length = keptEnd;
  return dropped.size;
}

/** Returns the size of headers in a head. @param headers name, value, name, value. */
export function bytesOfHeaders(headers: readonly string[]): number {
  let bytes = 0;
  for (let index = 0; index + 1 < headers.length; index += 2) bytes += bytesOf(headers, index);
  return bytes;
}

function longestFirst(headers: readonly string[], from: number): readonly Header[] {
  const all: Header[] = [];
  for (let index = from; index + 1 < headers.length; index += 2) {
    all.push({ index, bytes: bytesOf(headers, index), isEssential: essential.test(headers[index] ?? '') });
  }
  return all.sort((a, b) => Number(a.isEssential) - Number(b.isEssential) || b.bytes - a.bytes);
}

function bytesOf(headers: readonly string[], index: number): number {
  return (headers[index]?.length ?? 0) + (headers[index + 1]?.length ?? 0) + SEPARATOR_BYTES;
}
