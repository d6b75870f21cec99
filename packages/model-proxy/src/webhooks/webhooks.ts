/** Sends reports about requests to the addresses of the configuration. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { RequestReports } from '../request-report.js';
import type { WebhookSettings } from '../settings.js';
import { Webhook } from './webhook.js';

/** Opens all webhooks. */
export function openWebhooks(settings: readonly WebhookSettings[], log: Pick<Log, 'warn'>): RequestReports {
  const webhooks = settings.map((one) => new Webhook(one, log));
  return {
    add(outcome, payload) {
      let made: object | undefined;
      for (const webhook of webhooks) if (webhook.wants(outcome)) webhook.add((made ??= payload()));
    },
    async close() {
      await Promise.all(webhooks.map((webhook) => webhook.close()));
    },
  };
}
