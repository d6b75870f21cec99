/** How to reach a service, and with which credentials. */
import type { Endpoint } from './exchange.js';

/** Credentials of a client. */
export interface Credentials {
  readonly user: string;
  readonly password: string;
  /**
   * `session`: a login, then its token with each request. `basic`, or if the service has no sessions: the password
   * with each request.
   */
  readonly method: 'session' | 'basic';
}

/** Options of `openService`. */
export interface ServiceOptions {
  readonly endpoint: Endpoint;
  /** Undefined: no login. */
  readonly credentials: Credentials | undefined;
  /** Ends all requests when it aborts, except a login that runs (it has 5 s more) and the logout. */
  readonly signal: AbortSignal;
  /**
   * Called before a pause after 429 or 503, with this status and the length of the pause. Returns a function to call
   * after the pause. Default: no call.
   */
  readonly onPause?: (status: number, milliseconds: number) => () => void;
}
