/** Publishes the changes of hosts that a driver reports. */
import type { HostChange, HostChangeListener } from '../../drivers/hosts-control.js';
import { resourceEventRegistry, resourceEventTable } from '../../redfish/messages/resource-event-registry.js';
import type { EventBus } from '../event-bus.js';

const messageKeys = {
  lost: 'ResourceStatusChangedCritical',
  back: 'ResourceStatusChangedOK',
  added: 'ResourceCreated',
  removed: 'ResourceRemoved',
} as const satisfies Readonly<Record<HostChange['kind'], keyof typeof resourceEventTable>>;

/**
 * Returns the listener of the driver's hosts. Each change of a host is one event of its chassis. Events of all
 * its machines would hide the loss of a host.
 */
export function publishHostChanges(events: Pick<EventBus, 'publish'>): HostChangeListener {
  return ({ kind, name, reason }) => {
    const key = messageKeys[kind];
    const { severity } = resourceEventTable[key];
    const hasHealth = kind === 'lost' || kind === 'back';
    events.publish({
      messageId: `${resourceEventRegistry}.${key}`,
      messageArgs: hasHealth ? [name, severity] : [],
      severity,
      origin: `/redfish/v1/Chassis/${name}`,
      system: null,
      actor: null,
      time: new Date(),
      ...(reason === undefined ? {} : { detail: `The host does not answer: ${reason}.` }),
    });
  };
}
