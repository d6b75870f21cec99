/**
 * Sessions in the shared store: a session is valid, is listed and ends at every replica. Sessions
 * of consoles are only in the memory of this replica, because they end with its connections.
 */
import { hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Session } from '../../offers/logins.js';
import type { EntryChange } from '@rackless/daemon/shared-store/entries.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { newSessionToken } from '../session-token.js';
import { createSessions, type LocalSessions, type Sessions, type SessionsOptions } from '../sessions.js';

const KIND = 'session';

const form = z.object({
  user: z.string().nullable(),
  address: z.string(),
  createdAt: z.number(),
  digest: z.string(),
  hash: z.string(),
  /**
   * Time of a recent use, on the clock of the store. Not every use is stored: see {@link
   * TOUCH_SHARE}.
   */
  usedAt: z.number(),
});
type StoredSession = z.infer<typeof form>;
/** Keeps members that a newer version of the daemon has added. */
const schema: z.ZodType<StoredSession> = form.loose();

/** A session in the copy of this replica. */
interface KnownSession {
  readonly revision: number;
  readonly session: Session;
  readonly stored: StoredSession;
}

/**
 * A replica stores a use of a session only if the stored use is older than this share of the idle
 * time. So that no replica ends a session too early, an idle session lives longer by the same
 * share.
 */
const TOUCH_SHARE = 1 / 20;
/** Attempts to store a new hash of a session while other replicas change the session. After them, the session ends. */
const MAX_ATTEMPTS = 5;

/** Opens the sessions that all replicas share. It creates no session. */
export function createSharedSessions(store: SharedStore, options: SessionsOptions): Sessions {
  return new SharedSessions(store, options);
}

class SharedSessions implements Sessions {
  readonly #store: SharedStore;
  readonly #options: SessionsOptions;
  readonly #consoles: LocalSessions;
  readonly #usedHere = new Map<string, number>();
  readonly #touching = new Set<string>();
  #known = new Map<string, KnownSession>();
  #byDigest = new Map<string, KnownSession>();

  constructor(store: SharedStore, options: SessionsOptions) {
    this.#store = store;
    this.#options = options;
    this.#consoles = createSessions(options);
    this.#load();
    store.onChange(() => this.#load());
  }

  async create({ user, address, type = 'Redfish' }: Parameters<Sessions['create']>[0]) {
    if (type !== 'Redfish') return this.#consoles.create({ user, address, type });
    const passwordHash = this.#options.hashOf(user);
    if (passwordHash === undefined) return undefined;
    const id = randomBytes(8).toString('hex');
    const token = newSessionToken();
    const time = this.#store.now();
    const stored = { user, address, createdAt: time, digest: digestOf(token), hash: passwordHash, usedAt: time };
    await this.#store.commit([...this.#removalsForNew(user), { kind: KIND, id, expected: 0, value: stored }]);
    return { session: this.#known.get(id)?.session ?? sessionOf(id, stored), token };
  }

  use(token: string): Session | undefined {
    const entry = this.#byDigest.get(digestOf(token));
    if (entry === undefined || !this.#isOpen(entry)) return undefined;
    const time = this.#store.now();
    this.#usedHere.set(entry.session.id, time);
    void this.#touch(entry, time);
    return entry.session;
  }

  find(id: string): Session | undefined {
    const entry = this.#known.get(id);
    return entry !== undefined && this.#isOpen(entry) ? entry.session : this.#consoles.find(id);
  }

  list(): readonly Session[] {
    return [...this.#openSessions().map(({ session }) => session), ...this.#consoles.list()];
  }

  async end(id: string): Promise<boolean> {
    const entry = this.#known.get(id);
    if (entry === undefined) return this.#consoles.end(id);
    const wasOpen = this.#isOpen(entry);
    await this.#store.commit(removalOf([entry]));
    return wasOpen;
  }

  async endAll(user: string): Promise<void> {
    this.#consoles.endAll(user);
    const sessionsOfUser = [...this.#known.values()].filter(({ session }) => session.user === user);
    if (sessionsOfUser.length > 0) await this.#store.commit(removalOf(sessionsOfUser));
  }

  async adoptNewHash(id: string): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const entry = this.#known.get(id);
      const passwordHash = entry === undefined ? undefined : this.#options.hashOf(entry.stored.user);
      if (entry === undefined || passwordHash === undefined) return;
      if (await this.#store.commit([changeOf(entry, { hash: passwordHash })])) return;
    }
  }

  #load(): void {
    const lastKnown = this.#known;
    this.#known = new Map();
    this.#byDigest = new Map();
    for (const { id, revision, value } of this.#store.list(KIND)) {
      const lastEntry = lastKnown.get(id);
      const stored = lastEntry?.revision === revision ? lastEntry.stored : schema.safeParse(value).data;
      if (stored === undefined) continue;
      // Uses the same object while the session exists, because `authenticate` caches an identity by
      // this object.
      const session = lastEntry?.session ?? sessionOf(id, stored);
      const newEntry = { revision, session, stored };
      this.#known.set(id, newEntry);
      this.#byDigest.set(stored.digest, newEntry);
    }
    for (const id of this.#usedHere.keys()) if (!this.#known.has(id)) this.#usedHere.delete(id);
  }

  #usedAt({ session, stored }: KnownSession): number {
    return Math.max(stored.usedAt, this.#usedHere.get(session.id) ?? 0);
  }

  #isOpen(entry: KnownSession): boolean {
    return !this.#isIdle(entry) && this.#options.hashOf(entry.stored.user) === entry.stored.hash;
  }

  #isIdle(entry: KnownSession): boolean {
    return this.#store.now() - this.#usedAt(entry) > this.#options.idleMs() * (1 + TOUCH_SHARE);
  }

  #openSessions(): readonly KnownSession[] {
    const open = [...this.#known.values()].filter((entry) => this.#isOpen(entry));
    return open.sort((a, b) => a.stored.createdAt - b.stored.createdAt);
  }

  async #touch(entry: KnownSession, time: number): Promise<void> {
    const { id } = entry.session;
    if (time - entry.stored.usedAt < this.#options.idleMs() * TOUCH_SHARE || this.#touching.has(id)) return;
    this.#touching.add(id);
    // A failure has no effect on the request. The next use retries.
    await this.#store.commit([changeOf(entry, { usedAt: time })]).catch(() => false);
    this.#touching.delete(id);
  }

  /**
   * Returns the removals that a new session of a user needs: of sessions whose idle time is over,
   * and of the least recently used sessions above the limits.
   */
  #removalsForNew(user: string | null): readonly EntryChange[] {
    const { perUser, total } = this.#options;
    const open = this.#openSessions().toSorted((a, b) => this.#usedAt(a) - this.#usedAt(b));
    const openOfUser = open.filter(({ session }) => session.user === user);
    const removed = new Set([...this.#known.values()].filter((entry) => this.#isIdle(entry)));
    for (const entry of openOfUser.slice(0, Math.max(0, openOfUser.length - perUser + 1))) removed.add(entry);
    const remaining = open.filter((entry) => !removed.has(entry));
    for (const entry of remaining.slice(0, Math.max(0, remaining.length - total + 1))) removed.add(entry);
    return removalOf([...removed]);
  }
}

const removalOf = (sessions: readonly KnownSession[]): readonly EntryChange[] =>
  sessions.map(({ session }) => ({ kind: KIND, id: session.id, value: null }));

/**
 * Returns the change of a session. The store rejects the change if another replica has changed or
 * removed the session: then its revision is not the expected one.
 */
const changeOf = ({ session, revision, stored }: KnownSession, change: Partial<StoredSession>): EntryChange => ({
  kind: KIND,
  id: session.id,
  expected: revision,
  value: { ...stored, ...change },
});

const sessionOf = (id: string, { user, address, createdAt }: StoredSession): Session => ({
  id,
  user,
  createdAt: new Date(createdAt),
  address,
  type: 'Redfish',
});

function digestOf(token: string): string {
  return hash('sha256', token, 'base64');
}
