/** Finds out when the spend of a key crosses a threshold of its budget. */
import type { Period } from './budget-periods.js';
import type { StoredKey } from './keys.js';

/** A key that has crossed a threshold. */
export interface BudgetEvent {
  /** LiteLLM's name of the event. */
  readonly event: 'budget_crossed' | 'threshold_crossed' | 'soft_budget_crossed';
  /** A text for people. */
  readonly message: string;
  readonly digest: string;
  readonly key: StoredKey;
  readonly period: Period;
}

/** Gets the events of a store. Must not throw, and must not block: requests call it. */
export type OnBudgetEvent = (event: BudgetEvent) => void;

/** Parts of the budget, the largest first, with LiteLLM's texts about what is left. */
const thresholds = [
  { part: 1, event: 'budget_crossed', message: 'Budget Crossed' },
  { part: 0.95, event: 'threshold_crossed', message: '5% Threshold Crossed' },
  { part: 0.85, event: 'threshold_crossed', message: '15% Threshold Crossed' },
] as const;

/**
 * Returns the events for thresholds that the spend of a key crosses: at most one for `maxBudget`, of the largest
 * crossed part, and at most one for `softBudget`. Within a period, a spend shrinks only if an administrator sets it.
 * So without such a change, each threshold is crossed at most once.
 */
export function budgetEvents(digest: string, key: StoredKey, before: Period, after: Period): readonly BudgetEvent[] {
  const { maxBudget, softBudget } = key;
  if (maxBudget === null && softBudget === null) return [];
  const spentBefore = before.resetAt === after.resetAt || before.resetAt === null ? before.spend : 0;
  const isCrossed = (limit: number) => spentBefore < limit && after.spend >= limit;
  const found: BudgetEvent[] = [];
  const crossed = maxBudget === null ? undefined : thresholds.find(({ part }) => isCrossed(part * maxBudget));
  if (crossed !== undefined)
    found.push({ event: crossed.event, message: `Key Budget: ${crossed.message}`, digest, key, period: after });
  if (softBudget !== null && isCrossed(softBudget))
    found.push({
      event: 'soft_budget_crossed',
      message: 'Soft Budget: Soft Budget Crossed',
      digest,
      key,
      period: after,
    });
  return found;
}
