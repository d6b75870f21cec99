/**
 * Restricts requests that come by a machine's own name or address to this machine, so that the
 * service looks like the machine's own BMC. Only this machine, with its tasks, events,
 * subscriptions and log entries, is visible; accounts, sessions and settings are shared. This is a
 * view, not a security boundary: the same account sees everything by the host's name.
 */
import type { IncomingMessage } from 'node:http';
import { allowSystems } from './drivers/allowed-systems.js';
import type { EventLog, LogRecord } from './events/event-logs.js';
import { systemOf } from './events/event-bus.js';
import { machinesOf } from './events/task-events.js';
import type { Subscription, Subscriptions } from './events/subscriptions.js';
import type { Scoping } from './redfish/pipeline.js';
import type { TaskRecord } from './redfish/tasks/task-record.js';
import type { TaskStore } from './redfish/tasks/task-store.js';
import type { Services } from './resources/index.js';
import type { Telemetry } from './telemetry/telemetry.js';

/**
 * Creates the scoping.
 * @param services the services for requests by the host's name.
 */
export function machineScoping(
  services: Services,
  scopeOf: (request: IncomingMessage) => string | null,
): Scoping<Services> {
  // The map is small: at most one entry per machine that ever had its own name or address.
  const known = new Map<string, Services>();
  return {
    scopeOf,
    servicesOf: (uuid) => {
      const scoped = known.get(uuid) ?? servicesOfMachine(services, uuid);
      known.set(uuid, scoped);
      return scoped;
    },
  };
}

function servicesOfMachine(services: Services, uuid: string): Services {
  const { driver, operations, logs, telemetry, managerNetwork, subscriptions } = services;
  return {
    ...services,
    driver: allowSystems(driver, [uuid]),
    // Clients distinguish services by the UUID, so each machine has its own.
    serviceUuid: uuid,
    operations: {
      tasks: tasksOf(operations.tasks, uuid),
      get waitMs() {
        return operations.waitMs;
      },
      onTaskFailed: operations.onTaskFailed,
    },
    logs: { ...logs, ofService: logOf(logs.ofService, uuid) },
    telemetry: telemetry === undefined ? undefined : reportsOf(telemetry, uuid),
    subscriptions: subscriptionsOf(subscriptions, uuid),
    managerNetwork: {
      ...managerNetwork,
      change: (machine, change) => managerNetwork.change(machine, change, { lateRemoval: true }),
    },
  };
}

/** Whether a URI belongs to another machine. URIs without an owner are visible to everyone. */
function isOthers(uri: string, uuid: string): boolean {
  const system = systemOf(uri);
  return system !== null && system !== uuid;
}

function tasksOf(tasks: TaskStore, uuid: string): TaskStore {
  const isShown = (task: TaskRecord): boolean => machinesOf(task).every((machine) => machine === uuid);
  const shown = filtered<TaskRecord>(isShown);
  return {
    ...tasks,
    get keepMinutes() {
      return tasks.keepMinutes;
    },
    list: () => shown(tasks.list()),
    get: (id) => {
      const found = tasks.get(id);
      return found === undefined || !isShown(found) ? undefined : found;
    },
  };
}

function logOf(log: EventLog, uuid: string): EventLog {
  const shown = filtered<LogRecord>(({ origin }) => !isOthers(origin, uuid));
  return { ...log, read: async () => shown(await log.read()) };
}

/**
 * Restricts `kept` to the machine. It returns stored reports of any machine while the driver does
 * not answer; everything else asks the driver, which is restricted already.
 */
function reportsOf(telemetry: Telemetry, uuid: string): Telemetry {
  return {
    ...telemetry,
    get enabled() {
      return telemetry.enabled;
    },
    kept: (id) => (id === uuid ? telemetry.kept(id) : undefined),
  };
}

/**
 * A client that subscribes at a machine's controller receives events of this machine, and sees the
 * subscriptions made there.
 */
function subscriptionsOf(subscriptions: Subscriptions, uuid: string): Subscriptions {
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

/**
 * Returns the same result for the same list, because an identical object means that nothing
 * changed.
 */
function filtered<Item>(isShown: (item: Item) => boolean): (list: readonly Item[]) => readonly Item[] {
  let all: readonly Item[] = [];
  let shown: readonly Item[] = [];
  return (list) => {
    if (list !== all) [all, shown] = [list, list.filter(isShown)];
    return shown;
  };
}
