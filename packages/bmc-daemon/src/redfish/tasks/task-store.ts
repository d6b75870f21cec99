/** The tasks of this process. A restart forgets them; their effects remain in the machines. */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../json.js';
import type { RedfishError } from '../messages/errors.js';
import type { Message } from '../messages/messages.js';

/** The values of DMTF's TaskState that the service uses. A task starts as Running. */
export type TaskState = 'Running' | 'Cancelling' | 'Completed' | 'Exception' | 'Cancelled';

/** The HTTP method of the task's request. */
export type TaskMethod = 'POST' | 'PATCH' | 'DELETE';

/** The client that started or cancelled a task: the event bus's Actor. */
interface TaskOwner {
  readonly user: string | null;
  readonly address: string;
}

/** The state of a task at one moment. A change creates a new record. */
export interface TaskRecord {
  /** A UUID, so that ids never repeat after a restart. */
  readonly id: string;
  /** The name, for people: `Insert a.iso into Cd of web1`. */
  readonly name: string;
  /** The URI of the request: the action's target. */
  readonly targetUri: string;
  readonly method: TaskMethod;
  /** UUIDs of the task's machines, if `targetUri` does not name them. */
  readonly machines?: readonly string[];
  /** Null if the service itself started the task. */
  readonly owner: TaskOwner | null;
  /** The client that cancelled the task; null if none did. */
  readonly cancelledBy: TaskOwner | null;
  readonly state: TaskState;
  readonly startTime: Date;
  /** null while the task runs. */
  readonly endTime: Date | null;
  /** Progress from 0 to 100, an integer; null if unknown. */
  readonly percent: number | null;
  readonly messages: readonly Message[];
  /** The result that the client asked for, if any; absent while the task runs. */
  readonly response?: JsonObject;
  /** The error that the request would have received; null unless the state is Exception. */
  readonly failure: RedfishError | null;
}

/** The values of a new task. */
export interface NewTask {
  readonly name: string;
  readonly targetUri: string;
  /** Default: POST. */
  readonly method?: TaskMethod;
  /** @see TaskRecord.machines */
  readonly machines?: readonly string[];
  readonly owner?: TaskOwner | undefined;
  /** Asks the work to stop; absent if it cannot stop. */
  readonly cancel?: (() => void) | undefined;
}

/** Called for every change. `before` is null for a new task, `after` is null for a removed one. */
export type TaskListener = (change: { readonly before: TaskRecord | null; readonly after: TaskRecord | null }) => void;

/**
 * The tasks, limited in number: a new task displaces the oldest finished one. Running tasks always
 * stay.
 */
export interface TaskStore {
  create(task: NewTask): TaskRecord;
  progress(id: string, percent: number): void;
  complete(id: string, messages: readonly Message[], response?: JsonObject): void;
  fail(id: string, failure: RedfishError): void;
  /**
   * Asks the work to stop. The work itself reports how it ended.
   * @returns false if the work cannot be stopped.
   */
  cancel(id: string, by: TaskOwner): boolean;
  /** Resolves when the work has ended, or at once for an unknown or finished task. */
  ended(id: string): Promise<void>;
  /** Marks a task as cancelled. */
  cancelled(id: string): void;
  /** Lists the tasks, oldest first. Returns the same array until a task changes. */
  list(): readonly TaskRecord[];
  get(id: string): TaskRecord | undefined;
  /**
   * Removes a finished task.
   * @returns false if the task is unknown or still runs.
   */
  remove(id: string): boolean;
  onChange(listener: TaskListener): void;
  /** How long a finished task stays, in minutes. Default: a day. */
  readonly keepMinutes: number;
  setKeepMinutes(minutes: number): void;
}

/** Returns the URI of a task. */
export const taskUri = (id: string): string => `/redfish/v1/TaskService/Tasks/${id}`;
/** Returns the URI of a task's monitor. */
export const taskMonitorUri = (id: string): string => `/redfish/v1/TaskService/TaskMonitors/${id}`;

/** Whether the work still runs. */
export function isRunning({ state }: TaskRecord): boolean {
  return state === 'Running' || state === 'Cancelling';
}

/** Options of a task store. */
export interface TaskStoreOptions {
  /** The largest number of tasks. */
  readonly limit: number;
  readonly now: () => Date;
  /** Milliseconds of a steady clock. Default: performance.now. */
  readonly clock?: () => number;
}

/** Creates an empty store. */
export function createTaskStore({ limit, now, clock = () => performance.now() }: TaskStoreOptions): TaskStore {
  const records = new Map<string, TaskRecord>();
  /** By the steady clock: a host that sets its clock must not make clients lose the result of a task. */
  const endedAt = new Map<string, number>();
  const cancels = new Map<string, () => void>();
  const listeners: TaskListener[] = [];
  const waiting = new Map<string, (() => void)[]>();
  let keepMinutes = 24 * 60;
  let listed: readonly TaskRecord[] | undefined;

  const notify: TaskListener = (change) => {
    listed = undefined;
    for (const listener of listeners) listener(change);
  };
  const forget = (record: TaskRecord): void => {
    records.delete(record.id);
    endedAt.delete(record.id);
    notify({ before: record, after: null });
  };
  /** Removes expired tasks. It runs on every access, so it needs no timer. */
  const forgetOld = (): void => {
    if (endedAt.size === 0) return;
    const oldest = clock() - keepMinutes * 60_000;
    for (const record of [...records.values()]) if ((endedAt.get(record.id) ?? Infinity) < oldest) forget(record);
  };
  const put = (record: TaskRecord): void => {
    const before = records.get(record.id) ?? null;
    // A Map keeps the position of an existing key, so the order of creation remains.
    records.set(record.id, record);
    if (!isRunning(record)) {
      endedAt.set(record.id, clock());
      cancels.delete(record.id);
      for (const resolve of waiting.get(record.id) ?? []) resolve();
      waiting.delete(record.id);
    }
    notify({ before, after: record });
    for (const other of [...records.values()]) {
      if (records.size <= limit) break;
      if (!isRunning(other)) forget(other);
    }
  };
  const change = (id: string, changed: Partial<TaskRecord>): void => {
    const record = records.get(id);
    // Ignore progress after the end of the task, or after a client removed it.
    if (record !== undefined && isRunning(record)) put({ ...record, ...changed });
  };

  return {
    create({ name, targetUri, method = 'POST', machines, owner, cancel }) {
      const record: TaskRecord = {
        id: randomUUID(),
        name,
        targetUri,
        method,
        ...(machines === undefined ? {} : { machines }),
        owner: owner ?? null,
        cancelledBy: null,
        state: 'Running',
        startTime: now(),
        endTime: null,
        percent: null,
        messages: [],
        failure: null,
      };
      if (cancel !== undefined) cancels.set(record.id, cancel);
      put(record);
      return record;
    },
    progress(id, percent) {
      const whole = Math.min(100, Math.max(0, Math.floor(percent)));
      if (records.get(id)?.percent !== whole) change(id, { percent: whole });
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
      // Ask only once.
      if (records.get(id)?.state === 'Running') {
        change(id, { state: 'Cancelling', cancelledBy: { user, address } });
        cancel();
      }
      return true;
    },
    ended(id) {
      const record = records.get(id);
      if (record === undefined || !isRunning(record)) return Promise.resolve();
      return new Promise((resolve) => waiting.set(id, [...(waiting.get(id) ?? []), resolve]));
    },
    cancelled: (id) => change(id, { state: 'Cancelled', endTime: now() }),
    list() {
      forgetOld();
      return (listed ??= [...records.values()]);
    },
    get(id) {
      forgetOld();
      return records.get(id);
    },
    remove(id) {
      const record = records.get(id);
      if (record === undefined || isRunning(record)) return false;
      forget(record);
      return true;
    },
    onChange: (listener) => void listeners.push(listener),
    get keepMinutes() {
      return keepMinutes;
    },
    setKeepMinutes: (minutes) => {
      keepMinutes = minutes;
    },
  };
}
