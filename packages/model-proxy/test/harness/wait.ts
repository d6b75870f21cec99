/** Waiting for what happens elsewhere: bounded, and with a complaint that says what was missing. */
import { setTimeout as delay } from 'node:timers/promises';

/** Longer than anything healthy takes on a loaded machine. */
const PATIENCE_MS = 120_000;

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

/** Looks that must agree. Between two of them this process, to which both ends belong, reads and writes what it can. */
const AGREEING_LOOKS = 40;

/** Waits until what is counted stays the same because somebody holds it up. @throws {Error} with the complaint. */
export async function settled(count: () => number, complaint: () => string): Promise<number> {
  let [before, agreeing] = [0, 0];
  return waitFor(() => {
    const now = count();
    agreeing = now === before && now > 0 ? agreeing + 1 : 0;
    before = now;
    return agreeing >= AGREEING_LOOKS ? now : undefined;
  }, complaint);
}
