import { describe, expect, it } from '@jest/globals';
import { Pace } from './pace.js';

function spin(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

describe('the pace of long answers', () => {
  it('lets other work of the event loop come between the steps of two answers', async () => {
    const pace = new Pace();
    let others = 0;
    const other = setInterval(() => (others += 1), 1);
    const answer = async (): Promise<number> => {
      let steps = 0;
      // Without the pace the loop of promises would leave no room for the timer, and go on to its end.
      for (; others < 3 && steps < 5000; steps += 1) {
        spin(1);
        await pace.step();
      }
      return steps;
    };
    const steps = await Promise.all([answer(), answer()]);
    clearInterval(other);
    for (const count of steps) expect(count).toBeLessThan(5000);
  });

  it('does not wait while a turn has time left', async () => {
    const pace = new Pace();
    let turns = 0;
    const turn = setImmediate(() => (turns += 1));
    for (let step = 0; step < 5; step += 1) await pace.step();
    expect(turns).toBe(0);
    clearImmediate(turn);
  });
});
