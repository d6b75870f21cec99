import { onAbort } from './abort.js';
import type { Clock, Timer } from './clock.js';
import type { CallOptions } from './caller.js';
import type { Connection } from './connection.js';
import { clientError, type ClientErrorCode, isLibvirtError, type LibvirtError, toError } from './errors.js';

/** How fast a lost connection is tried again. */
export interface BackoffOptions {
  /** Milliseconds before the first new attempt. Default 100. */
  readonly firstMs: number;
  /** Longest wait; each failure doubles it up to here. Default 5,000. */
  readonly maxMs: number;
}

/** What a {@link StandingConnection} is made of. */
export interface StandingOptions {
  readonly label: string;
  readonly clock: Clock;
  readonly backoff: BackoffOptions;
  /** 0 up to 1; spreads the attempts of many clients. */
  readonly random: () => number;
  /** Longest duration of one attempt, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** True: connect now and after every loss. False: only while somebody waits for it. */
  readonly eager: boolean;
  /** Makes a connection that is ready for calls; `onClosed` must be told when it is lost later. */
  readonly connect: (signal: AbortSignal, onClosed: (error: LibvirtError) => void) => Promise<Connection>;
  readonly onUp?: (connection: Connection) => void;
  readonly onDown?: (error: LibvirtError) => void;
}

/** How to wait for a connection. */
export interface WaitOptions extends CallOptions {
  /** What the wait is for; it appears in errors. Null for the connection itself. */
  readonly procedure?: string | null;
  /** False: the first failed attempt ends the wait. Default true: attempts go on until the time-out. */
  readonly retry?: boolean;
}

/** Somebody who waits; each method ends the wait. */
interface Waiter {
  readonly retry: boolean;
  resolve(connection: Connection): void;
  reject(error: LibvirtError): void;
  notConnected(why: Error | undefined): void;
  closed(): void;
}

/** A connection that lasted this long was a good one: the next loss starts from the first delay again. */
const STABLE_MS = 5_000;

/** One connection that is made again when it breaks, with exponential back-off and jitter. */
export class StandingConnection {
  #current: Connection | null = null;
  #lastError: Error | null = null;
  #failures = 0;
  #upSince = 0;
  #notBefore = -Infinity;
  #timer: Timer | null = null;
  #attempt: AbortController | null = null;
  #closed = false;
  readonly #waiters = new Set<Waiter>();

  constructor(private readonly options: StandingOptions) {
    if (options.eager) this.#ensure();
  }

  /** The connection, ready for calls; null while there is none. */
  get current(): Connection | null {
    return this.#current;
  }

  /** Why there is none: the last failed attempt, or the loss; null while there is one or before the first attempt ended. */
  get lastError(): Error | null {
    return this.#lastError;
  }

  /**
   * Waits until there is a connection.
   * @throws {LibvirtError} NOT_CONNECTED after `timeoutMs`, with the last failure as its cause; CALL_ABORTED; LINK_CLOSED.
   */
  get(options: WaitOptions & { readonly timeoutMs: number }): Promise<Connection> {
    if (this.#current !== null) return Promise.resolve(this.#current);
    const { timeoutMs, signal, procedure = null, retry = true } = options;
    const { label, clock } = this.options;
    const failure = (code: ClientErrorCode, why: string, cause?: unknown): LibvirtError =>
      clientError(code, `${procedure === null ? 'waiting' : `calling ${procedure}`}: ${why}`, { procedure, cause });
    const givenUp = (): LibvirtError => failure('CALL_ABORTED', 'given up by the caller', signal?.reason);
    if (this.#closed) return Promise.reject(failure('LINK_CLOSED', `the link to ${label} is closed`));
    if (signal?.aborted === true) return Promise.reject(givenUp());
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiters.delete(waiter);
        timer?.cancel();
        removeAbort();
      };
      const waiter: Waiter = {
        retry,
        resolve: (connection) => {
          leave();
          resolve(connection);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
        notConnected: (why) =>
          waiter.reject(
            failure('NOT_CONNECTED', `not connected: ${why?.message ?? `no answer from ${label} yet`}`, why),
          ),
        closed: () => waiter.reject(failure('LINK_CLOSED', `the link to ${label} was closed`)),
      };
      const removeAbort = onAbort(signal, () => waiter.reject(givenUp()));
      const timer =
        timeoutMs === Infinity ? null : clock.after(timeoutMs, () => waiter.notConnected(this.#lastError ?? undefined));
      this.#waiters.add(waiter);
      this.#ensure();
    });
  }

  /** Lets go of the connection without closing it: the next one who asks gets a fresh one. */
  release(): void {
    this.#current = null;
    this.#ensure();
  }

  /** Closes the connection and rejects who waits for one; idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = null;
    const error = clientError('LINK_CLOSED', `the link to ${this.options.label} was closed`);
    this.#attempt?.abort(error);
    const current = this.#current;
    this.#current = null;
    current?.close('LINK_CLOSED', 'closed by the caller');
    for (const waiter of [...this.#waiters]) waiter.closed();
  }

  /** Sees to it that an attempt is under way or planned, if one is wanted. */
  #ensure(): void {
    const wanted = this.options.eager || this.#waiters.size > 0;
    if (this.#closed || this.#current !== null || this.#attempt !== null || this.#timer !== null || !wanted) return;
    const delayMs = this.#notBefore - this.options.clock.now();
    if (delayMs <= 0) {
      void this.#try();
      return;
    }
    this.#timer = this.options.clock.after(delayMs, () => {
      this.#timer = null;
      void this.#try();
    });
  }

  /** One attempt; never rejects. */
  async #try(): Promise<void> {
    const { clock, connectTimeoutMs, label } = this.options;
    const controller = new AbortController();
    this.#attempt = controller;
    const timer = clock.after(connectTimeoutMs, () =>
      controller.abort(clientError('NOT_CONNECTED', `connecting to ${label}: no answer within ${connectTimeoutMs} ms`)),
    );
    try {
      // A loss during the attempt fails one of its calls; only one that was handed out is a loss to us.
      let made: Connection | null = null;
      const connection = await this.options.connect(controller.signal, (error) => {
        if (made !== null && made === this.#current) this.#lost(error);
      });
      made = connection;
      if (this.#closed) connection.close('LINK_CLOSED', 'closed by the caller');
      else if (connection.failure !== null) this.#failed(connection.failure);
      else this.#up(connection);
    } catch (error) {
      this.#failed(causeOf(error, controller.signal));
    } finally {
      timer.cancel();
      this.#attempt = null;
      this.#ensure();
    }
  }

  #up(connection: Connection): void {
    this.#current = connection;
    this.#lastError = null;
    this.#upSince = this.options.clock.now();
    this.options.onUp?.(connection);
    for (const waiter of [...this.#waiters]) waiter.resolve(connection);
  }

  #lost(error: LibvirtError): void {
    this.#current = null;
    if (this.#closed) return;
    if (this.options.clock.now() - this.#upSince >= STABLE_MS) this.#failures = 0;
    this.#planAfter(error);
    this.options.onDown?.(error);
    this.#ensure();
  }

  #failed(error: Error): void {
    if (this.#closed) return;
    this.#planAfter(error);
    for (const waiter of [...this.#waiters]) if (!waiter.retry) waiter.notConnected(error);
  }

  #planAfter(error: Error): void {
    const { backoff, clock, random } = this.options;
    this.#lastError = error;
    const longest = Math.min(backoff.maxMs, backoff.firstMs * 2 ** this.#failures);
    this.#failures += 1;
    // Half of it at random: the clients of a restarted daemon do not all come at the same moment.
    this.#notBefore = clock.now() + longest * (0.5 + random() / 2);
  }
}

/** An attempt that was given up fails with whatever broke first; the reason for giving up says more. */
function causeOf(error: unknown, signal: AbortSignal): Error {
  if (signal.aborted && isLibvirtError(signal.reason)) return signal.reason;
  return toError(error);
}
