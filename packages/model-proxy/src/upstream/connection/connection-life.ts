/** Limits the age and the number of requests of connections to upstreams. */

/**
 * Maximum age and maximum number of requests of a connection. Without limits, a connection under
 * steady load would never end, and new DNS addresses or new pods of a service would get no
 * requests. nginx has the same number of requests.
 */
export const CONNECTION_LIMITS = { ageMs: 300_000, requests: 1000 };
/**
 * The maximum age is shortened by a random part of up to this fraction, so that connections do not
 * all end together.
 */
const AGE_SPREAD = 0.2;

/** The age and the number of requests of a connection. */
export class ConnectionLife {
  readonly #expiresAt: number;
  #requests = 0;

  /** @param now milliseconds of a clock, the same as for {@link isOver}. */
  constructor(now: number) {
    this.#expiresAt = now + CONNECTION_LIMITS.ageMs * (1 - AGE_SPREAD * Math.random());
  }

  /** The number of requests so far. */
  get requests(): number {
    return this.#requests;
  }

  /** Counts a request. */
  countRequest(): void {
    this.#requests += 1;
  }

  /** Returns whether the connection has reached a limit. It must not carry another request then. */
  isOver(now: number): boolean {
    return now >= this.#expiresAt || this.#requests >= CONNECTION_LIMITS.requests;
  }
}
