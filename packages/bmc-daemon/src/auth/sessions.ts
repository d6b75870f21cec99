/** Sessions: in memory, each until it is ended, is idle for too long, or its account is not what it was. */
import { hash, randomBytes } from 'node:crypto';
import { newSessionToken } from './session-token.js';

/** What a session is for, in Redfish's words: its token's requests, or a console that lasts as long as its connection. */
export type SessionType = 'Redfish' | 'HostConsole';

/** One session; never mutated. */
export interface Session {
  /** Says nothing about the token. */
  readonly id: string;
  /** Null where no AUTH_FILE is set and none was given. */
  readonly user: string | null;
  readonly createdAt: Date;
  /** Of the client. */
  readonly address: string;
  readonly type: SessionType;
}

export interface SessionsOptions {
  /** Milliseconds that only go forward. */
  readonly now: () => number;
  readonly idleMs: () => number;
  /** The account's password hash, undefined where it may not come in; sessions of other hashes are over. */
  readonly hashOf: (user: string | null) => string | undefined;
  /** Sessions of one user; beyond, the one unused for longest ends. */
  readonly perUser: number;
  /** Sessions in all. */
  readonly inAll: number;
}

export interface Sessions {
  /**
   * A console's is never idle, and makes no other session end to have room; whoever has it bounds them and ends it.
   * @param owner its type is by default `Redfish`.
   * @returns undefined where the account may not come in.
   */
  create(
    owner: Pick<Session, 'user' | 'address'> & { readonly type?: SessionType },
  ): { readonly session: Session; readonly token: string } | undefined;
  /** Finds the session of a token and begins its idle time anew. */
  use(token: string): Session | undefined;
  find(id: string): Session | undefined;
  /** In the order of their creation. */
  list(): readonly Session[];
  /** @returns false where there is none. */
  end(id: string): boolean;
  /** Ends every session of a user, whose account may be opened again before one of them is used. */
  endAll(user: string): void;
  /** The password was changed from within this session: it goes on. */
  keep(id: string): void;
}

interface Kept {
  readonly session: Session;
  readonly digest: string;
  hash: string;
  usedAt: number;
}

/** Sessions of a running service. Nothing has to be closed. */
export function createSessions({ now, idleMs, hashOf, perUser, inAll }: SessionsOptions): Sessions {
  const byId = new Map<string, Kept>();
  // Tokens themselves are not kept: what a core dump holds of their digests logs nobody in.
  const byDigest = new Map<string, Kept>();

  const drop = (kept: Kept): void => {
    byId.delete(kept.session.id);
    byDigest.delete(kept.digest);
  };
  const alive = (kept: Kept | undefined, time = now()): Kept | undefined => {
    if (kept === undefined) return undefined;
    const idle = kept.session.type === 'Redfish' && time - kept.usedAt > idleMs();
    if (!idle && hashOf(kept.session.user) === kept.hash) return kept;
    drop(kept);
    return undefined;
  };
  const all = (): readonly Kept[] => [...byId.values()].filter((kept) => alive(kept) !== undefined);
  const makeRoom = (sessions: readonly Kept[], limit: number): void => {
    if (sessions.length < limit) return;
    const oldest = sessions.reduce((left, right) => (right.usedAt < left.usedAt ? right : left));
    drop(oldest);
  };

  return {
    create({ user, address, type = 'Redfish' }) {
      const passwordHash = hashOf(user);
      if (passwordHash === undefined) return undefined;
      if (type === 'Redfish') {
        const others = () => all().filter(({ session }) => session.type === type);
        makeRoom(
          others().filter(({ session }) => session.user === user),
          perUser,
        );
        makeRoom(others(), inAll);
      }
      const session = { id: randomBytes(8).toString('hex'), user, createdAt: new Date(), address, type };
      const token = newSessionToken();
      const kept = { session, digest: digestOf(token), hash: passwordHash, usedAt: now() };
      byId.set(session.id, kept);
      byDigest.set(kept.digest, kept);
      return { session, token };
    },
    use(token) {
      const time = now();
      const kept = alive(byDigest.get(digestOf(token)), time);
      if (kept === undefined) return undefined;
      kept.usedAt = time;
      return kept.session;
    },
    find: (id) => alive(byId.get(id))?.session,
    list: () => all().map(({ session }) => session),
    end(id) {
      const kept = alive(byId.get(id));
      if (kept === undefined) return false;
      drop(kept);
      return true;
    },
    endAll(user) {
      for (const kept of [...byId.values()]) if (kept.session.user === user) drop(kept);
    },
    keep(id) {
      const kept = byId.get(id);
      const passwordHash = kept === undefined ? undefined : hashOf(kept.session.user);
      if (kept !== undefined && passwordHash !== undefined) kept.hash = passwordHash;
    },
  };
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64');
}
