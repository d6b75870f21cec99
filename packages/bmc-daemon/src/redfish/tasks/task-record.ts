/** The records of tasks. Limits their number, and removes a finished task after some time. */
import type { JsonObject } from '../json.js';
import type { RedfishError } from '../messages/errors.js';
import type { Message } from '../messages/messages.js';

/** The values of DMTF's TaskState that the service uses. A task starts as Running. */
type TaskState = 'Running' | 'Cancelling' | 'Completed' | 'Exception' | 'Cancelled';

/** The HTTP method of the task's request. */
export type TaskMethod = 'POST' | 'PATCH' | 'DELETE';

/** The client that started or cancelled a task. */
export interface TaskOwner {
  readonly user: string | null;
  readonly address: string;
}

/**
 * The state of a task at one moment. A change creates a new record.
 * @see DSP2046, Task
 */
export interface TaskRecord {
  /** A UUID, so that ids never repeat after a restart. */
  readonly id: string;
  /** The name, for people, such as `Insert a.iso into Cd of web1`. */
  readonly name: string;
  /** The URI of the request, such as the target of an action. */
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
  /** The result that the client requested, if any; absent while the task runs. */
  readonly response?: JsonObject;
  /** The error that the request would have received; null unless the state is Exception. */
  readonly failure: RedfishError | null;
}

/** Called for every change. `before` is null for a new task, `after` is null for a removed one. */
export type TaskListener = (change: { readonly before: TaskRecord | null; readonly after: TaskRecord | null }) => void;

/** Returns whether the work still runs. */
export function isRunning({ state }: TaskRecord): boolean {
  return state === 'Running' || state === 'Cancelling';
}

/**
 * How long the result of a task stays available although there are more tasks than the limit, in
 * milliseconds. Exception: {@link MAX_FINISHED}.
 */
const RECENT_MS = 10 * 60_000;
/** Maximum number of finished tasks. Limits the memory if many tasks end at the same time. */
const MAX_FINISHED = 10_000;

/**
 * Records in the order of their creation. `all` and `get` remove expired records first, so no timer
 * is needed.
 */
export class TaskRecords {
  /** Time until a finished task is removed, in minutes. */
  keepMinutes = 24 * 60;
  readonly #limit: number;
  readonly #clock: () => number;
  readonly #records = new Map<string, TaskRecord>();
  /**
   * When each finished task ended, in this order, by the monotonic clock. If the host's clock is set, clients
   * must not lose the result of a task.
   */
  readonly #endedAt = new Map<string, number>();
  readonly #listeners: TaskListener[] = [];
  #listed: readonly TaskRecord[] | undefined;

  /**
   * @param limit number of records, including running tasks, above which finished tasks are removed.
   * @param clock a monotonic clock in milliseconds.
   */
  constructor(limit: number, clock: () => number) {
    this.#limit = limit;
    this.#clock = clock;
  }

  /** Returns all records that have not expired; the same array until a record changes. */
  all(): readonly TaskRecord[] {
    this.#removeExpired();
    return (this.#listed ??= [...this.#records.values()]);
  }

  /** Returns a record, even an expired one; undefined if there is none. */
  peek(id: string): TaskRecord | undefined {
    return this.#records.get(id);
  }

  /** Returns a record that has not expired; undefined if there is none. */
  get(id: string): TaskRecord | undefined {
    this.#removeExpired();
    return this.#records.get(id);
  }

  /**
   * Adds or replaces a record. Above the limit, removes the records that ended first, except those that ended
   * in the last {@link RECENT_MS}. Above {@link MAX_FINISHED} finished tasks, removes these too.
   */
  put(record: TaskRecord): void {
    const before = this.#records.get(record.id) ?? null;
    // A Map keeps the position of an existing key, so the order of creation remains.
    this.#records.set(record.id, record);
    const now = this.#clock();
    if (!isRunning(record) && !this.#endedAt.has(record.id)) this.#endedAt.set(record.id, now);
    this.#notify({ before, after: record });
    for (const [id, endedAt] of this.#endedAt) {
      const isRecent = now - endedAt < RECENT_MS;
      if (isRecent ? this.#endedAt.size <= MAX_FINISHED : this.#records.size <= this.#limit) break;
      this.remove(id);
    }
  }

  /** Removes a record; does nothing for an unknown one. */
  remove(id: string): void {
    const before = this.#records.get(id);
    if (before === undefined) return;
    this.#records.delete(id);
    this.#endedAt.delete(id);
    this.#notify({ before, after: null });
  }

  /** Calls the listener after each change of a record. */
  onChange(listener: TaskListener): void {
    this.#listeners.push(listener);
  }

  #notify(change: Parameters<TaskListener>[0]): void {
    this.#listed = undefined;
    for (const listener of this.#listeners) listener(change);
  }

  #removeExpired(): void {
    const oldest = this.#clock() - this.keepMinutes * 60_000;
    for (const [id, endedAt] of this.#endedAt) {
      if (endedAt >= oldest) break;
      this.remove(id);
    }
  }
}
