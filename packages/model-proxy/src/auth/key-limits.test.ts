import { describe, expect, it } from '@jest/globals';
import { keyOf as sampleKey } from '../../test/store/samples.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { StoredKey } from '../store/keys.js';
import { createKeyLimits } from './key-limits.js';
import { virtualKeyOf } from './virtual-key.js';

const keyOf = (limits: Partial<StoredKey>, digest = 'd') => virtualKeyOf(digest, sampleKey(limits));

/** Creates limits with a clock. `admit` returns the error if the limits refuse a request of the key. */
function limitsAt() {
  const clock = { ms: 1000 };
  const limits = createKeyLimits(() => clock.ms);
  const admit = (key: ReturnType<typeof keyOf>): ProxyError | undefined => {
    let refused: ProxyError | undefined;
    limits.admit(key, (error) => (refused = error));
    return refused;
  };
  return { clock, limits, admit };
}

describe('limits of keys', () => {
  it('begin a minute at the first request, and report the rest of this minute in retry-after', () => {
    const { clock, limits, admit } = limitsAt();
    const key = keyOf({ rpmLimit: 2 });
    expect([admit(key), admit(key)]).toEqual([undefined, undefined]);
    clock.ms += 40_500;
    expect(admit(key)?.headers).toMatchObject({ 'retry-after': '20', rate_limit_type: 'requests' });
    clock.ms += 19_500;
    expect(admit(key)).toBeUndefined();
    expect(limits.remaining(key)).toEqual({ requests: 1, tokens: null });
  });

  it('count tokens at the end of a request, in the minute of that end', () => {
    const { clock, limits, admit } = limitsAt();
    const key = keyOf({ tpmLimit: 100 });
    expect(admit(key)).toBeUndefined();
    clock.ms += 60_000;
    limits.release(key, 100);
    expect(admit(key)?.message).toContain('Limit type: tokens. Current limit: 100');
    expect(limits.remaining(key)).toEqual({ requests: null, tokens: 0 });
    clock.ms += 60_000;
    expect(admit(key)).toBeUndefined();
  });

  it('for one key do not affect another key', () => {
    const { admit } = limitsAt();
    expect([admit(keyOf({ rpmLimit: 1 }, 'a')), admit(keyOf({ rpmLimit: 1 }, 'b'))]).toEqual([undefined, undefined]);
    expect(admit(keyOf({ rpmLimit: 1 }, 'a'))?.status).toBe(429);
  });

  it('with the value 0 accept no request', () => {
    const { admit } = limitsAt();
    for (const limits of [{ rpmLimit: 0 }, { tpmLimit: 0 }, { maxParallelRequests: 0 }])
      expect(admit(keyOf(limits))?.status).toBe(429);
  });

  it('do not count requests that were admitted before the limit was set', () => {
    const { limits, admit } = limitsAt();
    const before = keyOf({});
    const after = keyOf({ maxParallelRequests: 1 });
    expect(admit(before)).toBeUndefined();
    expect(admit(after)).toBeUndefined();
    limits.release(before, 0);
    expect(admit(after)?.status).toBe(429);
    limits.release(after, 0);
    expect(admit(after)).toBeUndefined();
  });

  it('still count a running request after 25,000 other keys were used, each in another minute', () => {
    const { clock, admit, limits } = limitsAt();
    const running = keyOf({ maxParallelRequests: 1 }, 'running');
    admit(running);
    for (let n = 0; n < 25_000; n += 1) {
      admit(keyOf({ rpmLimit: 1 }, `${n}`));
      limits.release(keyOf({ rpmLimit: 1 }, `${n}`), 0);
      clock.ms += 60_000;
    }
    expect(admit(running)?.status).toBe(429);
  });
});
