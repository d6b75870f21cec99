/**
 * Sessions in memory. A session ends when a client deletes it, when its idle time is over, when its
 * account is disabled, removed, renamed or gets another password, or when newer sessions exceed a
 * limit. Idle time and limits do not apply to a console session; its creator ends it.
 */
import { hash, randomBytes } from 'node:crypto';
import type { Session, SessionType } from '../offers/logins.js';
import type { Awaitable } from '../redfish/resource.js';
import { newSessionToken } from './session-token.js';

/** Clock and limits of sessions, and access to the password hashes of accounts. */
export interface SessionsOptions {
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Returns how long a Redfish session may be idle, in milliseconds. */
  readonly idleMs: () => number;
  /**
   * Returns the password hash of an account; undefined if the account does not exist or is
   * disabled. A locked account keeps its sessions. When the hash changes, the account's sessions
   * end, except that of {@link Sessions.adoptNewHash}.
   */
  readonly hashOf: (user: string | null) => string | undefined;
  /** Maximum number of Redfish sessions of one user; a further session ends the least recently used one. */
  readonly perUser: number;
  /** Maximum number of Redfish sessions of all users; a further session ends the least recently used one. */
  readonly total: number;
}

/**
 * The sessions of the service. Sessions in memory end with the process; sessions in the shared
 * store do not. With a shared store, the methods that return a promise reject with a StoreUnavailable if it does
 * not answer.
 * @see DSP0266, Redfish session login authentication
 */
export interface Sessions {
  /**
   * Creates a session. A console session never times out and never ends other sessions; its caller
   * limits and ends it.
   * @param owner user, address and type of the session. The default type is `Redfish`.
   * @returns undefined if the account does not exist or is disabled.
   */
  create(
    owner: Pick<Session, 'user' | 'address'> & { readonly type?: SessionType },
  ): Awaitable<OpenedSession | undefined>;
  /** Finds the session of a token and restarts its idle time; undefined if there is none, or it has ended. */
  use(token: string): Session | undefined;
  /** Finds the session with an id; undefined if it has ended. Does not restart its idle time. */
  find(id: string): Session | undefined;
  /** Lists the sessions in the order of creation. With a shared store, console sessions come after all others. */
  list(): readonly Session[];
  /**
   * Ends a session.
   * @returns false if it does not exist, or has already ended.
   */
  end(id: string): Awaitable<boolean>;
  /** Ends all sessions of a user, so that they stay closed even if the account is enabled again. */
  endAll(user: string): Awaitable<void>;
  /**
   * Makes a session valid for the new password hash, after a request of this session changed the
   * password.
   */
  adoptNewHash(id: string): Awaitable<void>;
}

/** A session with its token, a secret of the client. */
interface OpenedSession {
  readonly session: Session;
  readonly token: string;
}

/** Store of sessions in memory. Its methods return results, not promises. */
export interface LocalSessions extends Sessions {
  create(...owner: Parameters<Sessions['create']>): OpenedSession | undefined;
  end(id: string): boolean;
  endAll(user: string): void;
  adoptNewHash(id: string): void;
}

interface StoredSession {
  readonly session: Session;
  readonly digest: string;
  hash: string;
  usedAt: number;
}

/** Creates an empty store of sessions. It needs no close. */
export function createSessions({ now, idleMs, hashOf, perUser, total }: SessionsOptions): LocalSessions {
  const byId = new Map<string, StoredSession>();
  // Only digests of tokens are stored, so a core dump reveals no token.
  const byDigest = new Map<string, StoredSession>();

  const drop = (stored: StoredSession): void => {
    byId.delete(stored.session.id);
    byDigest.delete(stored.digest);
  };
  const dropIfEnded = (stored: StoredSession | undefined, time = now()): StoredSession | undefined => {
    if (stored === undefined) return undefined;
    const idle = stored.session.type === 'Redfish' && time - stored.usedAt > idleMs();
    if (!idle && hashOf(stored.session.user) === stored.hash) return stored;
    drop(stored);
    return undefined;
  };
  const dropEndedAndList = (): readonly StoredSession[] =>
    [...byId.values()].filter((stored) => dropIfEnded(stored) !== undefined);
  const makeRoom = (sessions: readonly StoredSession[], limit: number): void => {
    if (sessions.length < limit) return;
    const leastRecentlyUsed = sessions.reduce((left, right) => (right.usedAt < left.usedAt ? right : left));
    drop(leastRecentlyUsed);
  };

  return {
    create({ user, address, type = 'Redfish' }) {
      const passwordHash = hashOf(user);
      if (passwordHash === undefined) return undefined;
      if (type === 'Redfish') {
        const others = () => dropEndedAndList().filter(({ session }) => session.type === type);
        makeRoom(
          others().filter(({ session }) => session.user === user),
          perUser,
        );
        makeRoom(others(), total);
      }
      const session = { id: randomBytes(8).toString('hex'), user, createdAt: new Date(), address, type };
      const token = newSessionToken();
      const stored = { session, digest: digestOf(token), hash: passwordHash, usedAt: now() };
      byId.set(session.id, stored);
      byDigest.set(stored.digest, stored);
      return { session, token };
    },
    use(token) {
      const time = now();
      const stored = dropIfEnded(byDigest.get(digestOf(token)), time);
      if (stored === undefined) return undefined;
      stored.usedAt = time;
      return stored.session;
    },
    find: (id) => dropIfEnded(byId.get(id))?.session,
    list: () => dropEndedAndList().map(({ session }) => session),
    end(id) {
      const stored = dropIfEnded(byId.get(id));
      if (stored === undefined) return false;
      drop(stored);
      return true;
    },
    endAll(user) {
      for (const stored of [...byId.values()]) if (stored.session.user === user) drop(stored);
    },
    adoptNewHash(id) {
      const stored = byId.get(id);
      const passwordHash = stored === undefined ? undefined : hashOf(stored.session.user);
      if (stored !== undefined && passwordHash !== undefined) stored.hash = passwordHash;
    },
  };
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64');
}
