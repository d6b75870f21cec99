import { describe, expect, it } from '@jest/globals';
import { CONNECTION_LIMITS } from './connection-life.js';
import { ConnectionPool } from './connection-pool.js';

describe('idle connections', () => {
  it('are reused, the most recently used one first, unless an older one ends soon', async () => {
    let now = 0;
    const destination = { hostname: '127.0.0.1', port: 1, tls: null, tunnel: null };
    const pool = new ConnectionPool(destination, () => now);
    const [a, b, c] = [pool.take(), pool.take(), pool.take()];
    for (const link of [a, b, c]) pool.giveBack(link);

    now = 1000;
    const names = new Map([
      [a, 'a'],
      [b, 'b'],
      [c, 'c'],
    ]);
    const taken: (string | undefined)[] = [];
    for (let request = 0; request < 6; request += 1) {
      const link = pool.take();
      taken.push(names.get(link));
      pool.giveBack(link);
      now += 600;
    }
    // First the pool selects c, the last one used. At 2.2 and 2.8 s, it selects a and b, which end soon: they are idle
    // since 0 s. Then it selects b, the last one used, and at 4.0 s c, which is idle since 1.6 s.
    expect(taken).toEqual(['c', 'c', 'a', 'b', 'b', 'c']);
    await pool.retire();
  });

  it('are not reused after their idle time, even if there are 50,000', async () => {
    let now = 0;
    const destination = { hostname: '127.0.0.1', port: 1, tls: null, tunnel: null };
    const pool = new ConnectionPool(destination, () => now);
    const links = Array.from({ length: 50_000 }, () => pool.take());
    for (const link of links) pool.giveBack(link);
    // As after a pause of the whole host: no timer has checked the connections.
    now = 5000;
    const link = pool.take();
    expect(links).not.toContain(link);
    pool.drop(link);
    await pool.retire();
  });
});

describe('a connection', () => {
  const destination = { hostname: '127.0.0.1', port: 1, tls: null, tunnel: null };

  it('is reused until its maximum age, and not longer, even under load', async () => {
    let now = 0;
    const pool = new ConnectionPool(destination, () => now);
    const first = pool.take();
    pool.giveBack(first);
    let link = first;
    while (link === first) {
      now += 1000;
      link = pool.take();
      pool.giveBack(link);
    }
    // The age limit of each connection is random, from 80 to 100 % of the maximum, so that connections do not all end
    // together.
    expect(now).toBeGreaterThanOrEqual(0.8 * CONNECTION_LIMITS.ageMs);
    expect(now).toBeLessThanOrEqual(CONNECTION_LIMITS.ageMs + 1000);
    await pool.retire();
  });
});
