import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createTestLog } from '../../../../../daemon/test/support/log.js';
import { SweepSchedule, type SweepResult } from './sweep-schedule.js';

const complete: SweepResult = { isDisturbed: false, leasedForMs: undefined };
const MINUTE = 60_000;
let lines: string[];
let schedule: SweepSchedule;
/** The times of the sweeps so far, in seconds since the beginning of the test. */
let begun: number[];
let sweep: () => Promise<SweepResult>;

beforeEach(() => {
  lines = [];
  begun = [];
  const log = createTestLog({ level: 'warn', format: 'text', write: (text) => lines.push(text) });
  // The fake clock begins after the creation of the log, because the log needs the real clock to load its modules.
  jest.useFakeTimers();
  const start = performance.now();
  sweep = () => Promise.resolve(complete);
  schedule = new SweepSchedule(() => {
    begun.push(Math.round((performance.now() - start) / 1000));
    return sweep();
  }, log);
});
afterEach(() => {
  schedule.close();
  jest.useRealTimers();
});

/** Returns a sweep that the test ends. */
function heldSweep(): { readonly end: () => void; readonly sweep: () => Promise<SweepResult> } {
  let end = (): void => undefined;
  const ended = new Promise<SweepResult>((resolve) => {
    end = () => resolve(complete);
  });
  return { end, sweep: () => ended };
}

it('a schedule begins one more sweep for all callers that call during a sweep', async () => {
  const first = heldSweep();
  sweep = first.sweep;
  const before = schedule.run();
  const second = heldSweep();
  sweep = second.sweep;
  const ends: string[] = [];
  const later = [1, 2, 3].map(() => schedule.run().then(() => ends.push('later')));
  first.end();
  await before;
  await Promise.resolve();
  expect([begun.length, ends]).toEqual([2, []]);
  second.end();
  await Promise.all(later);
  expect([begun.length, ends]).toEqual([2, ['later', 'later', 'later']]);
  await schedule.run();
  expect(begun).toHaveLength(3);
});

it('a schedule repeats a failed sweep with growing pauses until it succeeds, and logs the failure once', async () => {
  sweep = () => Promise.reject(new Error('Glance is down'));
  await schedule.run();
  await jest.advanceTimersByTimeAsync(60 * MINUTE);
  expect(begun).toEqual([0, 30, 90, 210, 450, 930, 1530, 2130, 2730, 3330]);
  expect(lines.join('').match(/deleting unused images of the cloud failed/g)).toHaveLength(1);
  sweep = () => Promise.resolve(complete);
  await jest.advanceTimersByTimeAsync(60 * MINUTE);
  expect(begun.slice(10)).toEqual([3930, 4530, 5130, 5730, 6330, 6930]);
  sweep = () => Promise.reject(new Error('Glance is down again'));
  await schedule.run();
  await jest.advanceTimersByTimeAsync(MINUTE);
  expect(begun.slice(16)).toEqual([7200, 7230]);
});

it('a schedule repeats a sweep that another daemon disturbs, with growing pauses', async () => {
  sweep = () => Promise.resolve({ ...complete, isDisturbed: true });
  await schedule.run();
  await jest.advanceTimersByTimeAsync(60 * MINUTE);
  expect(begun).toEqual([0, 1, 5, 21, 85, 341, 941, 1541, 2141, 2741, 3341]);
});

it('a schedule sweeps every ten minutes, so that it finds the images of a daemon that never returns', async () => {
  await schedule.run();
  await jest.advanceTimersByTimeAsync(15 * MINUTE);
  // Another daemon was killed after the second sweep. The third sweep sees the mark of this daemon.
  sweep = () => Promise.resolve({ ...complete, leasedForMs: 4 * MINUTE });
  await jest.advanceTimersByTimeAsync(6 * MINUTE);
  sweep = () => Promise.resolve(complete);
  await jest.advanceTimersByTimeAsync(15 * MINUTE);
  expect(begun).toEqual([0, 600, 1200, 1441, 2041]);
});

it('a schedule sweeps when the first mark has expired; an earlier sweep replaces the planned ones', async () => {
  sweep = () => Promise.resolve({ ...complete, leasedForMs: 5 * MINUTE });
  await schedule.run();
  sweep = () => Promise.resolve(complete);
  await jest.advanceTimersByTimeAsync(9 * MINUTE);
  expect(begun).toEqual([0, 301]);
  schedule.soon();
  schedule.soon();
  await schedule.run();
  await jest.advanceTimersByTimeAsync(9 * MINUTE);
  expect(begun).toEqual([0, 301, 540]);
});

it('a schedule begins no sweep after it is closed', async () => {
  sweep = () => Promise.reject(new Error('no'));
  await schedule.run();
  schedule.close();
  await schedule.run();
  await jest.advanceTimersByTimeAsync(60 * MINUTE);
  expect(begun).toEqual([0]);
});
