/** The interface to auth/: who sent a request, and the error for a client that could not log in. */
import type { IncomingMessage } from 'node:http';
import { privilegeNames, type Privilege } from './privileges.js';
import { RedfishError } from './messages/errors.js';
import { message, withDetail } from './messages/messages.js';
import type { Awaitable } from './resource.js';

/** The client of a request and its privileges. */
export interface Authenticated {
  /** The account's name; null without EMULATOR_AUTH_FILE, and for a client that has not logged in. */
  readonly user: string | null;
  /** The account's role, for example `Administrator`; empty for a client that has not logged in. */
  readonly roleId: string;
  /** Only `ConfigureSelf` while the account must change its password. */
  readonly privileges: ReadonlySet<Privilege>;
  /** Id of the request's session; null without a session, for example with HTTP Basic credentials. */
  readonly session: string | null;
  readonly passwordChangeRequired: boolean;
}

/** A failed login. The service answers 401, or 503 if it could not verify the credentials. */
export interface Refusal {
  /**
   * The reason, for the log only: `no credentials`, `wrong password`. Never contains credentials.
   */
  readonly refused: string;
  /** The user name that the client sent, for the log. */
  readonly attemptedUser?: string;
  /** Set if the service did not verify the credentials: the client may retry after this time. */
  readonly retryAfterSeconds?: number;
  /** Whether the 401 must not offer HTTP Basic (the AccountService property HTTPBasicAuth). */
  readonly hidesBasic?: boolean;
}

/**
 * Identifies the client from the request's headers and the peer's address, without reading the
 * body. Without replicas, the result for a token or a cached password is not a promise, which saves a
 * turn of the event loop. With replicas, may reject with a StoreUnavailable.
 */
export type Authenticate = (request: IncomingMessage) => Awaitable<Authenticated | Refusal>;

/**
 * Begins to watch the identity of a client. The returned function returns the current identity. It returns
 * undefined if the session has ended, or if the account is disabled, removed or has a new password.
 * A session that changed the password of its own account stays valid.
 */
export type WatchIdentity = (client: Pick<Authenticated, 'user' | 'session'>) => () => Authenticated | undefined;

/** A client with all privileges, such as each client of a service without EMULATOR_AUTH_FILE. */
export const fullAccess: Authenticated = {
  user: null,
  roleId: 'Administrator',
  privileges: new Set(privilegeNames),
  session: null,
  passwordChangeRequired: false,
};

/** Accepts every client: for a service without EMULATOR_AUTH_FILE and without sessions. */
export const withoutLogin: Authenticate = () => fullAccess;

/** A client that has not logged in: it has no privileges. */
export const anonymous: Authenticated = { ...fullAccess, roleId: '', privileges: new Set() };

/**
 * The error for a {@link Refusal}. A 401 shows the accepted schemes, and never the reason (RFC 9110
 * §11.6.1); `refused` has the reason for the log. Credentials that the service did not verify are a
 * 503, because clients understand a 401 as a wrong password and do not retry.
 */
export class LoginRefused extends RedfishError {
  /** The text of {@link describeRefusal}. */
  readonly refused: string;

  constructor(refusal: Refusal) {
    const { retryAfterSeconds, hidesBasic = false } = refusal;
    if (retryAfterSeconds === undefined)
      super(401, [message('AccessUnauthorized')], {
        // RFC 9110 §15.5.2: a 401 needs a challenge. `Session` is not a registered scheme, so
        // clients ignore it.
        'WWW-Authenticate': hidesBasic ? 'Session realm="Rackless"' : 'Basic realm="Rackless", charset="UTF-8"',
      });
    else {
      const seconds = String(Math.ceil(retryAfterSeconds));
      const busy = withDetail(
        message('ServiceTemporarilyUnavailable', seconds),
        'The user name and the password were not verified: too many logins are waiting.',
      );
      super(503, [busy], { 'Retry-After': seconds });
    }
    this.refused = describeRefusal(refusal);
  }
}

/** Returns the reason and the user name, for the log. */
export function describeRefusal({ refused, attemptedUser }: Refusal): string {
  return attemptedUser === undefined ? refused : `${refused}, user ${attemptedUser}`;
}
