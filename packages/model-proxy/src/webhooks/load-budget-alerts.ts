/** Loads the code that sends alerts about budgets, if the configuration has a receiver for them. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { ListenSettings } from '../settings.js';
import type { BudgetAlerts } from './budget-alerts.js';

/** Starts the alerts. @returns null: the configuration has no receiver, or no store with budgets. */
export async function loadBudgetAlerts(
  { budgetAlerts, store }: ListenSettings,
  log: Pick<Log, 'warn'>,
): Promise<BudgetAlerts | null> {
  if (budgetAlerts === null || store === null) return null;
  const { openBudgetAlerts } = await import('./budget-alerts.js');
  return openBudgetAlerts(budgetAlerts, log);
}
