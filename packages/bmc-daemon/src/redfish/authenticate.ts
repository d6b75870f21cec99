/** What the pipeline asks of auth/: who sent this request. */
import type { IncomingMessage } from 'node:http';
import type { Awaitable } from './resource.js';

export interface Authenticated {
  /** The account's name; null where no AUTH_FILE is set and everybody may come in. */
  readonly user: string | null;
}

/** The request is answered with 401. */
export interface Refusal {
  /** For the log, never for the client: `no credentials`, `wrong password`. Without the credentials themselves. */
  readonly refused: string;
  /** Name that was tried, for the log. */
  readonly attemptedUser?: string;
  /** Sent as Retry-After: whoever guesses passwords is asked to wait. */
  readonly retryAfterSeconds?: number;
}

/**
 * Decides who sends a request, from its headers and its peer's address; the body is not read. Answering without a promise
 * (a remembered password) saves the request a turn of the event loop.
 */
export type Authenticate = (request: IncomingMessage) => Awaitable<Authenticated | Refusal>;

/** The `authenticate` of a service without an AUTH_FILE. */
export const openToAll: Authenticate = () => ({ user: null });
