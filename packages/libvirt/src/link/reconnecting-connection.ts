import { onAbort } from '../abort.js';
import type { Clock, Timer } from '../clock.js';
import type { CallOptions } from '../caller.js';
import type { Connection } from '../connection.js';
import { clientError, type ClientErrorCode, isLibvirtError, type LibvirtError, toError } from '../errors.js';

/** Delays between connection attempts. */
export interface BackoffOptions {
  /**
   * Maximum delay before the first retry, in milliseconds; the minimum is half of it. Each failure doubles both.
   * Default: 100.
   */
  readonly firstMs: number;
  /** Maximum of all delays in milliseconds. Default: 5,000. */
  readonly maxMs: number;
}

/** Options of a {@link ReconnectingConnection}. */
interface ReconnectingOptions {
  readonly label: string;
  readonly clock: Clock;
  readonly backoff: BackoffOptions;
  /** Returns a number from 0 to below 1. The jitter spreads the attempts of many clients. */
  readonly random: () => number;
  /** Timeout of one attempt in milliseconds. */
  readonly connectTimeoutMs: number;
  /**
   * True: connect now and after every loss. False: connect only while a call waits for the
   * connection.
   */
  readonly eager: boolean;
  /**
   * Opens a connection and makes the handshake. Must call `onClosed` when the connection is lost
   * later.
   */
  readonly connect: (signal: AbortSignal, onClosed: (error: LibvirtError) => void) => Promise<Connection>;
  readonly onUp?: (connection: Connection) => void;
  readonly onDown?: (error: LibvirtError) => void;
}

/** Options of {@link ReconnectingConnection.get}. */
export interface WaitOptions extends CallOptions {
  /** Name of the call that waits, for errors. Default: null, no call. */
  readonly procedure?: string | null;
  /** False: the first failed attempt ends the wait. True (default): retry until the timeout. */
  readonly retry?: boolean;
}

/** A caller that waits for a connection. Each method ends the wait. */
interface Waiter {
  readonly retry: boolean;
  resolve(connection: Connection): void;
  reject(error: LibvirtError): void;
  notConnected(why: Error | undefined): void;
  closed(): void;
}

/** The loss of a connection that lasted this long resets the back-off to its first delay. */
const STABLE_MS = 5_000;

/** A connection that is reopened when it is lost, with exponential back-off and jitter. */
export class ReconnectingConnection {
  #current: Connection | null = null;
  #lastError: Error | null = null;
  /** Failed attempts and losses since the last stable connection. */
  #failures = 0;
  #upSince = 0;
  /** Time on the clock before which no attempt starts. */
  #nextAttemptAt = -Infinity;
  #timer: Timer | null = null;
  #attempt: AbortController | null = null;
  #closed = false;
  readonly #waiters = new Set<Waiter>();

  constructor(private readonly options: ReconnectingOptions) {
    if (options.eager) this.#ensure();
  }

  /** The connection after its handshake; null while there is none. */
  get current(): Connection | null {
    return this.#current;
  }

  /**
   * Error of the last attempt or of the loss. null while connected, and before the first attempt
   * ends.
   */
  get lastError(): Error | null {
    return this.#lastError;
  }

  /**
   * Waits until there is a connection.
   * @throws {LibvirtError} NOT_CONNECTED after `timeoutMs` or, if `retry` is false, after a failed
   *   attempt, with the last error as its cause; CALL_ABORTED; LINK_CLOSED.
   */
  get(options: WaitOptions & { readonly timeoutMs: number }): Promise<Connection> {
    if (this.#current !== null) return Promise.resolve(this.#current);
    const { timeoutMs, signal, procedure = null, retry = true } = options;
    const { label, clock } = this.options;
    const failure = (code: ClientErrorCode, why: string, cause?: unknown): LibvirtError =>
      clientError(code, `${procedure === null ? 'waiting' : `calling ${procedure}`}: ${why}`, { procedure, cause });
    const aborted = (): LibvirtError => failure('CALL_ABORTED', 'aborted by the caller', signal?.reason);
    if (this.#closed) return Promise.reject(failure('LINK_CLOSED', `the link to ${label} is closed`));
    if (signal?.aborted === true) return Promise.reject(aborted());
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
            procedure === null && why !== undefined
              ? clientError('NOT_CONNECTED', why.message, { procedure, cause: why })
              : failure('NOT_CONNECTED', `not connected: ${why?.message ?? `no answer from ${label} yet`}`, why),
          ),
        closed: () => waiter.reject(failure('LINK_CLOSED', `the link to ${label} was closed`)),
      };
      const removeAbort = onAbort(signal, () => waiter.reject(aborted()));
      const timer =
        timeoutMs === Infinity ? null : clock.after(timeoutMs, () => waiter.notConnected(this.#lastError ?? undefined));
      this.#waiters.add(waiter);
      this.#ensure();
    });
  }

  /**
   * Removes the current connection from this object without closing it. The next caller gets a new
   * connection.
   */
  release(): void {
    this.#current = null;
    this.#ensure();
  }

  /** Closes the connection and rejects all waiting callers. Idempotent. */
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

  /** Starts or schedules an attempt if a connection is needed. */
  #ensure(): void {
    const wanted = this.options.eager || this.#waiters.size > 0;
    if (this.#closed || this.#current !== null || this.#attempt !== null || this.#timer !== null || !wanted) return;
    const delayMs = this.#nextAttemptAt - this.options.clock.now();
    if (delayMs <= 0) {
      void this.#try();
      return;
    }
    this.#timer = this.options.clock.after(delayMs, () => {
      this.#timer = null;
      void this.#try();
    });
  }

  /** Makes one attempt. Never rejects. */
  async #try(): Promise<void> {
    const { clock, connectTimeoutMs, label } = this.options;
    const controller = new AbortController();
    this.#attempt = controller;
    const timer = clock.after(connectTimeoutMs, () =>
      controller.abort(clientError('NOT_CONNECTED', `connecting to ${label}: no answer within ${connectTimeoutMs} ms`)),
    );
    try {
      // A loss during the attempt rejects `connect`. Only a later loss needs a reconnect.
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
    this.#delayNextAttempt(error);
    this.options.onDown?.(error);
    this.#ensure();
  }

  #failed(error: Error): void {
    if (this.#closed) return;
    this.#delayNextAttempt(error);
    for (const waiter of [...this.#waiters]) if (!waiter.retry) waiter.notConnected(error);
  }

  #delayNextAttempt(error: Error): void {
    const { backoff, clock, random } = this.options;
    this.#lastError = error;
    const maxDelayMs = Math.min(backoff.maxMs, backoff.firstMs * 2 ** this.#failures);
    this.#failures += 1;
    // Half of the delay is random, so that many clients do not reconnect to a restarted daemon at
    // the same time.
    this.#nextAttemptAt = clock.now() + maxDelayMs * (0.5 + random() / 2);
  }
}

/**
 * Returns the abort reason of an aborted attempt, because it explains more than the error that
 * follows from it.
 */
function causeOf(error: unknown, signal: AbortSignal): Error {
  if (signal.aborted && isLibvirtError(signal.reason)) return signal.reason;
  return toError(error);
}
