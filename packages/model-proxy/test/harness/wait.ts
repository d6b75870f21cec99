/** Waits for events, with a time limit and an error text that says what is missing. */
import { setTimeout as delay } from 'node:timers/promises';

/** Longer than any successful wait on a loaded machine. */
const PATIENCE_MS = 120_000;

/**
 * Calls `ask` until it returns a value.
 * @throws {Error} with the text of `complaint` after `patienceMs`. An error of `ask` ends the wait at once.
 */
export async function waitFor<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  complaint: () => string,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const until = Date.now() + patienceMs;
  for (;;) {
    const late = Date.now() > until;
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (late) throw new Error(complaint());
    await delay(5);
  }
}

/**
 * After this number of equal counts in a row, a count is stable. Between two counts, this process reads and writes the
 * sockets of the client and of the upstream.
 */
const EQUAL_COUNTS = 40;

/**
 * Waits until a count is above 0 and no longer changes, for example because of backpressure.
 * @returns the count.
 * @throws {Error} with the text of `complaint` after two minutes.
 */
export async function stableCount(count: () => number, complaint: () => string): Promise<number> {
  let [before, equal] = [0, 0];
  return waitFor(() => {
    const now = count();
    equal = now === before && now > 0 ? equal + 1 : 0;
    before = now;
    return equal >= EQUAL_COUNTS ? now : undefined;
  }, complaint);
}
