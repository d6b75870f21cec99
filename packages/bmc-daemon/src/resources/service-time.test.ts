import { describe, expect, it } from '@jest/globals';
import { dateTime, valuesOfTimes } from './service-time.js';

const at = (time: string) => new Date(`2026-11-22T${time}Z`);

describe('valuesOfTimes', () => {
  const pair = valuesOfTimes((now, reset) => ({ now, reset }));

  it('returns the same object until any of the times is in another second', () => {
    const first = pair(at('09:30:00.000'), at('08:00:00'));
    expect(pair(at('09:30:00.999'), at('08:00:00'))).toBe(first);
    expect(pair(at('09:30:01.000'), at('08:00:00'))).toMatchObject({ now: '2026-11-22T09:30:01+00:00' });
    expect(pair(at('09:30:01.500'), at('09:30:01'))).toMatchObject({ reset: '2026-11-22T09:30:01+00:00' });
  });
});

describe('dateTime', () => {
  it('shows seconds and a numeric offset', () => {
    expect(dateTime(at('09:30:00.999'))).toEqual({ DateTime: '2026-11-22T09:30:00+00:00' });
  });
});
