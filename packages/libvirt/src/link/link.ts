/** The interface of links: all connections to one libvirtd. */
import type { CallOptions, Caller } from '../caller.js';
import type { Clock } from '../clock.js';
import type { KeepaliveOptions } from '../keepalive.js';
import type { EventProcedure, Procedure } from '../protocol/procedure.js';
import type { LibvirtStream } from '../stream.js';
import type { OpenTransport } from '../transport/transport.js';
import type { LibvirtUri } from '../uri.js';
import type { HookHandle } from './link-hooks.js';
import type { BackoffOptions } from './reconnecting-connection.js';

export type { CallOptions, Caller } from '../caller.js';
export type { HookHandle } from './link-hooks.js';

/**
 * State of a link:
 *
 * - `connecting`: there is no connection. The link retries with back-off. Calls wait until their
 *   timeout.
 * - `connected`: the control connection is open and every hook has run.
 * - `closed`: the caller called `close()`. This state is final.
 */
export type LinkState = 'connecting' | 'connected' | 'closed';

/** Options of `openLink`. All durations are in milliseconds. */
export interface LinkOptions {
  /** Default timeout of `call`, `query` and the opening of a stream. Default: 5,000. */
  readonly callTimeoutMs?: number;
  /**
   * Default timeout of `work`, including the wait in the queue. Default: 30,000. A forced
   * power-off can take 15 s.
   */
  readonly workTimeoutMs?: number;
  /** Timeout of one connection attempt, including authentication. Default: 10,000. */
  readonly connectTimeoutMs?: number;
  /** Default: a PING after each 5,000 ms of silence; the connection ends after 5 unanswered PINGs. */
  readonly keepalive?: KeepaliveOptions;
  /** Delays between connection attempts. Default: 100 ms at first, 5,000 ms at most. */
  readonly backoff?: BackoffOptions;
  /**
   * Receives errors that no caller waits for: a hook that fails after a reconnect, a malformed
   * event.
   */
  readonly onWarning?: (error: Error) => void;
  /** Default: the clock of the system. */
  readonly clock?: Clock;
  /**
   * Returns a random number from 0 to below 1, for the jitter of the back-off. Default:
   * `Math.random`.
   */
  readonly random?: () => number;
  /** Opens a transport to the daemon. Default: the transport of the URI. */
  readonly transport?: OpenTransport;
}

/** Options of {@link Link.connected}. */
export interface ConnectedOptions extends CallOptions {
  /** False: reject when the first attempt fails. True (default): retry until the timeout. */
  readonly retry?: boolean;
}

/**
 * All connections to one libvirtd. The link reopens lost connections with back-off and keeps the
 * process alive until `close()`. It has these connections:
 *
 * - the control connection: `call`, events
 * - the work connection: `work`
 * - the query connection: `query`
 * - one more connection per stream
 */
export interface Link extends Caller {
  readonly uri: LibvirtUri;
  readonly state: LinkState;
  /**
   * Error of the last attempt, or of the connection loss. null while connected and before the first
   * failure.
   */
  readonly lastError: Error | null;
  /**
   * Waits for the connection. The default timeout is `connectTimeoutMs`.
   * @throws {LibvirtError} NOT_CONNECTED, CALL_ABORTED, LINK_CLOSED.
   */
  connected(options?: ConnectedOptions): Promise<void>;
  /** Sends a fast read on the control connection. The number of parallel calls is unlimited. */
  call<A, R>(procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
  /**
   * Sends a change, or a read that may wait for a domain (such as full statistics), on the work
   * connection. At most four calls run in parallel. Calls to the same domain run in order, one at a
   * time. After a timeout or an abort, the next call may run beside the one that libvirtd still
   * executes. If the connection ends, queued calls are rejected too, with `mayHaveRun` false. Read
   * the state again before the next change.
   * @param domainUuid UUID of the domain; null for a call without a domain.
   */
  work<A, R>(domainUuid: string | null, procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
  /**
   * Sends a read that may wait for a hung QEMU on the query connection. Example: the XML of a
   * domain can wait for QEMU since libvirt 11.3. At most four calls run in parallel, one per
   * domain. After a timeout, further calls to that domain wait until libvirtd answers.
   * @param domainUuid UUID of the domain.
   */
  query<A, R>(domainUuid: string, procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
  /**
   * Opens a stream on its own connection. `timeoutMs` limits the opening; `signal` also ends the
   * open stream.
   */
  openStream<A, R>(procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<LibvirtStream>;
  /**
   * Runs `hook` on the control connection, now and after every reconnect, before queued calls are
   * sent. Register for events here. If the hook rejects with an error from libvirtd, the connection
   * stays open.
   */
  onConnected(hook: (connection: Caller) => Promise<void>): HookHandle;
  /**
   * Calls `listener` with every event of the given type. Events and replies are delivered in the
   * order of arrival: an event that arrives before a reply is delivered before the call resolves.
   * An error that the listener throws becomes an uncaught exception.
   * @returns a function that removes the listener.
   */
  onEvent<E>(event: EventProcedure<E>, listener: (event: E) => void): () => void;
  /** Calls `listener` with each new state. @returns a function that removes the listener. */
  onStateChange(listener: (state: LinkState) => void): () => void;
  /**
   * Rejects all calls, destroys all streams and closes all other connections immediately. Resolves when
   * libvirtd has answered the aborts of the streams, or after 3 s. Idempotent.
   */
  close(): Promise<void>;
}
