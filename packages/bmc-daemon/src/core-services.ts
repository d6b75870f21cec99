/** Creates the services of the daemon itself. Features add theirs. */
import { setImmediate } from 'node:timers/promises';
import type { Log } from '@rackless/daemon/log/log.js';
import { coalesce } from '@rackless/daemon/process/signals.js';
import { listEffectiveSettings } from './config/effective.js';
import type { SettingKey, Settings } from './config/settings.js';
import type { HypervisorDriver } from './drivers/driver.js';
import { createSharedTasks } from './redfish/tasks/shared-tasks.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { createTaskStore } from './redfish/tasks/task-store.js';
import { openIndicatorStore } from './resources/chassis/indicator-store.js';
import type { ManagementController } from './resources/managers/management-controller.js';
import type { Offers, Services } from './resources/services.js';

/** Maximum number of tasks, apart from running tasks and those that ended recently. */
const MAX_TASKS = 100;
/** Minimum pause between two reloads that resets of managers cause. */
const RELOAD_PAUSE_MS = 500;

/** The data and actions of management controllers. */
interface ControllerState {
  readonly addresses: readonly string[];
  readonly lastReset: Date;
  readonly reload: () => void;
}

interface CoreServicesOptions {
  /** The active settings; a reload changes this object. */
  readonly settings: Settings;
  /** The source of each setting; a reload changes this object. */
  readonly origins: Readonly<Record<SettingKey, string>>;
  readonly stateDir: string;
  readonly serviceUuid: string;
  readonly store: SharedStore | null;
  readonly driver: HypervisorDriver;
  /** The daemon changes this object when it listens, and at a reload. */
  readonly controller: ControllerState;
  readonly log: Log;
}

/**
 * Creates the services.
 * @throws {StateFileError} if a file in the state folder is unusable.
 */
export function createCoreServices(options: CoreServicesOptions): Omit<Services, keyof Offers> {
  const { settings, origins, stateDir, serviceUuid, store, driver, log } = options;
  const now = () => new Date();
  const tasks = createTaskStore({ limit: MAX_TASKS, now });
  return {
    driver,
    controller: createController(options.controller),
    serviceUuid,
    now,
    log,
    operations: {
      tasks: store === null ? tasks : createSharedTasks(tasks, store, log),
      get waitMs() {
        return settings.taskAfterSeconds * 1000;
      },
      onTaskFailed: (failure, name) => log.warn(`task failed: ${name}`, { error: failure }),
    },
    indicators: openIndicatorStore(stateDir, log),
    settings,
    effectiveSettings: () => listEffectiveSettings({ settings, origins }),
  };
}

function createController(state: ControllerState): ManagementController {
  // A client may reset the managers of all machines at once. This causes one or two reloads.
  const reset = coalesce(async () => {
    // Waits a turn of the event loop, so that the client gets its answer before the reload.
    await setImmediate();
    state.reload();
  }, RELOAD_PAUSE_MS);
  return {
    get addresses() {
      return state.addresses;
    },
    get lastReset() {
      return state.lastReset;
    },
    reset,
  };
}
