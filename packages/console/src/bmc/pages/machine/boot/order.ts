/** Changes of a list whose order counts. */

/** Returns the list with the entry at `from` moved to `to`; the same list if a position is outside of it. */
export function moveEntry<T>(list: readonly T[], from: number, to: number): readonly T[] {
  const [entry] = list.slice(from, from + 1);
  if (entry === undefined || to < 0 || to >= list.length) return list;
  const rest = list.filter((_, index) => index !== from);
  return [...rest.slice(0, to), entry, ...rest.slice(to)];
}
