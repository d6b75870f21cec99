/** What clients change, as events: whatever the pipeline carries out, for all resources at once. */
import type { Change, ChangeListener } from '../redfish/exchange.js';
import { resourceEventRegistry } from '../redfish/resource-event-registry.js';
import { systemOf, type EventBus } from './event-bus.js';

const keys = {
  created: 'ResourceCreated',
  changed: 'ResourceChanged',
  removed: 'ResourceRemoved',
} as const satisfies Readonly<Record<Change['kind'], string>>;

/** @returns the pipeline's listener. */
export function publishWrites(events: Pick<EventBus, 'publish'>): ChangeListener {
  return ({ kind, uri, requester: { user, address }, detail }) => {
    events.publish({
      messageId: `${resourceEventRegistry}.${keys[kind]}`,
      messageArgs: [],
      severity: 'OK',
      origin: uri,
      system: systemOf(uri),
      actor: { user, address },
      time: new Date(),
      ...(detail === undefined || detail === '' ? {} : { detail: `${detail}.` }),
    });
  };
}
