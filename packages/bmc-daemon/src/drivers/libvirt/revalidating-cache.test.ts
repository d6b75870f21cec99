import { describe, expect, it } from '@jest/globals';
import { RevalidatingCache } from './revalidating-cache.js';

/** Somebody who answers when the test says so. */
class Source {
  asked = 0;
  #end: { resolve: (value: string) => void; reject: (error: Error) => void } | undefined;
  readonly ask = (): Promise<string> => {
    this.asked += 1;
    return new Promise((resolve, reject) => (this.#end = { resolve, reject }));
  };
  async answers(value: string): Promise<void> {
    this.#end?.resolve(value);
    await settled();
  }
  async fails(): Promise<void> {
    this.#end?.reject(new Error('no answer'));
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function kept() {
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

describe('answers that may be slow', () => {
  it('are waited for by who asks first, who shares the question, and kept then (S4)', async () => {
    const { get, source } = kept();
    const both = [get(), get()];
    await source.answers('a');
    expect(await Promise.all([...both, get()])).toEqual(['a', 'a', 'a']);
    expect(source.asked).toBe(1);
  });

  it('are not waited for longer than allowed, and there for the next one (S4)', async () => {
    const { get, source } = kept();
    expect(await get()).toBeUndefined();
    await source.answers('late');
    expect(await get()).toBe('late');
    expect(source.asked).toBe(1);
  });

  it("are asked for again behind the readers' backs when they are old (S4)", async () => {
    const { get, source, clock } = kept();
    const first = get();
    await source.answers('a');
    expect(await first).toBe('a');
    clock.now += 100;
    expect([await get(), await get(), source.asked]).toEqual(['a', 'a', 2]);
    await source.answers('b');
    expect(await get()).toBe('b');
  });

  it('are not shown when nobody has looked for long (S4)', async () => {
    const { get, source, clock } = kept();
    const first = get();
    await source.answers('a');
    await first;
    clock.now += 1_000;
    const second = get();
    await source.answers('b');
    expect(await second).toBe('b');
  });

  it('that fail are asked for less and less often, waited for by nobody, and forgotten (S4)', async () => {
    const { get, source, clock } = kept();
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
        // At once, as the one who does not answer has failed before: nothing here moves the clock of the wait.
        expect(await get()).toBeUndefined();
      }
      pauses.push(clock.now - since);
      await source.fails();
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 1600]);
  });

  it('are forgotten with what they are about (S4)', async () => {
    const { answers, get, source } = kept();
    const first = get();
    await source.answers('a');
    await first;
    answers.retain(() => false);
    const second = get();
    await source.answers('b');
    expect(await second).toBe('b');
  });
});
