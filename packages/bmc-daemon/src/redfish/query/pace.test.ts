import { describe, expect, it } from '@jest/globals';
import { Pace } from './pace.js';

describe('the pace of long answers', () => {
  it('lets other work of the event loop run between the steps of two answers', async () => {
    let now = 0;
    const pace = new Pace(() => now);
    let turns = 0;
    const countTurns = (): void => {
      turns += 1;
      other = setImmediate(countTurns);
    };
    let other = setImmediate(countTurns);
    const answer = async (): Promise<number> => {
      let steps = 0;
      // Without the pace, all steps would run before any other event, and their number would reach 5,000.
      for (; turns < 3 && steps < 5000; steps += 1) {
        now += 1;
        await pace.step();
      }
      return steps;
    };
    const steps = await Promise.all([answer(), answer()]);
    clearImmediate(other);
    // Both answers share the 10 ms of a turn.
    for (const count of steps) expect(count).toBeLessThan(50);
  });

  it('does not wait while a turn has time left', async () => {
    const pace = new Pace(() => 0);
    let turns = 0;
    const turn = setImmediate(() => (turns += 1));
    for (let step = 0; step < 5; step += 1) await pace.step();
    expect(turns).toBe(0);
    clearImmediate(turn);
  });
});
