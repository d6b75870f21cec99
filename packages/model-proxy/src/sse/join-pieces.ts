/** Joins the pieces of events for few writes. */

/** Up to this size, buffers are joined for a single write. A copy costs less than a write. */
const JOINED_BYTES = 65_536;

/**
 * Joins pieces to a single buffer. Returns them unchanged if they are larger together than {@link JOINED_BYTES}.
 * @returns an empty list if there are several pieces and none of them has bytes.
 */
export function joined(pieces: Buffer[]): Buffer[] {
  if (pieces.length < 2) return pieces;
  let length = 0;
  for (const piece of pieces) length += piece.length;
  if (length === 0) return [];
  return length <= JOINED_BYTES ? [Buffer.concat(pieces, length)] : pieces;
}
