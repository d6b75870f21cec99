/** Restricts lists to the items of one machine. */

/**
 * Returns a filter that returns the same array for the same list: callers compare arrays by
 * identity to see that nothing changed.
 */
export function filtered<Item>(isShown: (item: Item) => boolean): (list: readonly Item[]) => readonly Item[] {
  let all: readonly Item[] = [];
  let shown: readonly Item[] = [];
  return (list) => {
    if (list !== all) [all, shown] = [list, list.filter(isShown)];
    return shown;
  };
}
