import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ConsolePace } from './console-attempts.js';

let pace: ConsolePace;
beforeEach(() => {
  jest.useFakeTimers();
  pace = new ConsolePace(1000);
});
afterEach(() => {
  jest.useRealTimers();
});

/** Reports to the pace a stream that ends after this time, with output if `hasOutput` is true. */
function stream(milliseconds: number, { hasOutput = false } = {}): void {
  pace.onOpened();
  if (hasOutput) pace.onOutput();
  jest.advanceTimersByTime(milliseconds);
  pace.onEnded();
}

it('ConsolePace lengthens the pause after each failed attempt, up to a limit, until the console opens', () => {
  expect([1, 2, 3, 4, 5, 6].map(() => pace.onFailed())).toEqual([1000, 2000, 3000, 4000, 5000, 5000]);
  expect(pace.isFirst).toBe(false);
  pace.onOpened();
  expect([pace.isFirst, pace.onFailed()]).toEqual([true, 1000]);
});

it('ConsolePace lengthens the pause after each stream that ends at once and without output, up to a limit', () => {
  const pauses: number[] = [];
  for (let count = 0; count < 8; count += 1) {
    stream(10);
    pauses.push(pace.restMs);
  }
  expect(pauses).toEqual([100, 1000, 2000, 3000, 4000, 5000, 5000, 5000]);
});

it.each<[string, () => void]>([
  ['a stream had output', () => stream(10, { hasOutput: true })],
  ['a stream lasted 10 s', () => stream(10_000)],
  ['the machine has started', () => pace.reset()],
])('ConsolePace pauses only for a short time again after %s', (_, use) => {
  stream(10);
  stream(10);
  expect([pace.isUnusable, pace.restMs]).toEqual([true, 1000]);
  use();
  expect([pace.isUnusable, pace.restMs]).toEqual([false, 100]);
});
