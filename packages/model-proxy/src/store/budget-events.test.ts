import { describe, expect, it } from '@jest/globals';
import { keyOf } from '../../test/store/samples.js';
import { budgetEvents } from './budget-events.js';

const at = (spend: number, resetAt: number | null = null) => ({ spend, resetAt });
const eventsOf = (limits: Parameters<typeof keyOf>[0], before: ReturnType<typeof at>, after: ReturnType<typeof at>) =>
  budgetEvents('d', keyOf(limits), before, after).map(({ message }) => message);

describe('events of a budget', () => {
  it.each([
    [0, 84, []],
    [84, 85, ['Key Budget: 15% Threshold Crossed']],
    [85, 90, []],
    [90, 96, ['Key Budget: 5% Threshold Crossed']],
    [96, 100, ['Key Budget: Budget Crossed']],
    [100, 500, []],
    [0, 500, ['Key Budget: Budget Crossed']],
  ])('between %d and %d of 100 are %j', (before, after, expected) => {
    expect(eventsOf({ maxBudget: 100 }, at(before), at(after))).toEqual(expected);
  });

  it('include the one for the soft budget, also without max_budget', () => {
    expect(eventsOf({ softBudget: 10 }, at(9), at(10))).toEqual(['Soft Budget: Soft Budget Crossed']);
    expect(eventsOf({ softBudget: 10, maxBudget: 11 }, at(0), at(11))).toEqual([
      'Key Budget: Budget Crossed',
      'Soft Budget: Soft Budget Crossed',
    ]);
    expect(eventsOf({}, at(0), at(1000))).toEqual([]);
  });

  it('occur again in the next period', () => {
    expect(eventsOf({ maxBudget: 10 }, at(50, 1000), at(50, 2000))).toEqual(['Key Budget: Budget Crossed']);
    expect(eventsOf({ maxBudget: 10 }, at(50, 1000), at(60, 1000))).toEqual([]);
    // A key has no period before its first request, so this request does not begin the next period.
    expect(eventsOf({ maxBudget: 10 }, at(50), at(60, 1000))).toEqual([]);
  });

  it('do not exist for a budget of 0, which rejects all requests', () => {
    expect(eventsOf({ maxBudget: 0 }, at(0), at(0))).toEqual([]);
  });
});
