/** Finds the known name that a misspelled name probably means, for "did you mean" hints. */

/**
 * Returns the Levenshtein distance: the number of letters to insert, delete or replace. Returns
 * Infinity if it is larger than `limit`.
 */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Infinity;
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    if (Math.min(...current) > limit) return Infinity;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** Shorter prefixes match too many names. */
const MIN_PREFIX_LENGTH = 4;

/** Returns true if one name is a prefix of the other: SSL_CERT and SSL_CERTIFICATE. */
function isPrefix(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= MIN_PREFIX_LENGTH && (a.startsWith(b) || b.startsWith(a));
}

/**
 * Returns the nearest known name, or undefined if no known name is near. A known name is near if at
 * most a third of its letters differ, or if one of the two names is a prefix of the other.
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
