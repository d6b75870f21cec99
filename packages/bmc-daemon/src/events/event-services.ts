/** Opens all services that use the event bus: publishers, logs and subscriptions. */
import path from 'node:path';
import type { Log } from '@rackless/daemon/log/log.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import type { EventBus } from './event-bus.js';
import { createEventFeed, localSource, type EventSource } from './event-feed.js';
import { openEventLogs, type EventLogs } from './event-logs.js';
import { createEventPost } from './subscriptions/event-post.js';
import { publishFailedLogins } from './publishers/failed-logins.js';
import { publishHostChanges } from './publishers/host-events.js';
import { publishMachineChanges } from './publishers/machine-events.js';
import { noSubscriptions, subscriptionsState } from './subscriptions/subscription.js';
import { createSubscriptions, type Subscriptions } from './subscriptions/subscriptions.js';
import { publishTasks } from './publishers/task-events.js';
import type { TaskStore } from '../redfish/tasks/task-store.js';
import { resourceTypesOf, type TypedResources } from './resource-types.js';
import type { NameLookup } from '../host/name-lookup.js';
import { openStateFile } from '../state-file.js';
import type { Logins } from '../offers/logins.js';
import type { ReportSource } from '../offers/report-source.js';
import type { SharedListeners } from './shared/shared-listeners.js';

/** The parts of the event services that all replicas share. */
export interface SharedParts {
  readonly source: EventSource;
  readonly logs: EventLogs;
  readonly listeners: SharedListeners;
  close(): Promise<void>;
}

interface EventServicesOptions {
  readonly bus: EventBus;
  /** The events and logs of all replicas. Default: those of the bus only. */
  readonly shared?: SharedParts | undefined;
  readonly driver: Pick<HypervisorDriver, 'onChange' | 'hosts'>;
  /** Reports rejected logins, which become events; null without accounts. */
  readonly access: Pick<Logins, 'onRefusedLogin'> | null;
  readonly tasks: Pick<TaskStore, 'onChange'>;
  /** The source of metric reports; null without telemetry. */
  readonly reports: ReportSource | null;
  /** The resources of the service. */
  readonly resources: TypedResources;
  readonly stateDir: string;
  /**
   * Distinguishes the files of the subscriptions and logs from those of another service that used the state folder.
   */
  readonly serviceUuid: string;
  /** Resolves the host names of listeners. Default: the host's resolver. */
  readonly lookup?: NameLookup;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
}

interface OpenEventServices {
  readonly subscriptions: Subscriptions;
  readonly logs: EventLogs;
  /** The types of all resources. */
  readonly resourceTypes: readonly string[];
  /**
   * Closes the streams, stops all deliveries, and resolves when the logs are written, or writing
   * has failed.
   */
  close(): Promise<void>;
}

/** Maximum number of events that are stored for a stream that reconnects. */
export const REPLAY_CAPACITY = 1_000;
/** Maximum number of listeners and streams together. */
const MAX_SUBSCRIPTIONS = 200;
/**
 * Maximum number of waiting events of a subscriber: the stored events that a reconnecting stream
 * missed, and as many new ones.
 */
const BACKLOG = 2 * REPLAY_CAPACITY;
/** Maximum number of entries of a log. */
export const LOG_RECORDS = 1_000;
/** Interval of the keep-alive lines of a stream. It is shorter than the idle timeout of most proxies, 60 s. */
const KEEP_ALIVE_MS = 15_000;

/**
 * Opens the services, which listen to the driver, the tasks and the bus.
 * @throws {StateFileError} if the file of the subscriptions cannot be read. A damaged file is renamed.
 */
export function openEventServices(options: EventServicesOptions): OpenEventServices {
  const { bus, shared, driver, access, tasks, reports, resources, stateDir, serviceUuid, log } = options;
  const types = resourceTypesOf(resources);
  const sender = createEventPost(options.lookup);
  const folder = path.join(stateDir, `logs-${serviceUuid}`);
  const logs = shared?.logs ?? openEventLogs({ bus, folder, limit: LOG_RECORDS, log });
  const own = createSubscriptions({
    feed: createEventFeed({ source: shared?.source ?? localSource(bus), typeOf: types.at, capacity: REPLAY_CAPACITY }),
    bus,
    reports,
    state:
      shared?.listeners.state ??
      openStateFile({
        folder: stateDir,
        name: `subscriptions-${serviceUuid}`,
        schema: subscriptionsState,
        initial: noSubscriptions,
        log,
        broken: 'setAside',
      }),
    isShared: shared !== undefined,
    post: shared?.listeners.checked(sender.post) ?? sender.post,
    log,
    limit: MAX_SUBSCRIPTIONS,
    backlog: BACKLOG,
    keepAliveMs: KEEP_ALIVE_MS,
  });
  const subscriptions = shared?.listeners.share(own) ?? own;
  publishTasks(tasks, bus);
  const machines = publishMachineChanges({ events: bus });
  const unsubscribe = [driver.onChange(machines.onChange), driver.hosts?.onChange(publishHostChanges(bus))];
  const failedLogins = publishFailedLogins({ events: bus });
  const unsubscribeLogins = access?.onRefusedLogin(failedLogins.onRefused);
  return {
    subscriptions,
    logs,
    resourceTypes: types.all,
    close: async () => {
      for (const end of unsubscribe) end?.();
      machines.close();
      unsubscribeLogins?.();
      failedLogins.close();
      await shared?.listeners.close();
      subscriptions.close();
      sender.close();
      await shared?.close();
      await logs.close();
    },
  };
}
