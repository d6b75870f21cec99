import { describe, expect, it } from '@jest/globals';
import { keyOf } from '../../test/store/samples.js';
import { LimitShare } from './limit-share.js';

const stored = keyOf({ rpmLimit: 100, tpmLimit: 1000, maxParallelRequests: 10 });
const MINUTE = 1_700_000_060_000;
/** Words of a statement without its digest: the minute, then limit, use, need and wish of each limit. */
const words = (share: LimitShare, waiting = 0) => share.statement('k', waiting).slice(1).map(Number);

/** Makes a share from which requests can begin. */
function granted(now = 0): LimitShare {
  const share = new LimitShare(stored, now);
  share.statement('k', 1);
  share.grant([MINUTE, 60_000, 20, 0, 200, 0, 5, 0], now);
  return share;
}

describe('a share of limits', () => {
  it('is full at the first limit that it reaches, unless the proxy is alone', () => {
    const share = granted();
    for (let n = 0; n < 5; n += 1) {
      expect(share.full(false)).toBeUndefined();
      share.begin();
    }
    expect([share.full(false), share.full(true)]).toEqual(['max_parallel_requests', undefined]);
    for (let n = 0; n < 5; n += 1) share.end(40);
    expect([share.full(false), share.full(true)]).toEqual(['tokens', undefined]);
  });

  it('states its use in the minute of Redis, and wishes for what it used recently', () => {
    const share = granted();
    for (let n = 0; n < 4; n += 1) share.begin();
    share.end(30);
    expect(words(share, 2)).toEqual([MINUTE, 100, 4, 2, 4, 1000, 30, 1, 30, 10, 3, 2, 4]);
  });

  it('keeps only the use since its statement if Redis has begun another minute', () => {
    const share = granted();
    for (let n = 0; n < 3; n += 1) share.begin();
    share.end(50);
    share.statement('k', 0);
    share.end(7);
    share.grant([MINUTE + 60_000, 60_000, 10, 0, 100, 0, 5, 0], 1000);
    expect(share.used).toEqual({ requests: 0, tokens: 7, max_parallel_requests: 1 });
  });

  it('ends with its minute, except for the requests in progress', () => {
    const share = granted();
    share.begin();
    share.begin();
    share.refresh(59_000);
    expect(share.used.requests).toBe(2);
    share.refresh(61_000);
    expect([share.used, share.full(false)]).toEqual([{ requests: 0, tokens: 0, max_parallel_requests: 2 }, 'requests']);
    share.end(9);
    expect(words(share).slice(0, 6)).toEqual([0, 100, 0, 0, 2, 1000]);
  });

  it('does not end while its statement is on its way', () => {
    const share = granted();
    share.begin();
    share.statement('k', 0);
    share.refresh(61_000);
    share.grant([MINUTE + 60_000, 60_000, 10, 0, 100, 0, 5, 0], 61_000);
    expect(share.used).toEqual({ requests: 0, tokens: 0, max_parallel_requests: 1 });
  });

  it('wishes for nothing after a second without use, and is forgotten after its minute', () => {
    const share = granted();
    share.begin();
    share.end(10);
    expect([share.beat(1000), words(share)[4]]).toEqual(['busy', 1]);
    share.grant([MINUTE, 59_000, 2, 0, 20, 0, 1, 0], 1000);
    expect([share.beat(2000), words(share)[4]]).toEqual(['busy', 0]);
    share.grant([MINUTE, 58_000, 1, 0, 10, 0, 0, 0], 2000);
    expect([share.beat(3000), share.beat(61_000)]).toEqual(['quiet', 'idle']);
  });

  it('is urgent with many unused parallel requests, and with more tokens than granted', () => {
    const share = granted();
    for (let n = 0; n < 5; n += 1) share.begin();
    share.statement('k', 0);
    share.grant([MINUTE, 60_000, 20, 0, 200, 0, 6, 0], 0);
    const urgent = [5, 4, 3].map(() => {
      const isUrgent = share.isUrgent;
      share.end(0);
      return isUrgent;
    });
    expect(urgent).toEqual([false, false, true]);
    const tokens = granted();
    for (let n = 0; n < 5; n += 1) tokens.begin();
    tokens.end(200);
    expect(tokens.isUrgent).toBe(false);
    tokens.end(1);
    expect(tokens.isUrgent).toBe(true);
  });
});
