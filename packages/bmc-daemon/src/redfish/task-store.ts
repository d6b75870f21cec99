/** Tasks that run or ran in this process. They are not kept over a restart: what they did is in the machines. */
import { randomUUID } from 'node:crypto';
import type { RedfishError } from './errors.js';
import type { JsonObject } from './json.js';
import type { Message } from './messages.js';

/** DMTF's TaskState, as far as our tasks go: each is running when it becomes a task. */
export type TaskState = 'Running' | 'Cancelling' | 'Completed' | 'Exception' | 'Cancelled';

/** What was sent to the task's target. */
export type TaskMethod = 'POST' | 'PATCH' | 'DELETE';

/** Who asked for a task, or for its end: the event bus's Actor. */
interface TaskOwner {
  readonly user: string | null;
  readonly address: string;
}

/** One task at one moment; a change makes a new record. */
export interface TaskRecord {
  /** A UUID, so that a client never mistakes a task of before a restart for one of after it. */
  readonly id: string;
  /** For people: `Insert a.iso into Cd of web1`. */
  readonly name: string;
  /** URI of what was asked for: the action's target. */
  readonly targetUri: string;
  readonly method: TaskMethod;
  /** UUIDs of the machines that it is about, where the target does not say so. */
  readonly machines?: readonly string[];
  /** Null where nobody asked. */
  readonly owner: TaskOwner | null;
  /** Who had it cancelled; null where nobody has. */
  readonly cancelledBy: TaskOwner | null;
  readonly state: TaskState;
  readonly startTime: Date;
  /** null while it runs. */
  readonly endTime: Date | null;
  /** 0 to 100, whole; null when nobody knows. */
  readonly percent: number | null;
  readonly messages: readonly Message[];
  /** What was asked for, where that is more than that it be done; absent while it runs. */
  readonly response?: JsonObject;
  /** What the request would have been answered with, had it waited; null unless the state is Exception. */
  readonly failure: RedfishError | null;
}

/** What a task begins with. */
export interface NewTask {
  readonly name: string;
  readonly targetUri: string;
  /** Default: POST. */
  readonly method?: TaskMethod;
  /** @see TaskRecord.machines */
  readonly machines?: readonly string[];
  readonly owner?: TaskOwner | undefined;
  /** Breaks the work off, which says how it ended then; absent where nothing can. */
  readonly cancel?: (() => void) | undefined;
}

/** Told of every change: the record as it was, null for a new one, and as it is, null for one that is forgotten. */
export type TaskListener = (change: { readonly before: TaskRecord | null; readonly after: TaskRecord | null }) => void;

/** Bounded: the oldest finished tasks make room; running ones stay. */
export interface TaskStore {
  create(task: NewTask): TaskRecord;
  progress(id: string, percent: number): void;
  complete(id: string, messages: readonly Message[], response?: JsonObject): void;
  fail(id: string, failure: RedfishError): void;
  /** Asks the work to stop. What becomes of the task is for the work to say. @returns false where nothing can stop it. */
  cancel(id: string, by: TaskOwner): boolean;
  /** Resolves when the work has ended, at once where it has or there is none. */
  ended(id: string): Promise<void>;
  /** The work has stopped because it was asked to. */
  cancelled(id: string): void;
  /** Oldest first; the same array until something changes. */
  list(): readonly TaskRecord[];
  get(id: string): TaskRecord | undefined;
  /** Forgets a finished task. @returns false if there is none, or it still runs. */
  remove(id: string): boolean;
  onChange(listener: TaskListener): void;
  /** How long a finished task is remembered, in minutes. Default: a day. */
  readonly keepMinutes: number;
  setKeepMinutes(minutes: number): void;
}

/** Of a task by its id. */
export const taskUri = (id: string): string => `/redfish/v1/TaskService/Tasks/${id}`;
/** Of a task's monitor by the task's id. */
export const taskMonitorUri = (id: string): string => `/redfish/v1/TaskService/TaskMonitors/${id}`;

/** Whether the work still goes on. */
export function isRunning({ state }: TaskRecord): boolean {
  return state === 'Running' || state === 'Cancelling';
}

/** How much is remembered. */
export interface TaskStoreOptions {
  /** How many tasks are remembered. */
  readonly limit: number;
  readonly now: () => Date;
  /** Milliseconds of a steady clock. Default: performance.now. */
  readonly clock?: () => number;
}

/** Makes an empty store. */
export function createTaskStore({ limit, now, clock = () => performance.now() }: TaskStoreOptions): TaskStore {
  const records = new Map<string, TaskRecord>();
  /** By the steady clock: a host that sets its clock must not make clients lose the result of a task. */
  const endedAt = new Map<string, number>();
  const cancels = new Map<string, () => void>();
  const listeners: TaskListener[] = [];
  const waiting = new Map<string, (() => void)[]>();
  let keepMinutes = 24 * 60;
  let listed: readonly TaskRecord[] | undefined;

  const tell: TaskListener = (change) => {
    listed = undefined;
    for (const listener of listeners) listener(change);
  };
  const forget = (record: TaskRecord): void => {
    records.delete(record.id);
    endedAt.delete(record.id);
    tell({ before: record, after: null });
  };
  /** Looked at with every access, so that no timer is needed. */
  const forgetOld = (): void => {
    if (endedAt.size === 0) return;
    const oldest = clock() - keepMinutes * 60_000;
    for (const record of [...records.values()]) if ((endedAt.get(record.id) ?? Infinity) < oldest) forget(record);
  };
  const put = (record: TaskRecord): void => {
    const before = records.get(record.id) ?? null;
    // A Map keeps the place of a key that it has: the order stays that of creation.
    records.set(record.id, record);
    if (!isRunning(record)) {
      endedAt.set(record.id, clock());
      cancels.delete(record.id);
      for (const resolve of waiting.get(record.id) ?? []) resolve();
      waiting.delete(record.id);
    }
    tell({ before, after: record });
    for (const other of [...records.values()]) {
      if (records.size <= limit) break;
      if (!isRunning(other)) forget(other);
    }
  };
  const change = (id: string, changed: Partial<TaskRecord>): void => {
    const record = records.get(id);
    // Progress that comes after the end, or after a client has deleted the task, is nobody's concern.
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
      // Once is enough.
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
