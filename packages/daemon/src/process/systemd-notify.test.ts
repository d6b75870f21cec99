import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { startWatchdog } from './systemd-notify.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** Starts the watchdog of process 42, and returns all assignments that it sends within this time. */
function reportsWithin(milliseconds: number, environment: Readonly<Record<string, string>>): readonly string[] {
  const reports: string[] = [];
  const notify = (...assignments: readonly string[]) => {
    reports.push(...assignments);
    return Promise.resolve();
  };
  startWatchdog({ environment, notify, pid: 42 });
  jest.advanceTimersByTime(milliseconds);
  return reports;
}

describe('the watchdog', () => {
  it("notifies systemd three times in the unit's WatchdogSec", () => {
    expect(reportsWithin(60_000, { WATCHDOG_USEC: '60000000', WATCHDOG_PID: '42' })).toEqual(
      Array.from({ length: 3 }, () => 'WATCHDOG=1'),
    );
  });

  it.each([
    ['a unit without a watchdog', {}],
    ['another process', { WATCHDOG_USEC: '60000000', WATCHDOG_PID: '7' }],
    ['a period of zero', { WATCHDOG_USEC: '0' }],
    ['a period that is not a number', { WATCHDOG_USEC: 'soon' }],
  ])('is off for %s', (_, environment) => {
    expect(reportsWithin(60_000, environment)).toEqual([]);
  });
});
