/** Filters lists, and returns the same array for the same list. */

/**
 * Returns a filter. As long as the filter receives the same list, it returns the same array, because
 * callers compare arrays by identity to see whether anything has changed.
 */
export function filtered<Item>(isShown: (item: Item) => boolean): (list: readonly Item[]) => readonly Item[] {
  let lastList: readonly Item[] = [];
  let lastResult: readonly Item[] = [];
  return (list) => {
    if (list !== lastList) [lastList, lastResult] = [list, list.filter(isShown)];
    return lastResult;
  };
}
