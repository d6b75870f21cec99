/**
 * Stores the access token of a deployment, and refreshes it before it expires. Requests use the
 * stored token, and wait only if there is none.
 */

/** A token, as the server sent it. */
export interface FetchedToken {
  readonly token: string;
  /** Positive. */
  readonly lifetimeMs: number;
}

/** A server did not give a token. */
export class TokenFault extends Error {
  override readonly name = 'TokenFault';
  /** Whether the credentials are missing, invalid or rejected, so that a retry does not help. */
  readonly isRejection: boolean;

  constructor(message: string, { isRejection, cause }: { readonly isRejection: boolean; readonly cause?: unknown }) {
    super(message, cause === undefined ? {} : { cause });
    this.isRejection = isRejection;
  }
}

/** Maximum length of a reason in a message, in characters. */
const MAX_REASON_LENGTH = 300;

/** Returns the first line of a reason, shortened. Mask secrets before. */
export function firstLine(reason: string): string {
  return reason.split(/[\r\n]/, 1)[0]?.slice(0, MAX_REASON_LENGTH) ?? '';
}

/** A token to use, or the error of the last attempt. */
export type TokenResult = { readonly token: string } | { readonly fault: TokenFault };

/** Options of {@link TokenSource}. */
interface TokenSourceOptions {
  /** Gets a new token. Only one call runs at a time. @param signal aborts when the source is closed. */
  readonly fetch: (signal: AbortSignal) => Promise<FetchedToken>;
  /** Called when an attempt fails. */
  readonly onFault: (fault: TokenFault) => void;
}

/** Part of the lifetime after which the token is refreshed. */
const REFRESH_AFTER = 0.8;
/** Requests do not use a token in this last part of its lifetime, or in the last tenth of a short lifetime. */
const MARGIN_MS = 30_000;
/** Maximum lifetime, because a server may promise any. */
const MAX_LIFETIME_MS = 24 * 3600 * 1000;
/** For this time after a fault, requests without a usable token get the same fault, and do not fetch a token again. */
const FAULT_PAUSE_MS = 5_000;
/** Time between attempts to refresh a token that is still valid. */
const RETRY_MS = 30_000;
/** Minimum time until a scheduled refresh, because a server may give tokens that expire after a millisecond. */
const MIN_REFRESH_MS = 1_000;

/** The token for one set of credentials. The owner closes the source. */
export class TokenSource {
  readonly #options: TokenSourceOptions;
  #token: string | null = null;
  /** Times of `performance.now()`. */
  #usableUntil = 0;
  #fault: TokenFault | null = null;
  #faultUntil = 0;
  #waiting: ((result: TokenResult) => void)[] = [];
  #isFetching = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #closing = new AbortController();

  constructor(options: TokenSourceOptions) {
    this.#options = options;
  }

  /** Returns the stored result; null: there is none, so {@link wait} must be called. */
  current(): TokenResult | null {
    const now = performance.now();
    if (this.#token !== null && now < this.#usableUntil) return { token: this.#token };
    if (this.#fault !== null && now < this.#faultUntil) return { fault: this.#fault };
    return null;
  }

  /**
   * Gets a token.
   * @param then called once and asynchronously; not called if the source is already closed.
   * @returns a function that cancels the call.
   */
  wait(then: (result: TokenResult) => void): () => void {
    this.#waiting.push(then);
    this.refresh();
    return () => {
      this.#waiting = this.#waiting.filter((other) => other !== then);
    };
  }

  /** Starts to get a token, unless that is in progress, or the source is closed. */
  refresh(): void {
    if (this.#isFetching || this.#closing.signal.aborted) return;
    this.#isFetching = true;
    this.#options.fetch(this.#closing.signal).then(
      (fetched) => this.#store(fetched),
      (error: unknown) => this.#fail(error),
    );
  }

  /** Stops the refreshes, also one that is in progress. */
  close(): void {
    this.#closing.abort();
    clearTimeout(this.#timer);
  }

  #store({ token, lifetimeMs }: FetchedToken): void {
    const lifetime = Math.min(lifetimeMs, MAX_LIFETIME_MS);
    this.#isFetching = false;
    this.#token = token;
    this.#usableUntil = performance.now() + lifetime - Math.min(MARGIN_MS, lifetime / 10);
    this.#fault = null;
    this.#schedule(Math.max(lifetime * REFRESH_AFTER, MIN_REFRESH_MS));
    this.#answer({ token });
  }

  #fail(error: unknown): void {
    const fault = error instanceof TokenFault ? error : unreachable(error);
    const now = performance.now();
    this.#isFetching = false;
    this.#fault = fault;
    this.#faultUntil = now + FAULT_PAUSE_MS;
    if (now < this.#usableUntil) this.#schedule(RETRY_MS);
    if (!this.#closing.signal.aborted) this.#options.onFault(fault);
    this.#answer({ fault });
  }

  #answer(result: TokenResult): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const then of waiting) then(result);
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => this.refresh(), delayMs);
    this.#timer.unref();
  }
}

function unreachable(error: unknown): TokenFault {
  const why = error instanceof Error ? error.message : String(error);
  return new TokenFault(`gave no token: ${why}`, { isRejection: false, cause: error });
}
