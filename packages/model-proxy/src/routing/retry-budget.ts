/**
 * Limits retries to a share of the traffic. If all upstreams fail, unlimited retries would multiply the
 * load, and so prolong the failure. An attempt at another deployment takes nothing from the budget if the last
 * request of that deployment did not fail.
 */

/** The budget of the process. */
export interface RetryBudget {
  /**
   * Adds the retries that one request allows, or returns a retry whose attempt was refused.
   * @param share for example 0.2: five requests allow one retry. For a returned retry: 1.
   */
  add(share: number): void;
  /** Takes a retry from the budget. @returns false if the budget is empty. */
  take(): boolean;
}

/** Retries per second that are always possible, for services with little traffic. */
const MIN_PER_SECOND = 10;
/** The largest number of retries that the budget can hold. */
const MAX_BALANCE = 100;

/**
 * Creates a full budget.
 * @param now returns the time in milliseconds.
 */
export function createRetryBudget(now: () => number = Date.now): RetryBudget {
  let balance = MAX_BALANCE;
  let filledAt = now();
  return {
    add(share) {
      if (balance < MAX_BALANCE) balance = Math.min(MAX_BALANCE, balance + share);
    },
    take() {
      const time = now();
      balance = Math.min(MAX_BALANCE, balance + (Math.max(0, time - filledAt) / 1000) * MIN_PER_SECOND);
      filledAt = time;
      if (balance < 1) return false;
      balance -= 1;
      return true;
    },
  };
}
