/** Whether a text stands in a part of several chunks, which are not joined for that. */
import type { Span } from './navigate.js';
import { piecesBetween } from './text.js';

/** How much a caller gets to see of a place, in bytes. */
const SEEN = 32;

/**
 * Looks for short texts. Node finds those of up to six bytes by their first one and `memchr`: 0.01 ns a byte where that is rare.
 * @param texts ASCII, at most {@link SEEN} bytes.
 * @param isIt decides by the bytes from there on, 32 of them, or fewer before `end`.
 */
export function containsText(
  chunks: readonly Buffer[],
  part: Span,
  texts: readonly Buffer[],
  isIt: (following: string) => boolean = () => true,
): boolean {
  const pieces = piecesBetween(chunks, part.start, part.end);
  return texts.some((needle) =>
    pieces.some((piece, index) => {
      // A text, and what is seen of it, may go on in the next chunks.
      const next = index + 1 < pieces.length ? following(pieces, index + 1) : nothing;
      for (let at = piece.indexOf(needle); at !== -1; at = piece.indexOf(needle, at + 1)) {
        const seen = piece.toString('latin1', at, at + SEEN);
        if (isIt(seen.length === SEEN ? seen : (seen + next.toString('latin1')).slice(0, SEEN))) return true;
      }
      if (next.length === 0) return false;
      const cut = Math.max(0, piece.length - needle.length + 1);
      const seam = Buffer.concat([piece.subarray(cut), next]);
      for (let at = seam.indexOf(needle); at !== -1; at = seam.indexOf(needle, at + 1)) {
        if (at >= piece.length - cut) break;
        if (isIt(seam.toString('latin1', at, at + SEEN))) return true;
      }
      return false;
    }),
  );
}

/**
 * The parts of a part that are left without others.
 * @param others in order; of each, the first {@link SEEN} bytes are left, as they may belong to what is in front of it.
 */
export function partsWithout(others: readonly Span[], part: Span): readonly Span[] {
  if (others.length === 0) return [part];
  const parts: Span[] = [];
  let { start } = part;
  for (const other of others) {
    if (other.end <= start || other.start >= part.end) continue;
    const end = Math.min(other.start + SEEN, part.end);
    if (end > start) parts.push({ start, end });
    start = Math.max(start, other.end);
  }
  if (part.end > start) parts.push({ start, end: part.end });
  return parts;
}

const nothing = Buffer.alloc(0);

/** The first bytes from a piece on, as many as are ever seen. */
function following(pieces: readonly Buffer[], from: number): Buffer {
  const found: Buffer[] = [];
  let length = 0;
  for (let index = from; index < pieces.length && length < SEEN; index++) {
    const piece = pieces[index] ?? nothing;
    found.push(piece.subarray(0, SEEN - length));
    length += Math.min(piece.length, SEEN - length);
  }
  return Buffer.concat(found);
}
