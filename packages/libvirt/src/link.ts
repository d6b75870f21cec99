import type { EventProcedure, Procedure } from './protocol/procedure.js';
import type { LibvirtStream } from './stream.js';

/** Limits of one call. */
export interface CallOptions {
  /**
   * Milliseconds from now, waiting for a connection or for a turn included; `Infinity` for none. Default: the link's
   * `callTimeoutMs` (5,000) for `call`, `workTimeoutMs` (30,000) for `work`.
   */
  readonly timeoutMs?: number;
  /** Gives the call up. A call that was already sent is not undone in libvirtd. */
  readonly signal?: AbortSignal;
}

/** Something that carries calls: the link itself, or the one connection that a hook of `onConnected` is given. */
export interface Caller {
  /**
   * @throws {LibvirtError} what libvirtd answered, or CALL_TIMEOUT, CALL_ABORTED, NOT_CONNECTED, CONNECTION_LOST,
   * LINK_CLOSED, PROTOCOL.
   */
  call<A, R>(procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
}

/**
 * - `connecting`: no connection; attempts go on with back-off, calls wait for it up to their time-out.
 * - `connected`: the control connection stands and every hook has run.
 * - `closed`: `close()` was called; for good.
 */
export type LinkState = 'connecting' | 'connected' | 'closed';

/** What `onConnected` gives back. */
export interface Hook {
  /**
   * Settles when the hook ran for the first time: rejects with what it threw when libvirtd answered it with an error
   * (the hook is then removed), or with LINK_CLOSED.
   */
  readonly ready: Promise<void>;
  /** Stops running the hook on later connections. */
  remove(): void;
}

/**
 * The way to one libvirtd: a control connection (reads, events), a work connection (what changes machines), one more per
 * stream. Every connection is made again, with back-off, when it breaks.
 */
export interface Link extends Caller {
  readonly state: LinkState;
  /** Why there is no connection: the last failed attempt, or the loss; null while connected. */
  readonly lastError: Error | null;
  /** Resolves when connected; @throws {LibvirtError} NOT_CONNECTED after `timeoutMs`, CALL_ABORTED, LINK_CLOSED. */
  connected(options?: CallOptions): Promise<void>;
  /** A call on the control connection: for what answers at once. Many may be under way. */
  call<A, R>(procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
  /**
   * A call on the work connection: for what may block on a machine (power, devices, metadata, full stats). At most four
   * are under way, one per domain, in order per domain.
   * @param domainUuid canonical UUID of the domain whose turn it takes; null for a call that belongs to no domain.
   */
  work<A, R>(domainUuid: string | null, procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
  /** Opens a stream on a connection of its own; `timeoutMs` bounds the opening, `signal` the whole stream. */
  openStream<A, R>(procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<LibvirtStream>;
  /**
   * Runs `hook` on the control connection, now when connected and again after every reconnect, before waiting calls are
   * sent: the place to register for events.
   */
  onConnected(hook: (connection: Caller) => Promise<void>): Hook;
  /** Calls `listener` with every event of that number; several listeners may share one. @returns what removes it. */
  onEvent<E>(event: EventProcedure<E>, listener: (event: E) => void): () => void;
  /** @returns what removes the listener. */
  onStateChange(listener: (state: LinkState) => void): () => void;
  /** Rejects every waiter, destroys every connection and stream at once; idempotent. */
  close(): Promise<void>;
}
