import { describe, expect, it } from '@jest/globals';
import { ShareBook } from './share-book.js';

/**
 * Returns a book that uses the clock. `report` sends the same numbers for the limits of requests and of parallel
 * requests: in use, needed, and wanted as reserve. There is no limit of tokens. `report` returns the end of the
 * minute, the time until then, and for each limit the share of this worker and the sum of the other shares.
 */
function bookAt(clock: { ms: number }) {
  const book = new ShareBook(() => clock.ms);
  const report = (worker: number, limit: number | '', [used, needed, reserve]: readonly number[], minute = '') =>
    book.report(worker, [
      'key',
      minute,
      ...[limit, used, needed, reserve, '', 0, 0, 0, limit, used, needed, reserve].map(String),
    ]);
  return { book, report };
}

describe('the shares of workers', () => {
  it('do not add up to more than the limit, and contain at most an eighth of the rest as reserve', () => {
    const { report } = bookAt({ ms: 1000 });
    expect(report(1, 100, [0, 1, 50])).toEqual([61_000, 60_000, 13, 0, 0, 0, 13, 0]);
    expect(report(2, 100, [0, 1, 50])).toEqual([61_000, 60_000, 11, 13, 0, 0, 11, 13]);
    expect(report(1, 100, [13, 90, 50])).toEqual([61_000, 60_000, 89, 11, 0, 0, 89, 11]);
    expect(report(2, 100, [11, 1, 50])).toEqual([61_000, 60_000, 11, 89, 0, 0, 11, 89]);
  });

  it('have no reserve if less than 8 of the limit is left', () => {
    const { report } = bookAt({ ms: 0 });
    expect(report(1, 7, [0, 1, 50]).slice(2, 4)).toEqual([1, 0]);
  });

  it('end with the minute, except those of parallel requests', () => {
    const clock = { ms: 1000 };
    const { report } = bookAt(clock);
    report(1, 10, [0, 10, 0]);
    clock.ms = 61_000;
    expect(report(2, 10, [0, 10, 0])).toEqual([121_000, 60_000, 10, 0, 0, 0, 0, 10]);
    // This report is about the previous minute, which ended at 61,000 ms.
    expect(report(1, 10, [10, 0, 0], '61000')).toEqual([121_000, 60_000, 0, 10, 0, 0, 10, 0]);
  });

  it('are free after the end of their worker: parallel requests at once, requests in the next minute', () => {
    const clock = { ms: 1000 };
    const { book, report } = bookAt(clock);
    report(1, 10, [0, 10, 0]);
    book.remove(1);
    expect(report(2, 10, [0, 10, 0])).toEqual([61_000, 60_000, 0, 10, 0, 0, 10, 0]);
    clock.ms = 61_000;
    expect(report(2, 10, [0, 10, 0]).slice(2, 4)).toEqual([10, 0]);
  });

  it('are 0 for a limit that the key does not have', () => {
    const { report } = bookAt({ ms: 0 });
    expect(report(1, '', [5, 1, 1])).toEqual([60_000, 60_000, 0, 0, 0, 0, 0, 0]);
  });
});
