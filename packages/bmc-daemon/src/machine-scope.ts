/**
 * Restricts requests that use the name or the address of a machine's manager to this machine, so that the
 * service looks like the machine's own BMC. Only this machine, its tasks and tasks of no machine are visible,
 * and each feature restricts its own data. Accounts, sessions and settings are shared. This is a view, not a
 * security boundary: the same account sees everything in requests that use the name of the host.
 */
import { allowSystems } from './drivers/allowed-systems.js';
import type { AllServices } from './features.js';
import type { OpenedFeatures } from './opened-features.js';
import { filtered } from './redfish/filtered-list.js';
import { machinesOf } from './redfish/machine-of.js';
import type { Scoping } from './redfish/pipeline.js';
import type { TaskRecord } from './redfish/tasks/task-record.js';
import type { TaskStore } from './redfish/tasks/task-store.js';
import type { Offers } from './resources/services.js';

/** Creates the scoping of a service. */
export function machineScoping({
  services,
  forMachine,
}: Pick<OpenedFeatures, 'services' | 'forMachine'>): Scoping<AllServices> {
  // The map is small: at most one entry per machine that ever had its own name or address.
  const known = new Map<string, AllServices>();
  return {
    scopeOf: scopeOf(services),
    servicesOf: (uuid) => {
      const scoped = known.get(uuid) ?? { ...servicesOfMachine(services, uuid), ...forMachine(uuid) };
      known.set(uuid, scoped);
      return scoped;
    },
  };
}

function scopeOf({ managerNetwork }: Offers): Scoping<AllServices>['scopeOf'] {
  return managerNetwork?.scopeOf ?? (() => null);
}

function servicesOfMachine(services: AllServices, uuid: string): AllServices {
  const { driver, operations } = services;
  return {
    ...services,
    // The BMC of a server knows no host of virtual machines, so there are no hosts.
    driver: allowSystems(driver, [uuid], null),
    // Clients distinguish services by the UUID, so each machine has its own.
    serviceUuid: uuid,
    operations: {
      tasks: tasksOf(operations.tasks, uuid),
      get waitMs() {
        return operations.waitMs;
      },
      onTaskFailed: operations.onTaskFailed,
    },
  };
}

/**
 * Returns the tasks of one machine, and those of no machine. Names each method, because `...tasks` omits the methods
 * of a class.
 */
function tasksOf(tasks: TaskStore, uuid: string): TaskStore {
  const isShown = (task: TaskRecord): boolean => machinesOf(task).every((machine) => machine === uuid);
  const shown = filtered<TaskRecord>(isShown);
  return {
    create: (...task) => tasks.create(...task),
    setProgress: (...progress) => tasks.setProgress(...progress),
    complete: (...end) => tasks.complete(...end),
    fail: (...failure) => tasks.fail(...failure),
    cancel: (...request) => tasks.cancel(...request),
    whenEnded: (id) => tasks.whenEnded(id),
    markCancelled: (id) => tasks.markCancelled(id),
    list: () => shown(tasks.list()),
    get: (id) => {
      const found = tasks.get(id);
      return found === undefined || !isShown(found) ? undefined : found;
    },
    remove: (id) => tasks.remove(id),
    whenStored: () => tasks.whenStored(),
    onChange: (listener) => tasks.onChange(listener),
    get keepMinutes() {
      return tasks.keepMinutes;
    },
    setKeepMinutes: (minutes) => tasks.setKeepMinutes(minutes),
  };
}
