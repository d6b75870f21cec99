/** Restricts lists to the items of one machine. */

/**
 * Returns a filter that returns the same array for the same list: callers compare arrays by
 * identity to see that nothing changed.
 */
export function filtered<Item>(isShown: (item: Item) => boolean): (list: readonly Item[]) => readonly Item[] {
  let lastList: readonly Item[] = [];
  let lastResult: readonly Item[] = [];
  return (list) => {
    if (list !== lastList) [lastList, lastResult] = [list, list.filter(isShown)];
    return lastResult;
  };
}
