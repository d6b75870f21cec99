/** Limits how many asynchronous operations run at once. */

/**
 * Calls `work` for each item, in order, with at most `limit` calls at a time. Takes the next item from the
 * iterator only when a call has ended.
 * @throws what the first failing call throws. The other calls continue with the remaining items, but each failure
 *   lowers the limit by one. After `limit` failures, no further call starts.
 */
export async function forEachInParallel<Item>(
  items: Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const remaining = items[Symbol.iterator]();
  const workOnNext = async (): Promise<void> => {
    for (let next = remaining.next(); next.done !== true; next = remaining.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: limit }, workOnNext));
}
