/**
 * The interface of task stores, and the store of the tasks of this process. This store is in memory, so a restart
 * forgets its tasks; their effects remain in the machines.
 */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../json.js';
import type { Awaitable } from '../resource.js';
import type { RedfishError } from '../messages/errors.js';
import type { Message } from '../messages/messages.js';
import {
  isRunning,
  TaskRecords,
  type TaskListener,
  type TaskMethod,
  type TaskOwner,
  type TaskRecord,
} from './task-record.js';

/** The values of a new task. */
interface NewTask {
  readonly name: string;
  readonly targetUri: string;
  /** Default: POST. */
  readonly method?: TaskMethod;
  /** @see TaskRecord.machines */
  readonly machines?: readonly string[];
  readonly owner?: TaskOwner | undefined;
  /** Asks the work to stop; absent if the work cannot stop. */
  readonly cancel?: (() => void) | undefined;
}

/**
 * The tasks. Above the maximum number, the store removes the task that ended first. It never removes a running
 * task. It removes a task that ended in the last ten minutes only if there are more than 10,000 finished tasks.
 * A change of an unknown or finished task has no effect.
 */
export interface TaskStore {
  /** Adds a running task. */
  create(task: NewTask): TaskRecord;
  /** Sets the progress in percent. Rounds down, and limits it to 0 to 100. */
  setProgress(id: string, percent: number): void;
  /** Ends a task as Completed, with the messages and the body of its answer. */
  complete(id: string, messages: readonly Message[], response?: JsonObject): void;
  /** Ends a task as Exception, with the messages of the failure. */
  fail(id: string, failure: RedfishError): void;
  /**
   * Asks the work to stop, unless an earlier call did. The work itself reports how it ended.
   * @returns false if the task is unknown or finished, or its work cannot stop.
   * @throws {StoreUnavailable} for a task of another replica: if the store does not answer, or others change the
   *   task all the time.
   */
  cancel(id: string, by: TaskOwner): Awaitable<boolean>;
  /** Resolves when the work has ended, or at once for an unknown or finished task. */
  whenEnded(id: string): Promise<void>;
  /** Ends a task as Cancelled. The caller calls this when the work has stopped. */
  markCancelled(id: string): void;
  /** Lists the tasks, oldest first. Returns the same array until a task changes. */
  list(): readonly TaskRecord[];
  /** Returns a task; undefined if it is unknown or expired. */
  get(id: string): TaskRecord | undefined;
  /**
   * Removes a finished task.
   * @returns false if the task is unknown or still runs, or if another replica has just changed it.
   * @throws {StoreUnavailable} for a task of another replica, if the store does not answer.
   */
  remove(id: string): Awaitable<boolean>;
  /**
   * Resolves when the shared store has the current state of the tasks, or when an attempt to store the
   * state has failed. Resolves at once without a shared store.
   */
  whenStored(): Promise<void>;
  /** Calls the listener for each change of a task of this process. */
  onChange(listener: TaskListener): void;
  /** Time until a finished task is removed, in minutes. Default: a day. */
  readonly keepMinutes: number;
  /** Changes {@link keepMinutes}, also for tasks that have finished already. */
  setKeepMinutes(minutes: number): void;
}

/** The tasks of this process. */
export interface LocalTaskStore extends TaskStore {
  cancel(id: string, by: TaskOwner): boolean;
  remove(id: string): boolean;
  /** Returns whether {@link cancel} can stop the work of a task. */
  canCancel(id: string): boolean;
}

/** Returns the URI of a task. */
export const taskUri = (id: string): string => `/redfish/v1/TaskService/Tasks/${id}`;
/** Returns the URI of a task's monitor. */
export const taskMonitorUri = (id: string): string => `/redfish/v1/TaskService/TaskMonitors/${id}`;

/** Options of a task store. */
interface TaskStoreOptions {
  /** Number of tasks, including running ones, above which the store removes finished tasks. */
  readonly limit: number;
  readonly now: () => Date;
  /** A monotonic clock in milliseconds. Default: performance.now. */
  readonly clock?: () => number;
}

/** Creates an empty store. */
export function createTaskStore({ limit, now, clock = () => performance.now() }: TaskStoreOptions): LocalTaskStore {
  const records = new TaskRecords(limit, clock);
  const cancels = new Map<string, () => void>();
  const endListeners = new Map<string, (() => void)[]>();

  const change = (id: string, changed: Partial<TaskRecord>): void => {
    const record = records.peek(id);
    // Ignores a change after the end of the task, or after a client removed the task.
    if (record === undefined || !isRunning(record)) return;
    const next = { ...record, ...changed };
    if (!isRunning(next)) {
      cancels.delete(id);
      for (const resolve of endListeners.get(id) ?? []) resolve();
      endListeners.delete(id);
    }
    records.put(next);
  };

  return {
    create(task) {
      const record = newRecord(task, now());
      const { cancel } = task;
      if (cancel !== undefined) cancels.set(record.id, cancel);
      records.put(record);
      return record;
    },
    setProgress(id, percent) {
      const whole = Math.min(100, Math.max(0, Math.floor(percent)));
      if (records.peek(id)?.percent !== whole) change(id, { percent: whole });
    },
    complete: (id, messages, response) =>
      change(id, {
        state: 'Completed',
        endTime: now(),
        percent: 100,
        messages,
        ...(response === undefined ? {} : { response }),
      }),
    fail: (id, failure) => change(id, { state: 'Exception', endTime: now(), messages: failure.messages, failure }),
    cancel(id, { user, address }) {
      const cancel = cancels.get(id);
      if (cancel === undefined) return false;
      // Asks the work only once.
      if (records.peek(id)?.state === 'Running') {
        change(id, { state: 'Cancelling', cancelledBy: { user, address } });
        cancel();
      }
      return true;
    },
    whenEnded(id) {
      const record = records.peek(id);
      if (record === undefined || !isRunning(record)) return Promise.resolve();
      return new Promise((resolve) => endListeners.set(id, [...(endListeners.get(id) ?? []), resolve]));
    },
    markCancelled: (id) => change(id, { state: 'Cancelled', endTime: now() }),
    list: () => records.all(),
    get: (id) => records.get(id),
    remove(id) {
      const record = records.peek(id);
      if (record === undefined || isRunning(record)) return false;
      records.remove(id);
      return true;
    },
    whenStored: () => Promise.resolve(),
    canCancel: (id) => cancels.has(id),
    onChange: (listener) => records.onChange(listener),
    get keepMinutes() {
      return records.keepMinutes;
    },
    setKeepMinutes: (minutes) => {
      records.keepMinutes = minutes;
    },
  };
}

function newRecord({ name, targetUri, method = 'POST', machines, owner }: NewTask, startTime: Date): TaskRecord {
  return {
    id: randomUUID(),
    name,
    targetUri,
    method,
    ...(machines === undefined ? {} : { machines }),
    owner: owner ?? null,
    cancelledBy: null,
    state: 'Running',
    startTime,
    endTime: null,
    percent: null,
    messages: [],
    failure: null,
  };
}
