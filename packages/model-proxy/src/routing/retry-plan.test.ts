import { describe, expect, it } from '@jest/globals';
import { createRetryBudget } from './retry-budget.js';
import { nextAttempt, retryAfterOf, waitMs } from './retry-plan.js';

describe('the wait before a retry', () => {
  const wait = (retries: number, afterMs: number | null = null, random = 0.999_999) =>
    Math.round(waitMs({ retries, afterMs, minMs: 0, random }) ?? -1);

  it('is random, from its minimum to a limit that doubles to 8 s', () => {
    expect([0, 1, 2, 3, 4, 50].map((retries) => wait(retries))).toEqual([500, 1000, 2000, 4000, 8000, 8000]);
    expect(wait(3, null, 0)).toBe(0);
    expect(waitMs({ retries: 0, afterMs: null, minMs: 700, random: 0 })).toBe(700);
  });

  it("is the upstream's Retry-After, with a tenth more at most; there is no retry after more than a minute", () => {
    expect([wait(0, 2000, 0), wait(0, 2000), wait(0, 60_000, 0), wait(0, 60_001), wait(0, 1e12)]).toEqual([
      ...[2000, 2200, 60_000, -1, -1],
    ]);
  });

  it('is read from retry-after-ms or Retry-After', () => {
    expect(retryAfterOf({ 'retry-after-ms': '20.5', 'retry-after': '9' }, 0)).toBe(20.5);
    expect(retryAfterOf({ 'retry-after-ms': '-3', 'retry-after': '9' }, 0)).toBe(9000);
    expect(retryAfterOf({}, 0)).toBeNull();
  });
});

describe('the next attempt', () => {
  it('is at an untried deployment after num_retries, unless that is 0 or the request may have crashed a server', () => {
    const next = (failure: 'rateLimit' | 'interrupted' | 'badRequest', retries: number, maxRetries = 2) =>
      nextAttempt({ failure, maxRetries, retries });
    expect([next('rateLimit', 1), next('rateLimit', 2), next('rateLimit', 0, 0)]).toEqual(['any', 'untried', 'none']);
    expect([next('interrupted', 1), next('interrupted', 2)]).toEqual(['any', 'none']);
    expect(next('badRequest', 0)).toBe('none');
  });
});

describe('the budget for retries', () => {
  it('grows with requests and with time, up to 100', () => {
    let now = 0;
    const budget = createRetryBudget(() => now);
    const takeAll = () => {
      let taken = 0;
      while (budget.take()) taken += 1;
      return taken;
    };
    expect(takeAll()).toBe(100);
    for (let request = 0; request < 51; request += 1) budget.add(0.2);
    expect(takeAll()).toBe(10);
    now += 1000;
    expect(takeAll()).toBe(10);
    now += 3_600_000;
    expect(takeAll()).toBe(100);
    // The clock of the host goes back, which must not add retries.
    now -= 3_600_000;
    expect(takeAll()).toBe(0);
  });
});
