/**
 * The state that all replicas share. Each replica has a copy in memory. A request first updates the copy with one short
 * command, so that it sees every change that any replica has confirmed. It then reads the copy without waiting.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Log } from '../log/log.js';
import { parseJson } from '../text/json.js';
import type { ChangedEntry, ChangeListener, EntryChange, StoredEntry } from './entries.js';
import { connectRedis, type RedisLink } from './redis-link.js';
import { keyNames, readAnswer, readScript, writeScript } from './store-scripts.js';
import { rejectionOf, StoreUnavailable } from './store-unavailable.js';

/** The state that all replicas share. */
export interface SharedStore {
  /** Identifies this run of this replica. */
  readonly replica: string;
  /** Brings the copy up to date. @throws {StoreUnavailable} after a few seconds; at once if the last read failed. */
  sync(): Promise<void>;
  /** Returns an entry of the copy; undefined if there is none. */
  get(kind: string, id: string): StoredEntry | undefined;
  /** Returns all entries of a kind in the copy, in the order of their last change. */
  list(kind: string): readonly StoredEntry[];
  /**
   * Makes all changes or none, and brings the copy up to date.
   * @returns false if an entry had another revision.
   * @throws {StoreUnavailable} The change may have happened nevertheless.
   */
  commit(changes: readonly EntryChange[]): Promise<boolean>;
  /** Calls the listener after each change of the copy. */
  onChange(listener: ChangeListener): void;
  /** Calls the listener, which must not throw, after each successful regular read, about once a second. */
  onHeartbeat(listener: () => void): void;
  /** Calls the listener, which must not throw, after each reconnection: Redis may have lost changes. */
  onReconnect(listener: () => void): void;
  /**
   * Returns which of these replicas are alive: they have written to the store in the last 15 s.
   * For 15 s after a failure of the store, returns all of them, because they could not write.
   * @throws {StoreUnavailable} if the store does not answer.
   */
  living(replicas: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Runs a script in Redis.
   * @param keys the names of its KEYS.
   * @param args its ARGV.
   * @throws {StoreUnavailable} The script may have run nevertheless.
   */
  run(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /**
   * Calls the listener, which must not throw, for each message that a script publishes to a
   * channel. Messages get lost while there is no connection.
   * @param channel as in the KEYS of a script.
   * @throws {StoreUnavailable} if the store does not answer. The listener is then never called.
   */
  listen(channel: string, listener: (message: string) => void): Promise<void>;
  /** Milliseconds since 1970 by the clock of the store, which is the same for all replicas. */
  now(): number;
  /** Informs the other replicas that this replica has ended, and closes the connection. */
  close(): Promise<void>;
}

type StoreLog = Pick<Log, 'info' | 'warn' | 'error'>;

/** Interval of heartbeats: a replica reads the changes, and writes that it is alive. */
const HEARTBEAT_MS = 1000;
/** A replica that writes nothing for this time counts as dead. */
const LEASE_MS = 15_000;

/**
 * Connects to the store.
 * @param url the URL of Redis. Its path is the database. Each installation needs its own database.
 * @param service the name of the daemon, with which the names of the keys begin.
 * @param options `commandMs`: milliseconds until a command without an answer fails. Default: that of connectRedis.
 * @throws {StoreUnavailable} if Redis does not answer, or rejects a command.
 * @throws {TypeError} as {@link connectRedis}.
 */
export async function openSharedStore(
  url: string,
  service: string,
  log: StoreLog,
  { commandMs }: { readonly commandMs?: number } = {},
): Promise<SharedStore> {
  const link = await connectRedis(url, commandMs);
  const store = new RedisStore(link, service, log);
  try {
    await store.start();
  } catch (error) {
    link.close();
    throw error;
  }
  return store;
}

class RedisStore implements SharedStore {
  readonly replica = randomUUID();
  readonly #link: RedisLink;
  readonly #log: StoreLog;
  readonly #kinds = new Map<string, Map<string, StoredEntry>>();
  readonly #listeners: ChangeListener[] = [];
  readonly #heartbeatListeners: (() => void)[] = [];
  #epoch = '';
  #revision = 0;
  /** The store's clock minus the monotonic clock of this process, because the host's system clock can jump. */
  #ahead = performance.timeOrigin;
  #reading: Promise<void> | undefined;
  #waiting: Promise<void> | undefined;
  #failure: StoreUnavailable | undefined;
  /** Whether Redis may have lost changes. New changes may then have the revisions of the lost ones. */
  #mustReadAll = false;
  #acceptsChanges = true;
  /** The last failure of a command, by the monotonic clock. */
  #failedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** Returns the key of a name; the same hash tag puts all keys on one node of a cluster. */
  readonly #keyOf: (name: string) => string;

  constructor(link: RedisLink, service: string, log: StoreLog) {
    this.#keyOf = (name) => `{${service}}:${name}`;
    this.#link = link;
    this.#log = log;
  }

  async start(): Promise<void> {
    this.#link.onReconnect(() => (this.#mustReadAll = true));
    await this.#read();
    await this.#heartbeat();
    await this.#link.subscribe(this.#keyOf('changes'), () => void this.sync().catch(ignored));
  }

  sync(): Promise<void> {
    // The next heartbeat finds out whether Redis answers again. Until then, requests do not wait for it.
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return this.#readOnce();
  }

  get(kind: string, id: string): StoredEntry | undefined {
    return this.#kinds.get(kind)?.get(id);
  }

  list(kind: string): readonly StoredEntry[] {
    return [...(this.#kinds.get(kind)?.values() ?? [])];
  }

  async commit(changes: readonly EntryChange[]): Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure;
    const args = changes.flatMap(({ kind, id, expected, value }) => [
      `${kind}/${id}`,
      expected === undefined ? '' : String(expected),
      ...(value === null ? ['0', ''] : ['1', JSON.stringify(value)]),
    ]);
    const answer = await this.#script(writeScript, [this.#keyOf('changes'), ...args]);
    await this.sync();
    return answer === 1;
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  onHeartbeat(listener: () => void): void {
    this.#heartbeatListeners.push(listener);
  }

  onReconnect(listener: () => void): void {
    this.#link.onReconnect(listener);
  }

  async living(replicas: readonly string[]): Promise<ReadonlySet<string>> {
    if (replicas.length === 0) return new Set();
    const answer = z
      .array(z.string().nullable())
      .parse(await this.#command(['MGET', ...replicas.map((id) => this.#keyOf(`replica:${id}`))]));
    if (performance.now() - this.#failedAt < LEASE_MS) return new Set(replicas);
    return new Set(replicas.filter((_id, index) => answer[index] !== null));
  }

  async run(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#command(['EVAL', script, String(keys.length), ...keys.map(this.#keyOf), ...args]);
  }

  async listen(channel: string, listener: (message: string) => void): Promise<void> {
    await this.#link.subscribe(this.#keyOf(channel), listener);
  }

  now(): number {
    return Math.floor(performance.now() + this.#ahead);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    // Informs the other replicas at once, before the lease ends.
    await this.#link.command(['DEL', this.#keyOf(`replica:${this.replica}`)]).catch(ignored);
    this.#link.close();
  }

  /** Reads the changes. All callers during a read share the next one, because a running read may miss a change. */
  #readOnce(): Promise<void> {
    if (this.#reading === undefined) {
      this.#reading = this.#read().finally(() => (this.#reading = undefined));
      return this.#reading;
    }
    this.#waiting ??= this.#reading.catch(ignored).then(() => {
      this.#waiting = undefined;
      return this.#readOnce();
    });
    return this.#waiting;
  }

  async #read(): Promise<void> {
    const isAll = this.#mustReadAll;
    this.#mustReadAll = false;
    try {
      const args = [String(this.#revision), isAll ? '' : this.#epoch, randomUUID()];
      this.#apply(readAnswer.parse(await this.#script(readScript, args)));
    } catch (error) {
      this.#mustReadAll ||= isAll;
      const failure = error instanceof StoreUnavailable ? error : new StoreUnavailable(String(error), { cause: error });
      if (this.#failure === undefined && !this.#isClosed) this.#log.error(failure.message);
      this.#failure = failure;
      throw failure;
    }
    if (this.#failure !== undefined) this.#log.info('the shared store answers again');
    this.#failure = undefined;
  }

  #apply([epoch, revision, time, isAll, ...parts]: z.infer<typeof readAnswer>): void {
    this.#ahead = time - performance.now();
    if (isAll === 1) this.#kinds.clear();
    if (this.#epoch !== '' && epoch !== this.#epoch) this.#log.warn('the shared store has lost its content');
    else if (revision < this.#revision) this.#log.warn('the shared store has returned to an older state');
    const changed: ChangedEntry[] = [];
    for (let index = 0; index + 2 < parts.length + 1; index += 3) {
      const [key, entryRevision, text] = parts.slice(index, index + 3);
      if (typeof key === 'string' && typeof entryRevision === 'number')
        changed.push(this.#put(key, entryRevision, text ?? null));
    }
    // Stores the revision last: if a line above throws, the next read gets the same changes again.
    this.#epoch = epoch;
    this.#revision = revision;
    if (isAll === 0 && changed.length === 0) return;
    for (const listener of this.#listeners) listener(isAll === 1 ? null : changed);
  }

  #put(key: string, revision: number, text: string | number | null): ChangedEntry {
    const slash = key.indexOf('/');
    const [kind, id] = [key.slice(0, slash), key.slice(slash + 1)];
    const entries = this.#kinds.get(kind) ?? new Map<string, StoredEntry>();
    this.#kinds.set(kind, entries);
    entries.delete(id);
    if (typeof text !== 'string') return { kind, id };
    const value = parseJson(text);
    if (value === undefined) this.#log.warn(`the shared store has an entry that is not JSON: ${JSON.stringify(key)}`);
    entries.set(id, { id, revision, value });
    return { kind, id };
  }

  #script(script: string, args: readonly string[]): Promise<unknown> {
    return this.#command(['EVAL', script, String(keyNames.length), ...keyNames.map(this.#keyOf), ...args]);
  }

  async #command(args: readonly string[]): Promise<unknown> {
    try {
      return await this.#link.command(args);
    } catch (error) {
      this.#failedAt = performance.now();
      throw error;
    }
  }

  async #heartbeat(): Promise<void> {
    const lease = ['SET', this.#keyOf(`replica:${this.replica}`), '1', 'PX', String(LEASE_MS)];
    // If Redis has no memory left, or is the read-only copy of another Redis, it rejects changes but answers reads.
    const rejection = await this.#command(lease).then(() => undefined, rejectionOf);
    try {
      await this.#readOnce();
      this.#reportRejection(rejection);
      for (const listener of this.#heartbeatListeners) listener();
    } catch {
      // `#read` has already reported the failure.
    }
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#heartbeat(), HEARTBEAT_MS).unref();
  }

  #reportRejection(rejection: string | undefined): void {
    const accepts = rejection === undefined;
    if (accepts === this.#acceptsChanges || this.#isClosed) return;
    this.#acceptsChanges = accepts;
    if (accepts) this.#log.info('the shared store accepts changes again');
    else this.#log.error(`the shared store accepts no changes: ${rejection}`);
  }
}

const ignored = (): void => undefined;
