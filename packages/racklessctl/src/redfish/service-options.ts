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
}
