/** The part of the feature `accounts` that all requests, WebSockets, event streams and consoles use. */
import type { Awaitable } from '../redfish/resource.js';
import type { Authenticate, Authenticated, Refusal, WatchIdentity } from '../redfish/authenticate.js';

/** Redfish's type of a session: for requests with a token, or for a console connection. */
export type SessionType = 'Redfish' | 'HostConsole';

/** A session; never mutated. */
export interface Session {
  /** Independent of the token. */
  readonly id: string;
  /** Null if the service has no accounts and the client gave no name. */
  readonly user: string | null;
  readonly createdAt: Date;
  /** The client's address. */
  readonly address: string;
  readonly type: SessionType;
}

/** The credentials and type of a new session. */
export interface SessionRequest {
  readonly user: string | null;
  readonly password: string | null;
  /** Default: `Redfish`. */
  readonly type?: SessionType;
}

/** A session that was opened just now. */
export interface NewSession {
  readonly session: Session;
  /** The token, a secret of the client. */
  readonly token: string;
  readonly passwordChangeRequired: boolean;
}

/** The client of a login attempt. */
export interface LoginClient {
  /** The client's IP address. */
  readonly address: string;
  /** Returns whether the client no longer waits for the answer. */
  isGone(): boolean;
}

/**
 * A rejected attempt. It contains no input of the client except the name of an existing account.
 */
export interface RefusedAttempt {
  /**
   * Name of the account; null if no account has the name that the client sent. Such a name may be a password in
   * the wrong field, so it is not reported.
   */
  readonly account: string | null;
  /** The client's IP address. */
  readonly address: string;
  /** For example `wrong password`. */
  readonly reason: string;
}

/** An account, as consoles and event streams check it. */
interface LoginAccount {
  /** The hash of the password. A new hash means a new password. */
  readonly hash: string;
  readonly enabled: boolean;
  /** The identity of this account's requests, without a session. */
  readonly identity: Authenticated;
}

/** Logins of clients, over any protocol. */
export interface Logins {
  /** Authenticates every Redfish request. */
  readonly authenticate: Authenticate;
  /** Watches the identity of a client whose connection stays open. */
  readonly watchIdentity: WatchIdentity;
  /** Null without a password file: there are no accounts, and every client has all privileges. */
  readonly accounts: { find(user: string): LoginAccount | undefined } | null;
  readonly sessions: {
    find(id: string): Session | undefined;
    /** Ends a session. @returns false if there is no such session. */
    end(id: string): Awaitable<boolean>;
  };
  /**
   * Calls the listener for every rejected login. The listener must not throw.
   * @returns a function that removes the listener.
   */
  onRefusedLogin(listener: (attempt: RefusedAttempt) => void): () => void;
  /** Opens a session. Uses the same attempt queue as HTTP Basic. */
  openSession(request: SessionRequest, client: LoginClient): Promise<NewSession | Refusal>;
}
