/** What is asked of auth/: who sent this request. And the one answer to nobody we know. */
import type { IncomingMessage } from 'node:http';
import { privilegeNames, type Privilege } from '../auth/privileges.js';
import { RedfishError } from './errors.js';
import { message, withDetail } from './messages.js';
import type { Awaitable } from './resource.js';

/** Who sends a request, and what he may do. */
export interface Authenticated {
  /** The account's name; null where no AUTH_FILE is set and everybody may come in. */
  readonly user: string | null;
  /** Of the account's role, `Administrator`. */
  readonly roleId: string;
  /** `ConfigureSelf` alone until a password that must be changed is changed. */
  readonly privileges: ReadonlySet<Privilege>;
  /** Id of the session that the request belongs to; null for a user and password. */
  readonly session: string | null;
  readonly passwordChangeRequired: boolean;
}

/** The request is answered with 401, or with 503 if the credentials were not verified. */
export interface Refusal {
  /** For the log, never for the client: `no credentials`, `wrong password`. Without the credentials themselves. */
  readonly refused: string;
  /** Name that was tried, for the log. */
  readonly attemptedUser?: string;
  /** The credentials were not verified: the client may send them again after so long. */
  readonly retryAfterSeconds?: number;
  /** User and password are not to be offered as a way in (HTTPBasicAuth). */
  readonly hidesBasic?: boolean;
}

/**
 * Decides who sends a request, from its headers and its peer's address; the body is not read. Answering without a promise
 * (a remembered password) saves the request a turn of the event loop.
 */
export type Authenticate = (request: IncomingMessage) => Awaitable<Authenticated | Refusal>;

/** Who comes in where no AUTH_FILE is set: may do everything. */
export const anybody: Authenticated = {
  user: null,
  roleId: 'Administrator',
  privileges: new Set(privilegeNames),
  session: null,
  passwordChangeRequired: false,
};

/** The `authenticate` of a service without an AUTH_FILE and without sessions. */
export const openToAll: Authenticate = () => anybody;

/** Who has not said who it is: may do what needs no credentials. */
export const stranger: Authenticated = { ...anybody, roleId: '', privileges: new Set() };

/**
 * The answer to a {@link Refusal}. A 401 never says what was wrong, only how to do it right (RFC 9110 §11.6.1); the reason is in
 * `refused`, for the log. Credentials that were not verified are a 503: clients take a 401 for a wrong password and give up.
 */
export class LoginRefused extends RedfishError {
  /** As {@link describeRefusal}. */
  readonly refused: string;

  constructor(refusal: Refusal) {
    const { retryAfterSeconds, hidesBasic = false } = refusal;
    if (retryAfterSeconds === undefined)
      super(401, [message('AccessUnauthorized')], {
        // RFC 9110 §15.5.2: a 401 needs a challenge. Session is no registered scheme on purpose: no client tries it.
        'WWW-Authenticate': hidesBasic ? 'Session realm="Rackless"' : 'Basic realm="Rackless", charset="UTF-8"',
      });
    else {
      const seconds = String(Math.ceil(retryAfterSeconds));
      const busy = withDetail(
        message('ServiceTemporarilyUnavailable', seconds),
        'The user name and the password were not verified: too many log-ins are waiting.',
      );
      super(503, [busy], { 'Retry-After': seconds });
    }
    this.refused = describeRefusal(refusal);
  }
}

/** What was wrong, for the log. */
export function describeRefusal({ refused, attemptedUser }: Refusal): string {
  return attemptedUser === undefined ? refused : `${refused}, user ${attemptedUser}`;
}
