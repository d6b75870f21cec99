/** The settings of `general_settings` about alerts. */
import { texts } from '../setting-types.js';

/** The rows of `generalTable` about alerts. */
export const alertRows = {
  alerting: texts({
    name: 'alerting',
    doc: '`["webhook"]`: [alerts about budgets](../guides/keys.md#alerts) go to the address in the variable `WEBHOOK_URL`. Other receivers are ignored. A change needs a restart.',
  }),
  alertTypes: texts({
    name: 'alert_types',
    default: 'all',
    doc: 'Alerts to send. Only `budget_alerts` exists here.',
  }),
};
