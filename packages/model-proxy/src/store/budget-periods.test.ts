import { describe, expect, it } from '@jest/globals';
import { endOfDuration, endOfPeriod, periodAt } from './budget-periods.js';

const at = (text: string) => Date.parse(`${text}Z`);
const shown = (time: number | undefined) =>
  time === undefined ? undefined : new Date(time).toISOString().slice(0, 19);

describe('a duration', () => {
  it.each([
    ['30s', '2026-11-23T16:20:40'],
    ['5m', '2026-11-23T16:25:10'],
    ['24h', '2026-11-24T16:20:10'],
    ['30d', '2026-12-23T16:20:10'],
    ['2w', '2026-12-07T16:20:10'],
    ['3mo', '2027-02-23T16:20:10'],
  ])('lasts %s from 2026-11-23T16:20:10 to %s', (text, end) => {
    expect(shown(endOfDuration(text, at('2026-11-23T16:20:10')))).toBe(end);
  });

  it('ends on the last day of February if it is a month from January 31', () => {
    expect(shown(endOfDuration('1mo', at('2027-01-31T10:00:00')))).toBe('2027-02-28T10:00:00');
  });

  it.each(['', '0d', '-1d', '1', 'd', '1y', '1.5h', ' 1d', '1d ', '9999999999d', '1200000mo', '1D'])(
    'has no end if its text is %j',
    (text) => {
      expect(endOfDuration(text, 0)).toBeUndefined();
      expect(endOfPeriod(text, 0)).toBeUndefined();
    },
  );
});

describe('the period of a budget, as in LiteLLM,', () => {
  it.each([
    ['30s', '2026-11-25T16:20:30'],
    ['5m', '2026-11-25T16:25:00'],
    ['1h', '2026-11-25T17:00:00'],
    ['24h', '2026-11-26T00:00:00'],
    ['1d', '2026-11-26T00:00:00'],
    ['7d', '2026-11-30T00:00:00'],
    ['1w', '2026-11-30T00:00:00'],
    ['10d', '2026-12-03T00:00:00'],
    ['36h', '2026-11-27T00:00:00'],
    ['2w', '2026-12-03T00:00:00'],
    ['30d', '2026-12-01T00:00:00'],
    ['1mo', '2026-12-01T00:00:00'],
    ['2mo', '2027-01-01T00:00:00'],
  ])('with the duration %s, at 2026-11-25T16:20:10, a Wednesday, ends at %s', (text, end) => {
    expect(shown(endOfPeriod(text, at('2026-11-25T16:20:10')))).toBe(end);
  });

  it('ends after seven days if it begins on Monday at midnight, with a duration of 7d', () => {
    expect(shown(endOfPeriod('7d', at('2026-11-30T00:00:00')))).toBe('2026-12-07T00:00:00');
  });
});

describe('the period at a time', () => {
  const now = at('2026-11-25T16:20:10');
  const midnight = at('2026-11-26T00:00:00');

  it('keeps the spend until its end, and begins again with 0', () => {
    const period = periodAt({ spend: 2, resetAt: null }, '1d', now);
    expect(period).toEqual({ spend: 2, resetAt: midnight });
    expect(periodAt(period, '1d', midnight - 1)).toBe(period);
    expect(periodAt(period, '1d', midnight)).toEqual({ spend: 0, resetAt: midnight + 86_400_000 });
  });

  it('is not reset a second time by a clock that goes back', () => {
    const next = periodAt({ spend: 2, resetAt: midnight }, '1d', midnight + 1);
    expect(periodAt({ ...next, spend: 1 }, '1d', midnight - 3_600_000)).toEqual({ spend: 1, resetAt: midnight });
  });

  it('ends at the next regular time if the clock was a year ahead when it began, and keeps the spend', () => {
    const ahead = at('2027-11-25T16:20:10');
    expect(periodAt({ spend: 2, resetAt: ahead }, '1d', now)).toEqual({ spend: 2, resetAt: midnight });
  });

  it('has no end without a duration', () => {
    expect(periodAt({ spend: 2, resetAt: midnight }, null, midnight + 1)).toEqual({ spend: 2, resetAt: null });
  });
});
