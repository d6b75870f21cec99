import { describe, expect, it } from '@jest/globals';
import { whileRedisAnswers } from './answering-redis.js';

describe('whileRedisAnswers', () => {
  it('ends all proxies if one of them applied limits without Redis, and then measures new ones', async () => {
    const events: string[] = [];
    let rounds = 0;
    const result = await whileRedisAnswers(
      () => {
        rounds += 1;
        const round = rounds;
        events.push(`start ${round}`);
        const output = round === 1 ? 'limits of keys apply to each process alone: …' : '';
        const dispose = (proxy: number) => () => Promise.resolve(void events.push(`end ${round}.${proxy}`));
        return Promise.resolve([
          { process: { output, dispose: dispose(1) } },
          { process: { output: '', dispose: dispose(2) } },
        ]);
      },
      () => Promise.resolve(rounds),
    );
    expect([result, events]).toEqual([2, ['start 1', 'end 1.1', 'end 1.2', 'start 2']]);
  });
});
