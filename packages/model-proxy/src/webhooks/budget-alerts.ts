/**
 * Sends alerts about budgets of keys to the operator's address.
 * @see https://docs.litellm.ai/docs/proxy/alerting
 */
import type { Log } from '@rackless/daemon/log/log.js';
import type { WebhookSettings } from '../settings.js';
import type { BudgetEvent, OnBudgetEvent } from '../store/budget-events.js';
import { Webhook } from './webhook.js';

/** The alerts of a process. The owner closes them. */
export interface BudgetAlerts {
  readonly send: OnBudgetEvent;
  /** Sends the queued alerts, and waits for some seconds at most. */
  close(): Promise<void>;
}

/** Creates the sender of alerts. */
export function openBudgetAlerts(settings: WebhookSettings, log: Pick<Log, 'warn'>): BudgetAlerts {
  const webhook = new Webhook(settings, log);
  return {
    send: (event) => webhook.add(alertOf(event)),
    close: () => webhook.close(),
  };
}

/** Returns an alert in LiteLLM's form. Members for features that this proxy does not have are null. */
function alertOf({ event, message, digest, key, period }: BudgetEvent): object {
  return {
    event,
    event_group: 'key',
    event_message: message,
    token: digest,
    key_alias: key.alias,
    user_id: key.userId,
    team_id: key.teamId,
    user_email: null,
    customer_id: null,
    spend: period.spend,
    max_budget: key.maxBudget,
    soft_budget: key.softBudget,
    projected_exceeded_date: null,
    projected_spend: null,
    budget_reset_at: period.resetAt === null ? null : new Date(period.resetAt).toISOString(),
  };
}
