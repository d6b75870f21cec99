/**
 * The servers of a project, with their last known state. All readers share a listing. After the first listing, the
 * driver asks Nova only for servers that have changed, except in a full listing ({@link FULL_EVERY_MS}).
 */
import { isDeepStrictEqual } from 'node:util';
import { changeOfState, type MachineChange, type MachineChangeListener } from '../../machine-change.js';
import type { SystemRef, SystemSnapshot } from '../../snapshot/system-snapshot.js';
import type { ComputeApi, Port } from './compute-api.js';
import { matches, type ServerFilter } from './server-filter.js';
import { isDeleted, isKnown, type Server, type UnknownServer } from './server.js';
import { SlowestClock } from './slowest-clock.js';
import { snapshotOf } from './snapshot.js';

/** The last known state of a server. */
interface Entry {
  readonly server: Server;
  readonly snapshot: SystemSnapshot;
  /** Undefined until the ports have been read. */
  readonly ports: readonly Port[] | undefined;
  /** Time of {@link performance.now} before the last request for the server. */
  readonly readAt: number;
}

/** When a server was read, and its ports. */
interface Reading {
  /** Time of {@link performance.now} before the request. */
  readonly readAt: number;
  /** Undefined: the ports were not read, so the known ports stay. */
  readonly ports?: readonly Port[] | undefined;
}

/**
 * After this time the driver lists all servers again. `changes-since` does not report changes of tags and metadata, so
 * only such a full listing shows them.
 */
const FULL_EVERY_MS = 300_000;
/**
 * Each refresh requests the changes since this long before the beginning of the previous refresh, because Nova may
 * store a change a moment after the `updated` time of the change.
 */
const OVERLAP_MS = 30_000;
/** Maximum number of requests for one read of a server: the API version and the server, each of them twice. */
const REQUESTS_PER_READ = 4;

/** The list of servers that the daemon serves. */
export class ServerList {
  readonly #api: Pick<ComputeApi, 'listServers'>;
  readonly #filter: ServerFilter;
  /** Maximum time of one read of a server. */
  readonly #readMs: number;
  readonly #entries = new Map<string, Entry>();
  /** Servers that are no longer served, with the time of the request that showed this. */
  readonly #removed = new Map<string, number>();
  readonly #listeners = new Set<MachineChangeListener>();
  #refs: readonly SystemRef[] | undefined;
  #refreshing: Promise<void> | undefined;
  /** Beginnings of the running listings. This time and those below are from {@link performance.now}. */
  readonly #running = new Set<{ readonly startedAt: number }>();
  /** End of the last refresh. */
  #readAt = -Infinity;
  /** Beginning of the last refresh. */
  #begunAt = -Infinity;
  /** Beginning of the last listing that confirms the states of the servers that it does not contain. */
  #confirmedAt = -Infinity;
  /** End of the last incomplete listing. A later complete listing of all servers resets it to -Infinity. */
  #missedAt = -Infinity;
  /** Beginning of the last listing of all servers. */
  #fullAt = -Infinity;
  #isListingAll = false;
  readonly #clock = new SlowestClock();
  /** Nova's time, by its slowest clock, when the last refresh began; undefined if Nova did not report its time. */
  #asOf: number | undefined;

  /** @param timeoutMs maximum time of one request to Nova. */
  constructor(
    api: Pick<ComputeApi, 'listServers'>,
    { filter, timeoutMs }: { readonly filter: ServerFilter; readonly timeoutMs: number },
  ) {
    this.#api = api;
    this.#filter = filter;
    this.#readMs = REQUESTS_PER_READ * timeoutMs;
  }

  /**
   * Lists the servers, unless a listing is younger than `maxAgeMs`. Simultaneous callers share one listing.
   * @throws as {@link ComputeApi.listServers}.
   */
  async refresh(maxAgeMs: number): Promise<void> {
    if (performance.now() - this.#readAt <= maxAgeMs) return;
    this.#refreshing ??= this.#list().finally(() => {
      this.#refreshing = undefined;
    });
    await this.#refreshing;
  }

  /**
   * Lists all servers again if the last such listing is too old. Refreshes do not wait for this listing, because it
   * takes long for many servers.
   */
  async listAllIfDue(): Promise<void> {
    const isDue = performance.now() - this.#fullAt > FULL_EVERY_MS;
    // Without Nova's time, each refresh lists all servers, so no further listing is necessary.
    if (this.#asOf === undefined || this.#isListingAll || !isDue) return;
    this.#isListingAll = true;
    try {
      await this.#read(undefined);
    } finally {
      this.#isListingAll = false;
    }
  }

  /** Returns the servers; the same array until a server is added, removed or renamed. */
  get refs(): readonly SystemRef[] {
    this.#refs ??= [...this.#entries.values()].map(({ server }) => ({ uuid: server.id, name: server.name }));
    return this.#refs;
  }

  /** Returns the last known state of a server; undefined if it is not served. */
  find(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  /**
   * Returns the state of a server at `since` or later, but possibly with older tags and metadata; undefined if it is
   * not known. A listing of changes confirms the states of all servers that it does not contain. It also lacks servers
   * whose cell does not answer, so the state of such a server may be older.
   * @param since time of {@link performance.now}.
   */
  findSince(id: string, since: number): Entry | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.snapshot.unansweredSince !== undefined) return undefined;
    return Math.max(entry.readAt, this.#confirmedAt) >= since ? entry : undefined;
  }

  /** Whether tags or metadata decide which servers are served. A listing of changes does not report their changes. */
  get filtersByItems(): boolean {
    return this.#filter.tags !== undefined || this.#filter.metadata !== undefined;
  }

  /**
   * Returns whether a listing of {@link refresh} has begun at `since` or later, and has ended.
   * @param since time of {@link performance.now}.
   */
  isListedSince(since: number): boolean {
    return this.#begunAt >= since;
  }

  /** Returns the last known state of all servers. */
  get servers(): readonly Server[] {
    return [...this.#entries.values()].map(({ server }) => server);
  }

  /**
   * Stores the state of one server, and reports changes to the listeners. Answers may arrive in another order than
   * their requests, so it ignores the answer to an older request.
   * @param server undefined: the server does not exist.
   * @returns the latest snapshot; undefined if the server is not served, or if no more than its id was ever
   *   known.
   */
  record(
    id: string,
    server: Server | UnknownServer | undefined,
    { readAt, ports }: Reading,
  ): SystemSnapshot | undefined {
    const before = this.#entries.get(id);
    if ((before?.readAt ?? this.#removed.get(id) ?? -Infinity) > readAt) return before?.snapshot;
    if (server !== undefined && !isKnown(server)) return this.#recordUnknown(before, readAt);
    if (server === undefined || isDeleted(server) || !matches(server, this.#filter)) {
      this.#remove(id, before, readAt);
      return undefined;
    }
    // If the addresses have changed, the known ports are older than the interfaces, so the list forgets these ports.
    const isOutdated = before !== undefined && !isDeepStrictEqual(before.server.macs, server.macs);
    const all = ports ?? (isOutdated ? undefined : before?.ports);
    const isSame =
      before !== undefined &&
      before.snapshot.unansweredSince === undefined &&
      isDeepStrictEqual(before.server, server) &&
      isDeepStrictEqual(before.ports, all);
    const snapshot = isSame ? before.snapshot : snapshotOf(server, all);
    this.#entries.set(id, { server, snapshot, ports: all, readAt });
    if (before?.server.name !== server.name) this.#refs = undefined;
    if (!isSame) this.#report(before, { server, snapshot });
    return snapshot;
  }

  /**
   * Shows the task of an action that Nova has just accepted, until a later request reads the server. Otherwise, a
   * client could still read the state before the action, from a reading or a listing that began earlier.
   * @param task undefined: Nova has none for the action.
   */
  recordTask(id: string, task: string | undefined): void {
    const server = this.#entries.get(id)?.server;
    if (server !== undefined && task !== undefined) this.record(id, { ...server, task }, { readAt: performance.now() });
  }

  /** Adds a listener. @returns a function that removes it. */
  onChange(listener: MachineChangeListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Lists the changes; all servers if Nova has not reported its time. */
  async #list(): Promise<void> {
    const { startedAt, asOf } = await this.#read(this.#asOf === undefined ? undefined : this.#asOf - OVERLAP_MS);
    this.#asOf = asOf === undefined ? undefined : this.#clock.timeOf(asOf, startedAt);
    // Counts the age from the end of the listing. Otherwise, a listing that takes longer than `maxAgeMs` would be too
    // old for every reader, and each reader would begin another one.
    this.#readAt = performance.now();
    this.#begunAt = startedAt;
  }

  /** @param since Nova's time; undefined: lists all servers. */
  async #read(since: number | undefined): Promise<{ readonly startedAt: number; readonly asOf: number | undefined }> {
    const startedAt = performance.now();
    const isFull = since === undefined;
    const running = { startedAt };
    this.#running.add(running);
    try {
      const { servers, isIncomplete, asOf } = await this.#api.listServers(since);
      for (const server of servers) this.record(server.id, server, { readAt: startedAt });
      // An incomplete listing has a server without an id, which may be one of the missing servers. So it removes no
      // server.
      if (isFull && !isIncomplete) this.#removeAllBut(new Set(servers.map(({ id }) => id)), startedAt);
      if (isFull) {
        this.#fullAt = startedAt;
        this.#clock.beginPeriod();
      }
      if (isIncomplete) this.#missedAt = performance.now();
      else if (isFull && this.#missedAt < startedAt) this.#missedAt = -Infinity;
      if (this.#missedAt === -Infinity) this.#confirmedAt = Math.max(this.#confirmedAt, startedAt);
      // An old removal only protects against answers to requests that began before it: the running listings, and reads
      // of single servers.
      const oldest = Math.min(...[...this.#running].map((each) => each.startedAt), performance.now() - this.#readMs);
      for (const [id, at] of this.#removed) if (at < oldest) this.#removed.delete(id);
      return { startedAt, asOf };
    } finally {
      this.#running.delete(running);
    }
  }

  /** Removes the servers that a listing of all servers lacks, and that no later request has read. */
  #removeAllBut(listed: ReadonlySet<string>, startedAt: number): void {
    for (const [id, entry] of this.#entries) {
      if (!listed.has(id) && entry.readAt < startedAt) this.#remove(id, entry, startedAt);
    }
  }

  /** Marks a server whose cell does not answer. @returns its last known state, marked; undefined if there is none. */
  #recordUnknown(before: Entry | undefined, readAt: number): SystemSnapshot | undefined {
    if (before === undefined) return undefined;
    const snapshot = { ...before.snapshot, unansweredSince: before.snapshot.unansweredSince ?? new Date() };
    this.#entries.set(before.server.id, { ...before, snapshot, readAt });
    return snapshot;
  }

  /**
   * @param entry undefined: the list does not have the server. Its removal is still recorded,
   *   because a running listing may contain it.
   */
  #remove(uuid: string, entry: Entry | undefined, readAt: number): void {
    this.#removed.set(uuid, readAt);
    if (entry === undefined) return;
    this.#entries.delete(uuid);
    this.#refs = undefined;
    this.#notify({ kind: 'undefined', uuid, name: entry.server.name });
  }

  #report(before: Entry | undefined, { server, snapshot }: Pick<Entry, 'server' | 'snapshot'>): void {
    const { id: uuid, name } = server;
    // The first listing causes no events, because its servers existed before the daemon started.
    if (before === undefined) {
      if (this.#fullAt !== -Infinity) this.#notify({ kind: 'defined', uuid, name });
      return;
    }
    const kind = changeOfState(before.snapshot.state, snapshot.state);
    if (kind !== undefined) this.#notify({ kind, uuid, name });
    else if (isRestarted(before.server, server)) this.#notify({ kind: 'rebooted', uuid, name });
    if (!isDeepStrictEqual(definitionOf(before), definitionOf({ server, snapshot })))
      this.#notify({ kind: 'changed', uuid, name });
  }

  #notify(change: MachineChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** Returns the values that belong to the definition of a server, and not to its state. */
function definitionOf({ server, snapshot }: Pick<Entry, 'server' | 'snapshot'>): unknown {
  return [server.name, server.description, server.flavor, snapshot.interfaces, snapshot.disks];
}

/** Returns whether a restart ended between two states of a server. Begin and end of rescue mode are restarts too. */
function isRestarted(before: Server, after: Server): boolean {
  if (after.task !== null) return false;
  if (before.task?.startsWith('reboot') === true) return true;
  const states = [before.vmState, after.vmState];
  return states.includes('rescued') && states.includes('active');
}
