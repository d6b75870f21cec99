/** The nearest known name to a misspelled one, for "did you mean". */

/** Number of letters to insert, delete or replace to make `b` of `a` (Levenshtein's distance). */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** Shorter beginnings are those of too many names. */
const MIN_BEGINNING = 4;

/** Whether one is how the other begins: SSL_CERTIFICATE and SSL_CERT. */
function isBeginning(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= MIN_BEGINNING && (a.startsWith(b) || b.startsWith(a));
}

/**
 * The known name that is nearest: at most a third of its letters away, or the beginning of the other one of the two; undefined
 * where none is.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = Infinity;
  for (const candidate of known) {
    const distance = editDistance(name, candidate);
    const near = distance <= Math.floor(candidate.length / 3) || isBeginning(name, candidate);
    if (near && distance < least) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}
