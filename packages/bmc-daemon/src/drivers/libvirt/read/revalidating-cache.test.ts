import { describe, expect, it } from '@jest/globals';
import { RevalidatingCache } from './revalidating-cache.js';

/** The source of the cached values. The test decides when and how it answers. */
class Source {
  asked = 0;
  #end: { resolve: (value: string) => void; reject: (error: Error) => void } | undefined;
  readonly ask = (): Promise<string> => {
    this.asked += 1;
    return new Promise((resolve, reject) => (this.#end = { resolve, reject }));
  };
  async answers(value: string): Promise<void> {
    this.#end?.resolve(value);
    await nextTurn();
  }
  async fails(): Promise<void> {
    this.#end?.reject(new Error('no answer'));
    await nextTurn();
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function openCache() {
  const clock = { now: 1_000_000 };
  const answers = new RevalidatingCache<string>({
    waitMs: 20,
    freshMs: 100,
    staleMs: 1_000,
    retryMs: 100,
    now: () => clock.now,
  });
  const source = new Source();
  return { answers, source, clock, get: () => answers.get('k', source.ask) };
}

describe('slow answers', () => {
  it('delay the first callers, who share one request, and are cached', async () => {
    const { get, source } = openCache();
    const both = [get(), get()];
    await source.answers('a');
    expect(await Promise.all([...both, get()])).toEqual(['a', 'a', 'a']);
    expect(source.asked).toBe(1);
  });

  it('delay a caller only for the allowed time, and are available to the next one', async () => {
    const { get, source } = openCache();
    expect(await get()).toBeUndefined();
    await source.answers('late');
    expect(await get()).toBe('late');
    expect(source.asked).toBe(1);
  });

  it('are refreshed in the background when they are old', async () => {
    const { get, source, clock } = openCache();
    const first = get();
    await source.answers('a');
    expect(await first).toBe('a');
    clock.now += 100;
    expect([await get(), await get(), source.asked]).toEqual(['a', 'a', 2]);
    await source.answers('b');
    expect(await get()).toBe('b');
  });

  it('are dropped when they are older than `staleMs`, so that the next caller waits', async () => {
    const { get, source, clock } = openCache();
    const first = get();
    await source.answers('a');
    await first;
    clock.now += 1_000;
    const second = get();
    await source.answers('b');
    expect(await second).toBe('b');
  });

  it('are retried in the background with back-off after a failure, and the old value is dropped', async () => {
    const { get, source, clock } = openCache();
    const first = get();
    await source.answers('a');
    await first;
    clock.now += 100;
    await get();
    await source.fails();
    expect(await get()).toBeUndefined();
    const pauses: number[] = [];
    for (let failures = 0; failures < 6; failures += 1) {
      const [before, since] = [source.asked, clock.now];
      while (source.asked === before) {
        clock.now += 100;
        // Readers do not wait for a retry, so this returns without a pause.
        expect(await get()).toBeUndefined();
      }
      pauses.push(clock.now - since);
      await source.fails();
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 1600]);
  });

  it('are removed with their keys', async () => {
    const { answers, get, source } = openCache();
    const first = get();
    await source.answers('a');
    await first;
    answers.retain(() => false);
    const second = get();
    await source.answers('b');
    expect(await second).toBe('b');
  });
});
