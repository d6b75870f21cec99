/** Waits for events, with a time limit and an error text that says what is missing. */
import { setTimeout as delay } from 'node:timers/promises';

/** Longer than any successful wait on a loaded machine. */
const PATIENCE_MS = 120_000;

/**
 * Calls `ask` until it returns a value.
 * @throws {Error} the time is over; with the text of `complaint`.
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
 * Number of equal counts in a row. Between two counts, this process reads and writes on both ends.
 */
const AGREEING_LOOKS = 40;

/**
 * Waits until a count stops to change because of backpressure.
 * @throws {Error} the time is over; with the text of `complaint`.
 */
export async function settled(count: () => number, complaint: () => string): Promise<number> {
  let [before, agreeing] = [0, 0];
  return waitFor(() => {
    const now = count();
    agreeing = now === before && now > 0 ? agreeing + 1 : 0;
    before = now;
    return agreeing >= AGREEING_LOOKS ? now : undefined;
  }, complaint);
}
