/**
 * Fake time for the deadlines of a proxy in this process. The test moves the time, so load cannot
 * end requests early, and tests need not wait.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, jest } from '@jest/globals';

/** A tick of the proxy's clock (src/upstream/deadlines). */
const STEP_MS = 50;

/**
 * Functions that stay real: turns of the event loop for sockets, and the time of day for `waitFor`.
 */
export const REAL_TURNS = ['Date', 'hrtime', 'nextTick', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const;

/** Options of {@link stopTime}. */
export interface StopTimeOptions {
  /** `all` stops all timers. `deadlines` stops `setInterval`, the clock of src/upstream/deadlines, not `setTimeout`. */
  readonly timers: 'all' | 'deadlines';
}

/** Stops the clock for a suite. Call this before the suite starts a proxy. */
export function stopTime({ timers }: StopTimeOptions = { timers: 'deadlines' }): void {
  beforeAll(() => {
    jest.useFakeTimers({
      doNotFake: timers === 'all' ? [...REAL_TURNS] : [...REAL_TURNS, 'setTimeout', 'clearTimeout'],
    });
  });
  afterAll(() => {
    jest.useRealTimers();
  });
}

/** Moves the time. Reads the sockets between ticks, as a process without load does. */
export async function passTime(ms: number): Promise<void> {
  await nextTurn();
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    jest.advanceTimersByTime(STEP_MS);
    await nextTurn();
  }
}

/** Moves the time in a single turn without reading the sockets, as a blocked process does. */
export function holdUp(ms: number): void {
  jest.advanceTimersByTime(ms);
}
