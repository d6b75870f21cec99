/** Joins small chunks of the transfer coding (RFC 9112 §7.1). */

/** Larger chunks are passed on one by one: an event has its own chunk, and is larger. */
export const MAX_JOINED_CHUNK = 63;

/** Number of an answer's small chunks that are passed on one by one. Only an answer with more costs too much. */
export const MAX_SINGLE_CHUNKS = 4096;

const CR = 0x0d;
const LF = 0x0a;

/**
 * Joins the small chunks that follow a chunk. Otherwise, an upstream that sends single bytes costs as much for each
 * byte as for an event. Moves the bytes within the buffer, over framing that has been read.
 * @param from the end of the chunk's bytes.
 * @returns the end of the joined bytes, and the offset after the last joined chunk.
 */
export function joinSmallChunks(bytes: Buffer, from: number): { readonly end: number; readonly next: number } {
  let end = from;
  let next = from;
  for (;;) {
    if (bytes[next] !== CR || bytes[next + 1] !== LF) break;
    let at = next + 2;
    let size = hexDigit(bytes[at] ?? 0);
    const second = hexDigit(bytes[at + 1] ?? 0);
    if (second !== -1) size = size * 16 + second;
    at += second === -1 ? 1 : 2;
    if (size <= 0 || size > MAX_JOINED_CHUNK || bytes[at] !== CR || bytes[at + 1] !== LF) break;
    at += 2;
    if (at + size > bytes.length) break;
    for (next = at + size; at < next; at += 1, end += 1) bytes[end] = bytes[at] ?? 0;
  }
  return { end, next };
}

/** Returns the value of a hexadecimal digit; -1: the byte is none. */
export function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
