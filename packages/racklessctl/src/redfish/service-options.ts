/** How to reach a service, and with which credentials. */
import type { Endpoint } from './exchange.js';

/** Credentials of a client. */
export interface Credentials {
  readonly user: string;
  readonly password: string;
  /** `session`: a login, and its token with each request. `basic`, or no sessions: the password with each request. */
  readonly method: 'session' | 'basic';
}

/** Options of `openService`. */
export interface ServiceOptions {
  readonly endpoint: Endpoint;
  /** Undefined: no login. */
  readonly credentials: Credentials | undefined;
  /** Ends all requests. */
  readonly signal: AbortSignal;
}
