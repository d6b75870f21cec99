/**
 * Reads which address gets alerts about budgets: LiteLLM's `alerting: ["webhook"]`.
 * @see https://docs.litellm.ai/docs/proxy/alerting
 */
import type { Environment, WebhookSettings } from '../../settings.js';
import { ENVIRONMENT, type Block, type Findings } from '../faults.js';
import type { IgnoredSettings } from '../names/unknown-keys.js';
import type { generalTable } from '../settings.js';
import { normalUrl, URL_FORM } from '../setting-types.js';
import { webhookOf } from './webhook-settings.js';

/** Input of {@link readAlerts}. */
interface AlertInput {
  readonly general: Block<typeof generalTable>;
  readonly variables: Environment;
  readonly findings: Findings;
  readonly ignoredSettings: IgnoredSettings;
}

/** Reads the receiver. @returns null: alerts are not configured, or a fault was added. */
export function readAlerts({ general, variables, findings, ignoredSettings }: AlertInput): WebhookSettings | null {
  const { alerting = [], alertTypes } = general.values;
  const place = general.places.get('alerting');
  if (place !== undefined && alerting.some((receiver) => receiver !== 'webhook'))
    ignoredSettings.add(place.node, place.path);
  if (!alerting.includes('webhook') || (alertTypes !== undefined && !alertTypes.includes('budget_alerts'))) return null;
  const text = variables['WEBHOOK_URL'] ?? '';
  const url = normalUrl(text);
  if (url === undefined) {
    const what = text === '' ? 'alerting: ["webhook"] needs WEBHOOK_URL: set it' : `WEBHOOK_URL must be ${URL_FORM}`;
    findings.faultAt(ENVIRONMENT, `environment: ${what}`);
    return null;
  }
  const webhook = webhookOf('alerting', new Set(), { url, headers: {} }, undefined);
  // An alert does not wait for other alerts.
  return { ...webhook, format: 'single', batchSize: 1, flushMs: 0 };
}
