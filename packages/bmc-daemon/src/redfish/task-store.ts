/** Tasks that run or ran in this process. They are not kept over a restart: what they did is in the machines. */
import { randomUUID } from 'node:crypto';
import type { RedfishError } from './errors.js';
import type { Message } from './messages.js';

/** DMTF's TaskState, as far as our tasks go. */
export type TaskState = 'Running' | 'Completed' | 'Exception';

/** One task at one moment; a change makes a new record. */
export interface TaskRecord {
  /** A UUID, so that a client never mistakes a task of before a restart for one of after it. */
  readonly id: string;
  /** For people: `Insert a.iso into Cd of web1`. */
  readonly name: string;
  /** URI of what was asked for: the action's target. */
  readonly targetUri: string;
  readonly state: TaskState;
  readonly startTime: Date;
  /** null while it runs. */
  readonly endTime: Date | null;
  /** 0 to 100, whole; null when nobody knows. */
  readonly percent: number | null;
  readonly messages: readonly Message[];
  /** What the request would have been answered with, had it waited; null unless the state is Exception. */
  readonly failure: RedfishError | null;
}

/** Bounded: the oldest finished tasks make room; running ones stay. */
export interface TaskStore {
  create(task: { readonly name: string; readonly targetUri: string }): TaskRecord;
  progress(id: string, percent: number): void;
  complete(id: string, messages: readonly Message[]): void;
  fail(id: string, failure: RedfishError): void;
  /** Oldest first; the same array until something changes. */
  list(): readonly TaskRecord[];
  get(id: string): TaskRecord | undefined;
  /** Forgets a finished task. @returns false if there is none, or it still runs. */
  remove(id: string): boolean;
}

export const taskUri = (id: string): string => `/redfish/v1/TaskService/Tasks/${id}`;
export const taskMonitorUri = (id: string): string => `/redfish/v1/TaskService/TaskMonitors/${id}`;

export interface TaskStoreOptions {
  /** How many tasks are remembered. */
  readonly limit: number;
  readonly now: () => Date;
}

/** Makes an empty store. */
export function createTaskStore({ limit, now }: TaskStoreOptions): TaskStore {
  const records = new Map<string, TaskRecord>();
  let listed: readonly TaskRecord[] | undefined;

  const put = (record: TaskRecord): void => {
    // A Map keeps the place of a key that it has: the order stays that of creation.
    records.set(record.id, record);
    for (const { id, state } of records.values()) {
      if (records.size <= limit) break;
      if (state !== 'Running') records.delete(id);
    }
    listed = undefined;
  };
  const change = (id: string, changed: Partial<TaskRecord>): void => {
    const record = records.get(id);
    // Progress that comes after the end, or after a client has deleted the task, is nobody's concern.
    if (record?.state === 'Running') put({ ...record, ...changed });
  };

  return {
    create({ name, targetUri }) {
      const record: TaskRecord = {
        id: randomUUID(),
        name,
        targetUri,
        state: 'Running',
        startTime: now(),
        endTime: null,
        percent: null,
        messages: [],
        failure: null,
      };
      put(record);
      return record;
    },
    progress: (id, percent) => change(id, { percent: Math.min(100, Math.max(0, Math.floor(percent))) }),
    complete: (id, messages) => change(id, { state: 'Completed', endTime: now(), percent: 100, messages }),
    fail: (id, failure) => change(id, { state: 'Exception', endTime: now(), messages: failure.messages, failure }),
    list: () => (listed ??= [...records.values()]),
    get: (id) => records.get(id),
    remove(id) {
      const record = records.get(id);
      if (record === undefined || record.state === 'Running') return false;
      records.delete(id);
      listed = undefined;
      return true;
    },
  };
}
