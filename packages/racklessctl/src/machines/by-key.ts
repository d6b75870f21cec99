/** Groups items by keys, for example machines by their names. */

/**
 * Groups items by their keys, in the order of the items. An item can have several keys.
 * @param keysOf returns the keys of an item, each once.
 */
export function groupByKeys<Item>(
  items: readonly Item[],
  keysOf: (item: Item) => Iterable<string>,
): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    for (const key of keysOf(item)) {
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [item]);
      else group.push(item);
    }
  }
  return groups;
}
