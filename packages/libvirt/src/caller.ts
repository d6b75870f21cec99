import type { Procedure } from './protocol/procedure.js';

/** Limits of one call. */
export interface CallOptions {
  /**
   * Milliseconds from now, waiting for a connection or for a turn included; `Infinity` for none. Default: the link's
   * `callTimeoutMs` (5,000) for `call`, `workTimeoutMs` (30,000) for `work`.
   * Once the call is sent, time in which this process was held up is added, at most as much again.
   */
  readonly timeoutMs?: number;
  /** Gives the call up. A call that was already sent is not undone in libvirtd. */
  readonly signal?: AbortSignal;
}

/** Something that carries calls: a link, or the one connection that a hook of `Link.onConnected` is given. */
export interface Caller {
  /**
   * @throws {LibvirtError} what libvirtd answered, or CALL_TIMEOUT, CALL_ABORTED, NOT_CONNECTED, CONNECTION_LOST,
   * LINK_CLOSED, PROTOCOL.
   */
  call<A, R>(procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
}
