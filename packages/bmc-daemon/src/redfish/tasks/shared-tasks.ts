/**
 * Tasks of all replicas. A replica runs and changes its own tasks, and stores them in the shared
 * store. The other replicas show these tasks, and can cancel them. If a replica is dead, the others
 * mark its running tasks as failed.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import type { StoredEntry } from '@rackless/daemon/shared-store/entries.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { ChangeRefused } from '@rackless/daemon/shared-store/store-unavailable.js';
import { RedfishError } from '../messages/errors.js';
import { message, withDetail } from '../messages/messages.js';
import { isRunning, type TaskRecord } from './task-record.js';
import type { LocalTaskStore, TaskStore } from './task-store.js';
import { parseTask, storedTask, TASK_KIND, type KnownTask } from './stored-task.js';

/** Maximum number of attempts to store a change while other replicas change the same task. */
const MAX_ATTEMPTS = 20;

/** Returns a task store with the tasks of all replicas. Needs no close: it has no timer. */
export function createSharedTasks(local: LocalTaskStore, store: SharedStore, log: Pick<Log, 'warn'>): TaskStore {
  return new SharedTasks(local, store, log);
}

class SharedTasks implements TaskStore {
  readonly #local: LocalTaskStore;
  readonly #store: SharedStore;
  readonly #log: Pick<Log, 'warn'>;
  /** Tasks of other replicas. */
  #others = new Map<string, KnownTask>();
  /** Own tasks that are in the store. */
  readonly #stored = new Set<string>();
  /** Own tasks with changes that are not stored yet; null: the task was removed. */
  readonly #unstored = new Map<string, TaskRecord | null>();
  #storing: Promise<void> | undefined;
  readonly #waiters = new Map<string, (() => void)[]>();
  #listed: { readonly own: readonly TaskRecord[]; readonly all: readonly TaskRecord[] } | undefined;

  constructor(local: LocalTaskStore, store: SharedStore, log: Pick<Log, 'warn'>) {
    this.#local = local;
    this.#store = store;
    this.#log = log;
    local.onChange(({ before, after }) => {
      const id = after?.id ?? before?.id;
      if (id === undefined) return;
      this.#unstored.set(id, after);
      void this.#storeAll();
    });
    this.#load();
    store.onChange(() => this.#load());
    store.onHeartbeat(() => void this.#heartbeat());
  }

  create(...task: Parameters<TaskStore['create']>): TaskRecord {
    return this.#local.create(...task);
  }

  setProgress(id: string, percent: number): void {
    this.#local.setProgress(id, percent);
  }

  complete(...end: Parameters<TaskStore['complete']>): void {
    this.#local.complete(...end);
  }

  fail(id: string, failure: RedfishError): void {
    this.#local.fail(id, failure);
  }

  markCancelled(id: string): void {
    this.#local.markCancelled(id);
  }

  async cancel(...[id, by]: Parameters<TaskStore['cancel']>): Promise<boolean> {
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
      const task = this.#others.get(id);
      if (task === undefined) return this.#local.cancel(id, by);
      const { record, isCancellable } = task;
      if (!isRunning(record) || !isCancellable) return false;
      if (record.state === 'Cancelling') return true;
      const { user, address } = by;
      const cancelling: TaskRecord = { ...record, state: 'Cancelling', cancelledBy: { user, address } };
      // The replica that runs the task reads this state, and asks the work to stop.
      if (await this.#replace(task, cancelling)) return true;
    }
    throw new ChangeRefused('cancelling the task: other replicas change it at the same time');
  }

  whenEnded(id: string): Promise<void> {
    const task = this.#others.get(id);
    if (task === undefined) return this.#local.whenEnded(id);
    if (!isRunning(task.record)) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.set(id, [...(this.#waiters.get(id) ?? []), resolve]));
  }

  async whenStored(): Promise<void> {
    await this.#storeAll();
  }

  list(): readonly TaskRecord[] {
    const ownRecords = this.#local.list();
    if (this.#listed?.own !== ownRecords) {
      const allRecords = [...ownRecords, ...Array.from(this.#others.values(), ({ record }) => record)];
      this.#listed = { own: ownRecords, all: allRecords.sort((a, b) => a.startTime.getTime() - b.startTime.getTime()) };
    }
    return this.#listed.all;
  }

  get(id: string): TaskRecord | undefined {
    return this.#local.get(id) ?? this.#others.get(id)?.record;
  }

  async remove(id: string): Promise<boolean> {
    const task = this.#others.get(id);
    if (task !== undefined) return !isRunning(task.record) && this.#replace(task, null);
    const isRemoved = this.#local.remove(id);
    await this.#storeAll();
    return isRemoved;
  }

  onChange(...listener: Parameters<TaskStore['onChange']>): void {
    this.#local.onChange(...listener);
  }

  get keepMinutes(): number {
    return this.#local.keepMinutes;
  }

  setKeepMinutes(minutes: number): void {
    this.#local.setKeepMinutes(minutes);
  }

  /**
   * Replaces a task of another replica; null: removes the task.
   * @returns false if the stored task has changed meanwhile.
   * @throws {StoreUnavailable}
   */
  #replace(task: KnownTask, next: TaskRecord | null): Promise<boolean> {
    const { record, revision } = task;
    const value = next === null ? null : storedTask(next, task);
    return this.#store.commit([{ kind: TASK_KIND, id: record.id, expected: revision, value }]);
  }

  /** Reads the tasks from this replica's copy of the store, and applies changes of the other replicas. */
  #load(): void {
    const lastTasks = this.#others;
    this.#others = new Map();
    this.#listed = undefined;
    const ownIds = new Set<string>();
    for (const entry of this.#store.list(TASK_KIND)) {
      const lastRead = lastTasks.get(entry.id);
      const task = lastRead?.revision === entry.revision ? lastRead : parseTask(entry);
      if (task === undefined) {
        // Another version of the daemon has changed the task, so its form is unknown. The task
        // still exists.
        if (this.#stored.has(entry.id)) ownIds.add(entry.id);
      } else if (task.replica === this.#store.replica) {
        ownIds.add(entry.id);
        this.#applyRemoteChange(task);
      } else this.#others.set(entry.id, task);
    }
    for (const id of [...this.#stored]) {
      if (ownIds.has(id)) continue;
      // Another replica removed the task, or Redis lost it. `remove` of the local store ignores a running task.
      this.#stored.delete(id);
      this.#local.remove(id);
    }
    for (const id of ownIds) this.#stored.add(id);
    for (const [id, resolvers] of this.#waiters) {
      const task = this.#others.get(id);
      if (task !== undefined && isRunning(task.record)) continue;
      this.#waiters.delete(id);
      for (const resolve of resolvers) resolve();
    }
  }

  /**
   * Applies the change that another replica made to a task of this replica. Cancels the task, or ends it
   * if the other replica considered this replica dead and marked the task as failed.
   */
  #applyRemoteChange({ record }: KnownTask): void {
    const { id, state, cancelledBy } = record;
    const ownTask = this.#local.get(id);
    if (ownTask === undefined || !isRunning(ownTask)) return;
    if (!isRunning(record)) this.#local.fail(id, record.failure ?? interruptedError());
    else if (state === 'Cancelling' && ownTask.state === 'Running' && cancelledBy !== null)
      this.#local.cancel(id, cancelledBy);
  }

  /**
   * Stores the changes of own tasks. If the store does not answer, or too many attempts fail, the changes
   * wait for the next heartbeat of the store.
   */
  #storeAll(): Promise<void> {
    this.#storing ??= this.#storeUnstored().finally(() => (this.#storing = undefined));
    return this.#storing;
  }

  async #storeUnstored(): Promise<void> {
    // The caller may change the task again in this turn, so wait and store both changes at once.
    await Promise.resolve();
    let failedAttempts = 0;
    while (this.#unstored.size > 0) {
      if (failedAttempts === MAX_ATTEMPTS) {
        this.#log.warn(
          `storing tasks failed ${MAX_ATTEMPTS} times, because other replicas changed them: the next heartbeat retries`,
        );
        return;
      }
      const [[id, record] = ['', null]] = this.#unstored;
      this.#unstored.delete(id);
      const { replica } = this.#store;
      const value = record === null ? null : storedTask(record, { replica, isCancellable: this.#local.canCancel(id) });
      const entry = this.#store.get(TASK_KIND, id);
      if (value !== null && entry !== undefined && !mayReplace(entry)) continue;
      try {
        const isStored = await this.#store.commit([{ kind: TASK_KIND, id, expected: entry?.revision ?? 0, value }]);
        failedAttempts = isStored ? 0 : failedAttempts + 1;
        // Another replica may have changed the task, for example to cancel it: then store the task again. Do not
        // store it again if another replica removed it.
        const isKnown = this.#store.get(TASK_KIND, id) !== undefined;
        if (!isStored && isKnown && !this.#unstored.has(id)) this.#unstored.set(id, this.#local.get(id) ?? null);
      } catch {
        if (!this.#unstored.has(id)) this.#unstored.set(id, record);
        return;
      }
    }
  }

  /** Stores waiting changes of own tasks. Ends the running tasks of dead replicas, and removes their old results. */
  async #heartbeat(): Promise<void> {
    if (this.#unstored.size > 0) await this.#storeAll();
    const otherTasks = [...this.#others.values()];
    if (otherTasks.length === 0) return;
    const living = await this.#store
      .living([...new Set(otherTasks.map(({ replica }) => replica))])
      .catch(() => undefined);
    if (living === undefined) return;
    const oldest = this.#store.now() - this.keepMinutes * 60_000;
    for (const task of otherTasks.filter(({ replica }) => !living.has(replica))) {
      const { record } = task;
      if (isRunning(record)) await this.#fail(task);
      else if ((record.endTime?.getTime() ?? 0) < oldest) await this.#replace(task, null).catch(ignored);
    }
  }

  async #fail(task: KnownTask): Promise<void> {
    const { record } = task;
    const failure = interruptedError();
    const ended: TaskRecord = {
      ...record,
      state: 'Exception',
      endTime: new Date(this.#store.now()),
      messages: failure.messages,
      failure,
    };
    if (await this.#replace(task, ended).catch(ignored))
      this.#log.warn(`task failed: ${record.name}: its replica does not run anymore`);
  }
}

/**
 * Returns whether a stored task may change: only while it runs, because clients may have read a stored
 * result. An entry in the format of another version of the daemon may contain a result, so it may not
 * change.
 */
function mayReplace(entry: StoredEntry): boolean {
  const task = parseTask(entry);
  return task !== undefined && isRunning(task.record);
}

/**
 * Returns the failure of a task whose replica has ended. The work of the task may have succeeded.
 */
function interruptedError(): RedfishError {
  const why = 'The service that executed the task was interrupted. Read the resource to see the result.';
  // This message usually has 502, but many clients retry a request after a 502.
  return new RedfishError(500, [withDetail(message('OperationFailed'), why)]);
}

const ignored = (): false => false;
