/** Events: publishers, subscriptions, streams and logs. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import type { Feature } from '../feature.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { createEventBus, type EventBus } from './event-bus.js';
import type { EventLogs } from './event-logs.js';
import { LOG_RECORDS, openEventServices, REPLAY_CAPACITY, type SharedParts } from './event-services.js';
import { logsOf, subscriptionsOf } from './machine-view.js';
import { publishWrites } from './publishers/published-writes.js';
import { eventDestinationResources } from './resources/event-destination.js';
import { eventServiceResources, eventStream } from './resources/event-service.js';
import { logServiceResources } from './resources/log-service.js';
import type { EventServices } from './resources/services.js';

/** The feature `events`. Without it, there are no subscriptions and no event logs. */
export const events: Feature<EventServices> = {
  resources: [...eventServiceResources, ...eventDestinationResources, ...logServiceResources],
  streams: [eventStream],
  async open({ nameServers, resources, services, stateDir, store, log }) {
    const { driver, access, operations, telemetry, serviceUuid } = services();
    const bus = createEventBus((error) => log.error('a listener to events failed', { error }));
    const shared = store === null ? undefined : await openShared({ store, bus, log });
    const opened = openEventServices({
      bus,
      shared,
      driver,
      access,
      tasks: operations.tasks,
      reports: telemetry,
      resources,
      stateDir,
      serviceUuid,
      lookup: nameServers.lookup,
      log,
    });
    const { subscriptions, logs, resourceTypes } = opened;
    return {
      services: { events: bus, subscriptions, logs, resourceTypes },
      forMachine: (uuid) => ({ logs: logsOf(logs, uuid), subscriptions: subscriptionsOf(subscriptions, uuid) }),
      onWrite: publishWrites(bus, (id) => access?.sessions.find(id)?.user),
      start: () => void tidyLogs(driver, logs),
      stop: () => subscriptions.closeStreams(),
      close: () => opened.close(),
    };
  },
};

/** Opens the events and logs of all replicas. A daemon without replicas never loads this code. */
async function openShared(options: {
  readonly store: SharedStore;
  readonly bus: EventBus;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
}): Promise<SharedParts> {
  const { openSharedEvents } = await import('./shared/shared-events.js');
  const { createSharedLogs } = await import('./shared/shared-logs.js');
  const { openSharedListeners } = await import('./shared/shared-listeners.js');
  const events = await openSharedEvents({ ...options, capacity: REPLAY_CAPACITY, logLimit: LOG_RECORDS });
  return {
    source: events.source,
    logs: createSharedLogs(options.store, LOG_RECORDS),
    listeners: await openSharedListeners(options.store, options.log),
    close: () => events.close(),
  };
}

/** Removes the logs of machines that were deleted while no daemon ran. Does nothing while the list is incomplete. */
async function tidyLogs(
  driver: Pick<HypervisorDriver, 'listSystems' | 'isListIncomplete'>,
  logs: EventLogs,
): Promise<void> {
  try {
    const uuids = new Set((await driver.listSystems()).map(({ uuid }) => uuid));
    if (driver.isListIncomplete?.() !== true) await logs.retain(uuids);
  } catch {
    // The host does not answer, or a log cannot be removed. The daemon retries at its next start.
  }
}
