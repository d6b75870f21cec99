/** Searches for short texts in a range that spans several chunks, without joining the chunks. */
import type { Span } from './navigate.js';
import { piecesBetween } from './text.js';

/** Number of bytes from the start of a match that the callback `accepts` of {@link containsText} gets. */
const SEEN = 32;

/**
 * Returns whether any of the texts occurs in a range. Texts of up to six bytes are found
 * fastest, because `Buffer.indexOf` then searches for their first byte with `memchr`.
 * @param texts ASCII, at most {@link SEEN} bytes each.
 * @param accepts decides about a match by the 32 bytes from its start; fewer at the end of the
 * range.
 */
export function containsText(
  chunks: readonly Buffer[],
  part: Span,
  texts: readonly Buffer[],
  accepts: (fromMatch: string) => boolean = () => true,
): boolean {
  const pieces = piecesBetween(chunks, part.start, part.end);
  return texts.some((needle) =>
    pieces.some((piece, index) => {
      // A match, and the bytes that `accepts` sees, may continue in the next chunks.
      const next = index + 1 < pieces.length ? following(pieces, index + 1) : nothing;
      for (let at = piece.indexOf(needle); at !== -1; at = piece.indexOf(needle, at + 1)) {
        const seen = piece.toString('latin1', at, at + SEEN);
        if (accepts(seen.length === SEEN ? seen : (seen + next.toString('latin1')).slice(0, SEEN))) return true;
      }
      if (next.length === 0) return false;
      const cut = Math.max(0, piece.length - needle.length + 1);
      const seam = Buffer.concat([piece.subarray(cut), next]);
      for (let at = seam.indexOf(needle); at !== -1; at = seam.indexOf(needle, at + 1)) {
        if (at >= piece.length - cut) break;
        if (accepts(seam.toString('latin1', at, at + SEEN))) return true;
      }
      return false;
    }),
  );
}

/**
 * Subtracts ranges from a range.
 * @param others in order. The first {@link SEEN} bytes of each subtracted range remain, because a
 *   match may begin before that range and continue in it.
 * @returns the remaining ranges, in order.
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

/** Returns up to {@link SEEN} bytes from the start of a piece on, if necessary with bytes of the pieces after it. */
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
