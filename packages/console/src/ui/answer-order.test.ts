import { describe, expect, it } from '@jest/globals';
import { AnswerOrder } from './answer-order.js';

describe('the order of answers', () => {
  it('accepts each answer that arrives in the order of the requests', () => {
    const order = new AnswerOrder();
    const [first, second] = [order.begin(), order.begin()];
    expect([first(), second()]).toEqual([true, true]);
  });

  it('rejects an answer after the answer to a later request', () => {
    const order = new AnswerOrder();
    const [first, second] = [order.begin(), order.begin()];
    expect([second(), first()]).toEqual([true, false]);
  });

  it('rejects answers to requests before `forget`', () => {
    const order = new AnswerOrder();
    const first = order.begin();
    order.forget();
    const second = order.begin();
    expect([first(), second()]).toEqual([false, true]);
  });
});
