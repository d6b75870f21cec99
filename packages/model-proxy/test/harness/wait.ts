/** Waiting for what happens elsewhere: bounded, and with a complaint that says what was missing. */
import { setTimeout as delay } from 'node:timers/promises';

/** Longer than anything healthy takes on a loaded machine. */
const PATIENCE_MS = 15_000;

/** Asks again until there is an answer. @throws {Error} with the complaint. */
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
