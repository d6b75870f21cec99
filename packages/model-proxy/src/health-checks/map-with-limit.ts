/** Runs an asynchronous function for many items, with a limit of concurrent calls. */

/**
 * Calls a function for each item.
 * @param limit maximum number of calls at the same time.
 * @returns the results in the order of the items. The promise rejects with the first error of a call. The calls for
 *   the other items continue, but each error lowers the limit by one. After `limit` errors, no further call starts.
 */
export async function mapWithLimit<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const entries = items.entries();
  const lane = async (): Promise<void> => {
    // All lanes share the iterator, so each item goes to only one of them.
    for (const [index, item] of entries) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  return results;
}
