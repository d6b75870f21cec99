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

/** The known name that is nearest, at most a third of its letters away; undefined where none is. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = Infinity;
  for (const candidate of known) {
    const distance = editDistance(name, candidate);
    if (distance < least && distance <= Math.floor(candidate.length / 3)) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}
