/** Restricts events to one machine, for requests that use the name or address of its manager. */
import { filtered } from '../redfish/filtered-list.js';
import { machineUuidOf } from '../redfish/machine-of.js';
import type { EventLogs, LogRecord } from './event-logs.js';
import type { Subscription } from './subscriptions/subscription.js';
import type { Subscriptions } from './subscriptions/subscriptions.js';

/** Restricts the log of the service to entries about this machine or about no machine. */
export function logsOf(logs: EventLogs, uuid: string): EventLogs {
  const { ofService } = logs;
  const shown = filtered<LogRecord>(({ origin }) => {
    const system = machineUuidOf(origin);
    return system === null || system === uuid;
  });
  return { ...logs, ofService: { ...ofService, read: async () => shown(await ofService.read()) } };
}

/**
 * Restricts subscriptions: a client that subscribes at the name or address of a machine's manager receives
 * events of this machine and of the service. It sees only the subscriptions that were created at this manager.
 */
export function subscriptionsOf(subscriptions: Subscriptions, uuid: string): Subscriptions {
  const isShown = (one: Subscription): boolean => (one.kind === 'push' ? one.record.machine : one.machine) === uuid;
  const shown = filtered<Subscription>(isShown);
  return {
    ...subscriptions,
    get retries() {
      return subscriptions.retries;
    },
    list: () => shown(subscriptions.list()),
    find: (id) => {
      const found = subscriptions.find(id);
      return found === undefined || !isShown(found) ? undefined : found;
    },
    create: (record, requester) => subscriptions.create({ ...record, machine: uuid }, requester),
    openStream: (request) => subscriptions.openStream({ ...request, machine: uuid }),
  };
}
