import { beforeEach, describe, expect, it } from '@jest/globals';
import { UsageFlusher } from './usage-flusher.js';

const NEVER_MS = 3_600_000;
let logged: string[];
beforeEach(() => {
  logged = [];
});

function flusher(write: () => Promise<void>, closeMs?: number): UsageFlusher {
  const add = (text: string) => void logged.push(text);
  return new UsageFlusher({ write, log: { info: add, error: add }, flushMs: NEVER_MS, closeMs });
}

describe('the last write', () => {
  it('is repeated until it succeeds, within closeMs', async () => {
    let count = 0;
    const write = () => {
      count += 1;
      return count < 3 ? Promise.reject(new Error('Redis restarts')) : Promise.resolve();
    };
    await flusher(write, 60_000).close();
    expect(count).toBe(3);
    expect(logged).toEqual([
      'the usage cannot be stored, and stays in memory: Redis restarts',
      'the usage can be stored again',
    ]);
  });

  it('ends after closeMs, and logs the loss', async () => {
    let fail = (_error: Error): void => undefined;
    const slow = flusher(() => new Promise((_resolve, reject) => (fail = reject)), 300);
    await slow.close();
    expect(logged).toEqual(['the usage that is not stored is lost: the end has waited for 0.3 s']);
    fail(new Error('the connection is closed'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(logged).toHaveLength(1);
    await flusher(() => Promise.reject(new Error('no connection')), 300).close();
    expect(logged.at(-1)).toMatch(/^the usage that is not stored is lost: /);
  });

  it('is not repeated without closeMs', async () => {
    let count = 0;
    await flusher(() => {
      count += 1;
      return Promise.reject(new Error('the disk is full'));
    }).close();
    expect([count, logged.at(-1)]).toEqual([1, 'the usage that is not stored is lost: the disk is full']);
  });
});
