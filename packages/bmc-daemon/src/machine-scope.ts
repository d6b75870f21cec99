/**
 * The service as the management controller of one machine: what a request sees that comes by the machine's own name or address.
 * Machines, and what is about them (tasks, events, subscriptions, entries of logs), are that machine's alone; accounts, sessions and
 * settings are the one service's. It is a view and no wall: the same account sees everything by the host's own name.
 */
import type { IncomingMessage } from 'node:http';
import { allowSystems } from './drivers/allowed-systems.js';
import type { EventLog, LogRecord } from './events/event-logs.js';
import { systemOf } from './events/event-bus.js';
import { machinesOf } from './events/task-events.js';
import type { Subscription, Subscriptions } from './events/subscriptions.js';
import type { Scoping } from './redfish/pipeline.js';
import type { TaskRecord, TaskStore } from './redfish/task-store.js';
import type { Services } from './resources/index.js';
import type { Telemetry } from './telemetry/telemetry.js';

/** @param services what a request sees that comes by the host's name. */
export function machineScoping(
  services: Services,
  scopeOf: (request: IncomingMessage) => string | null,
): Scoping<Services> {
  // Small, and at most one for each machine that ever had a name or an address of its own.
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
    // Clients tell services apart by it: each machine's is one.
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

/** Whether a URI is another machine's; what is nobody's is everybody's. */
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

/** The driver knows which machines there are; what is kept for the time that it does not answer knows them all. */
function reportsOf(telemetry: Telemetry, uuid: string): Telemetry {
  return {
    ...telemetry,
    get enabled() {
      return telemetry.enabled;
    },
    kept: (id) => (id === uuid ? telemetry.kept(id) : undefined),
  };
}

/** Whoever subscribes at one machine's controller is told of that machine, and finds there what was subscribed there. */
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

/** The same list again gives the same answer object, which is what says that nothing changed. */
function filtered<Item>(isShown: (item: Item) => boolean): (list: readonly Item[]) => readonly Item[] {
  let all: readonly Item[] = [];
  let shown: readonly Item[] = [];
  return (list) => {
    if (list !== all) [all, shown] = [list, list.filter(isShown)];
    return shown;
  };
}
