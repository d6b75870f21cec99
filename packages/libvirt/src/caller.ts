import type { Procedure } from './protocol/procedure.js';

/** Limits of one call. */
export interface CallOptions {
  /**
   * Deadline in milliseconds from now, including the wait for a connection and in the queue.
   * `Infinity`: no deadline. Default: the link's `workTimeoutMs` (30,000) for `work`, else its
   * `callTimeoutMs` (5,000).
   *
   * If this process stalls until after the deadline, the call gets as much further time as the process
   * was late. The further time of a call is at most `timeoutMs` in total, also after several stalls.
   */
  readonly timeoutMs?: number;
  /** Aborts the call. libvirtd still executes a call that was already sent. */
  readonly signal?: AbortSignal;
}

/** A link, or the connection that a hook of `Link.onConnected` receives. */
export interface Caller {
  /**
   * Sends a call and returns its result.
   * @throws {LibvirtError} the error from libvirtd, or CALL_TIMEOUT, CALL_ABORTED, NOT_CONNECTED,
   *   CONNECTION_LOST, LINK_CLOSED, PROTOCOL.
   */
  call<A, R>(procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
}
