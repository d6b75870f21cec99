import { describe, expect, it } from '@jest/globals';
import { Newest } from './newest.js';

describe('Newest', () => {
  it('accepts answers in the order of their requests', () => {
    const newest = new Newest();
    const [first, second] = [newest.begin(), newest.begin()];
    expect([first(), second()]).toEqual([true, true]);
  });

  it('ignores an answer after a newer one', () => {
    const newest = new Newest();
    const [first, second] = [newest.begin(), newest.begin()];
    expect([second(), first()]).toEqual([true, false]);
  });

  it('ignores answers for an earlier value', () => {
    const newest = new Newest();
    const first = newest.begin();
    newest.forget();
    const second = newest.begin();
    expect([first(), second()]).toEqual([false, true]);
  });
});
