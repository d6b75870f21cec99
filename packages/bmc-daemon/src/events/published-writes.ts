/** What clients change, as events: whatever the pipeline carries out, for all resources at once. */
import { resourceEventRegistry } from '../redfish/resource-event-registry.js';
import { systemOf, type Actor, type EventBus } from './event-bus.js';

/** One write that was carried out. */
export interface Write {
  readonly kind: 'created' | 'changed' | 'removed';
  /** Canonical URI of the resource. */
  readonly uri: string;
  readonly requester: Actor;
  /** What was done, for people, without secrets: the properties' names, or the action's and its summary. */
  readonly detail?: string;
}

const keys = {
  created: 'ResourceCreated',
  changed: 'ResourceChanged',
  removed: 'ResourceRemoved',
} as const satisfies Readonly<Record<Write['kind'], string>>;

/** @returns the pipeline's listener. */
export function publishWrites(events: Pick<EventBus, 'publish'>): (write: Write) => void {
  return ({ kind, uri, requester: { user, address }, detail }) => {
    events.publish({
      messageId: `${resourceEventRegistry}.${keys[kind]}`,
      messageArgs: [],
      severity: 'OK',
      origin: uri,
      system: systemOf(uri),
      actor: { user, address },
      time: new Date(),
      ...(detail === undefined ? {} : { detail }),
    });
  };
}
