import { describe, expect, it } from '@jest/globals';
import { keyOf } from '../../test/store/samples.js';
import { LimitShare } from './limit-share.js';

const stored = keyOf({ rpmLimit: 100, tpmLimit: 1000, maxParallelRequests: 10 });
/** The end of a minute by the clock of Redis, in ms. It identifies this minute in reports and grants. */
const MINUTE = 1_700_000_060_000;
/**
 * Makes a report and returns its numbers: the minute (0: not known), and for each limit its value, its use, the need,
 * and the wanted reserve.
 */
const reported = (share: LimitShare, waiting = 0) => share.report('k', waiting).slice(1).map(Number);

/** Returns a share with a grant of 20 requests, 200 tokens and 5 parallel requests. */
function granted(now = 0): LimitShare {
  const share = new LimitShare(stored, now);
  share.report('k', 1);
  share.grant([MINUTE, 60_000, 20, 0, 200, 0, 5, 0], now);
  return share;
}

describe('a share of limits', () => {
  it('is used up as soon as its part of one limit is used up, even if the limits of the key are not', () => {
    const share = granted();
    for (let n = 0; n < 5; n += 1) {
      expect(share.usedUp('share')).toBeUndefined();
      share.begin();
    }
    expect([share.usedUp('share'), share.usedUp('key')]).toEqual(['max_parallel_requests', undefined]);
    for (let n = 0; n < 5; n += 1) share.end(40);
    expect([share.usedUp('share'), share.usedUp('key')]).toEqual(['tokens', undefined]);
  });

  it('reports its use in the minute of Redis, and wants as much reserve as its recent use', () => {
    const share = granted();
    for (let n = 0; n < 4; n += 1) share.begin();
    share.end(30);
    expect(reported(share, 2)).toEqual([MINUTE, 100, 4, 2, 4, 1000, 30, 1, 30, 10, 3, 2, 4]);
  });

  it('counts only the use since its report, and requests in progress, if Redis has begun another minute', () => {
    const share = granted();
    for (let n = 0; n < 3; n += 1) share.begin();
    share.end(50);
    share.report('k', 0);
    share.end(7);
    share.grant([MINUTE + 60_000, 60_000, 10, 0, 100, 0, 5, 0], 1000);
    expect(share.used).toEqual({ requests: 0, tokens: 7, max_parallel_requests: 1 });
  });

  it('is used by tokens of a request that has not ended', () => {
    const share = granted();
    share.begin();
    share.use(150);
    share.use(50);
    expect([share.used, share.usedUp('share')]).toEqual([
      { requests: 1, tokens: 200, max_parallel_requests: 1 },
      'tokens',
    ]);
  });

  it('begins each minute without use, except for the requests in progress', () => {
    const share = granted();
    share.begin();
    share.begin();
    share.refresh(59_000);
    expect(share.used.requests).toBe(2);
    share.refresh(61_000);
    expect([share.used, share.usedUp('share')]).toEqual([
      { requests: 0, tokens: 0, max_parallel_requests: 2 },
      'requests',
    ]);
    share.end(9);
    expect(reported(share).slice(0, 6)).toEqual([0, 100, 0, 0, 2, 1000]);
  });

  it('does not begin a new minute before its report has an answer', () => {
    const share = granted();
    share.begin();
    share.report('k', 0);
    share.refresh(61_000);
    expect(share.used.requests).toBe(1);
    share.grant([MINUTE + 60_000, 60_000, 10, 0, 100, 0, 5, 0], 61_000);
    expect(share.used).toEqual({ requests: 0, tokens: 0, max_parallel_requests: 1 });
  });

  it('wants no reserve after a heartbeat without use, and can be forgotten after its minute', () => {
    const share = granted();
    share.begin();
    share.end(10);
    expect([share.heartbeat(1000), reported(share)[4]]).toEqual(['report', 1]);
    share.grant([MINUTE, 59_000, 2, 0, 20, 0, 1, 0], 1000);
    expect([share.heartbeat(2000), reported(share)[4]]).toEqual(['report', 0]);
    share.grant([MINUTE, 58_000, 1, 0, 10, 0, 0, 0], 2000);
    expect([share.heartbeat(3000), share.heartbeat(61_000)]).toEqual(['keep', 'forget']);
  });

  it('must be reported if many parallel requests are unused, or more tokens are used than granted', () => {
    const share = granted();
    for (let n = 0; n < 5; n += 1) share.begin();
    share.report('k', 0);
    // The reserve is 1: 6 parallel requests are granted, 5 are in progress. More than twice the reserve is "many".
    share.grant([MINUTE, 60_000, 20, 0, 200, 0, 6, 0], 0);
    const atParallel = [5, 4, 3].map(() => {
      const { mustReport } = share;
      share.end(0);
      return mustReport;
    });
    expect(atParallel).toEqual([false, false, true]);
    const tokens = granted();
    for (let n = 0; n < 5; n += 1) tokens.begin();
    tokens.end(200);
    expect(tokens.mustReport).toBe(false);
    tokens.end(1);
    expect(tokens.mustReport).toBe(true);
  });
});
