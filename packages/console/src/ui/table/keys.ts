/** The keyboard in tables: moving between rows, and selecting ranges. */

/**
 * Returns the line that a key leads to from a line of a table.
 * @param page the number of lines in the window.
 * @returns null if the key does not move, as with Alt, Ctrl or Meta, or if it leads to no other line.
 */
export function lineAfterKey(
  { key, altKey, ctrlKey, metaKey }: Pick<KeyboardEvent, 'key' | 'altKey' | 'ctrlKey' | 'metaKey'>,
  { line, count, page }: { readonly line: number; readonly count: number; readonly page: number },
): number | null {
  if (altKey || ctrlKey || metaKey) return null;
  const last = count - 1;
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: line + 1,
    ArrowUp: line - 1,
    PageDown: Math.min(line + page, last),
    PageUp: Math.max(line - page, 0),
    Home: 0,
    End: last,
  };
  const target = targets[key] ?? -1;
  return target < 0 || target > last || target === line ? null : target;
}

/**
 * Returns the selection with two rows and all rows between them. If `from` is null or not shown, adds only `to`.
 * @param shown the keys of all rows, in the order of the table.
 */
export function withRange(
  selected: ReadonlySet<string>,
  shown: readonly string[],
  { from, to }: { readonly from: string | null; readonly to: string },
): ReadonlySet<string> {
  const end = shown.indexOf(to);
  const begin = from === null ? -1 : shown.indexOf(from);
  const [low, high] = begin === -1 ? [end, end] : [Math.min(begin, end), Math.max(begin, end)];
  return new Set([...selected, ...shown.slice(low, high + 1)]);
}
