/**
 * An entry of the shared store that all replicas read and change as a whole. Each replica has a
 * copy of the last value that it could read. If another version of the daemon stores a format that
 * this replica cannot read, the replica keeps its copy and rejects all changes. So it does not
 * destroy data.
 */
import type { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { readEntry, repeatUntilStored, unreadableError } from './entry-changes.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';

interface SharedRecordOptions<Value> {
  readonly store: SharedStore;
  /** Kind and id of the entry. */
  readonly kind: string;
  readonly id: string;
  /** The content, for messages, such as `the subscriptions`. */
  readonly what: string;
  /** Its objects should be loose, so that a change keeps members that a newer version has added. */
  readonly schema: z.ZodType<Value>;
  /** The value until this replica has read or changed one. */
  readonly initial: Value;
  readonly log: Pick<Log, 'info' | 'error'>;
}

/** An entry of the shared store. */
export class SharedRecord<Value extends object> {
  readonly #options: SharedRecordOptions<Value>;
  #value: Value;
  #revision = 0;
  #isReadable = true;
  #isChanging = false;
  /** Whether the store has lost the entry, so that this replica must store its copy again. */
  #isLost = false;
  #seeding: Promise<void> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #onLoad: () => void = () => undefined;

  constructor(options: SharedRecordOptions<Value>) {
    this.#options = options;
    this.#value = options.initial;
    this.#load();
    options.store.onChange(() => {
      if (!this.#isChanging) this.#load();
    });
  }

  /** The last value that this replica could read, or `initial`; never mutated. During a change, the new value. */
  get value(): Value {
    return this.#value;
  }

  /** Whether the store has no value, or one that this replica can read. */
  get isReadable(): boolean {
    return this.#isReadable;
  }

  /** Whether a change is running. */
  get isChanging(): boolean {
    return this.#isChanging;
  }

  /** Checks that this replica can read the value. @throws {ChangeRefused} if it cannot. */
  checkReadable(): void {
    if (!this.#isReadable) throw unreadableError(this.#options.what);
  }

  /**
   * Sets the function that runs after each new revision of the entry, and after each attempt of a change. It also runs
   * for a revision that this replica cannot read, and for a failed attempt. It must not throw.
   */
  onLoad(listener: () => void): void {
    this.#onLoad = listener;
  }

  /** Replaces the value. The running change stores it; without one, only the copy of this replica changes. */
  update(change: (value: Value) => Value): void {
    this.#value = change(this.#value);
  }

  /**
   * Runs one change at a time, and stores its {@link update}s. If another replica was faster, runs
   * it again on the new value. After an error, the value of this replica stays unchanged.
   * @throws {ChangeRefused} if this replica cannot read the value, or other replicas were faster at all attempts.
   * @throws {StoreUnavailable} if the store does not answer. It may have stored the change nevertheless.
   * @throws the errors of `work`.
   */
  change<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const { what, store } = this.#options;
    const result = this.#last.then(() =>
      repeatUntilStored(what, async () => {
        await store.sync();
        this.#load();
        this.checkReadable();
        return this.#attempt(work);
      }),
    );
    this.#last = result.catch(() => undefined);
    return result;
  }

  /**
   * Stores the value of this replica if the store has none.
   * @throws {StoreUnavailable} if the store does not answer. It may have stored the value nevertheless.
   */
  async seed(): Promise<void> {
    const { what, log } = this.#options;
    if (this.#revision !== 0) return;
    if (await this.#commit()) log.info(`${what} of this replica were copied to the shared store`);
    if (!this.#isChanging) this.#load();
  }

  async #attempt<Result>(work: () => Result | Promise<Result>): Promise<{ readonly result: Result } | undefined> {
    const before = this.#value;
    let isStored = false;
    this.#isChanging = true;
    try {
      const result = await work();
      isStored = this.#value === before || (await this.#commit());
      return isStored ? { result } : undefined;
    } finally {
      this.#isChanging = false;
      if (!isStored) this.#value = before;
      this.#load();
      this.#onLoad();
    }
  }

  /**
   * Stores the value of this replica.
   * @returns false if another replica was faster.
   * @throws {StoreUnavailable} if the store does not answer. It may have stored the value nevertheless.
   */
  #commit(): Promise<boolean> {
    const { store, kind, id } = this.#options;
    return store.commit([{ kind, id, expected: this.#revision, value: this.#value }]);
  }

  #load(): void {
    const { store, kind, id, what, schema, log } = this.#options;
    const entry = store.get(kind, id);
    const revision = entry?.revision ?? 0;
    if (revision !== this.#revision) {
      this.#revision = revision;
      // If this replica could not read the last format, its copy is old. Another replica has the
      // last value, and restores it.
      this.#isLost = entry === undefined && this.#isReadable;
      this.#isReadable = true;
      try {
        this.#value = readEntry(what, entry, schema) ?? this.#value;
      } catch (error) {
        this.#isReadable = false;
        log.error(`${what} cannot be changed at this replica`, { error });
      }
      this.#onLoad();
    }
    if (this.#isLost && this.#seeding === undefined)
      this.#seeding = this.seed()
        .catch((error: unknown) => log.error(`restoring ${what} to the shared store failed`, { error }))
        .finally(() => (this.#seeding = undefined));
  }
}
