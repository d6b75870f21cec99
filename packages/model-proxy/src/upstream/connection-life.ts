/** How long connections to upstreams live, whichever client uses them. */

/**
 * How old a connection becomes and how many requests it carries. Under steady load it would never end otherwise, and new addresses in
 * the DNS or new pods behind a service would get no requests. nginx has 1000 requests, too.
 */
export const CONNECTION_LIMITS = { ageMs: 300_000, requests: 1000 };
/** Connections that begin together do not end together: each one's age is shorter by up to this fraction. */
const AGE_SPREAD = 0.2;

/** Age and requests of one connection. */
export class ConnectionLife {
  readonly #expiresAt: number;
  #requests = 0;

  /** @param now milliseconds of any clock, the same as for {@link isOver}. */
  constructor(now: number) {
    this.#expiresAt = now + CONNECTION_LIMITS.ageMs * (1 - AGE_SPREAD * Math.random());
  }

  /** Requests that were counted. */
  get requests(): number {
    return this.#requests;
  }

  countRequest(): void {
    this.#requests += 1;
  }

  /** Whether the connection has reached one of {@link CONNECTION_LIMITS}, and may carry no other request. */
  isOver(now: number): boolean {
    return now >= this.#expiresAt || this.#requests >= CONNECTION_LIMITS.requests;
  }
}
