/** Time limits of a proxy in this process that pass only when a test says so: load ends none early, and no test waits for one. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, jest } from '@jest/globals';

/** A tick of the proxy's clock (src/upstream/time-bounds). */
const STEP_MS = 50;

/** Turns of the event loop, which sockets need, and the time of day, which `waitFor` asks. */
export const REAL_TURNS = ['Date', 'hrtime', 'nextTick', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const;

export interface StopTimeOptions {
  /** Stops every timer, not the clock of the time limits alone. */
  readonly timers: 'all' | 'limits';
}

/** Stops the clock for the suite that calls it, before that suite starts a proxy. */
export function stopTime({ timers }: StopTimeOptions = { timers: 'limits' }): void {
  beforeAll(() => {
    jest.useFakeTimers({
      doNotFake: timers === 'all' ? [...REAL_TURNS] : [...REAL_TURNS, 'setTimeout', 'clearTimeout'],
    });
  });
  afterAll(() => {
    jest.useRealTimers();
  });
}

/** Lets so much time pass. What has come to a socket is read in between, as in a process that nothing holds up. */
export async function passTime(ms: number): Promise<void> {
  await nextTurn();
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    jest.advanceTimersByTime(STEP_MS);
    await nextTurn();
  }
}

/** Lets so much time pass in one turn, as when this process is held up: nothing is read in between. */
export function holdUp(ms: number): void {
  jest.advanceTimersByTime(ms);
}
