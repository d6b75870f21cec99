/** Finds the known name that a misspelled name probably means, for "did you mean" hints. */

/**
 * Returns the Levenshtein distance: the number of letters to insert, delete or replace. Returns
 * Infinity if it is larger than `limit`.
 */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Infinity;
  // One row of the matrix, changed in place: a file may need millions of distances.
  const distances = new Uint32Array(b.length + 1);
  for (let column = 1; column <= b.length; column += 1) distances[column] = column;
  for (let row = 1; row <= a.length; row += 1) {
    let diagonal = row - 1;
    let left = row;
    let least = row;
    distances[0] = row;
    for (let column = 1; column <= b.length; column += 1) {
      const above = distances[column] ?? 0;
      const replaced = diagonal + (a.charCodeAt(row - 1) === b.charCodeAt(column - 1) ? 0 : 1);
      left = Math.min(replaced, above + 1, left + 1);
      distances[column] = left;
      diagonal = above;
      if (left < least) least = left;
    }
    if (least > limit) return Infinity;
  }
  return distances[b.length] ?? 0;
}

/** Shorter prefixes match too many names. */
const MIN_PREFIX_LENGTH = 4;

/** Returns true if one name is a prefix of the other: SSL_CERT and SSL_CERTIFICATE. */
function isPrefix(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= MIN_PREFIX_LENGTH && (a.startsWith(b) || b.startsWith(a));
}

/**
 * Returns the nearest known name, or undefined if no known name is near. A known name is near if at
 * most a third of its letters differ. It is also near if one of the two names is a prefix of the other.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let minDistance = Infinity;
  for (const candidate of known) {
    const distance = isPrefix(name, candidate)
      ? Math.abs(name.length - candidate.length)
      : editDistance(name, candidate, Math.floor(candidate.length / 3));
    if (distance < minDistance) {
      nearest = candidate;
      minDistance = distance;
    }
  }
  return nearest;
}
