import { type Clock, systemClock } from '../clock.js';
import type { CallOptions, Caller } from '../caller.js';
import { Connection } from '../connection.js';
import { clientError, isLibvirtError, type LibvirtError, toError } from '../errors.js';
import { handshake } from './handshake.js';
import type { KeepaliveOptions } from '../keepalive.js';
import { LinkEvents } from './link-events.js';
import { type Hook, LinkHooks } from './link-hooks.js';
import { LinkStreams } from './link-streams.js';
import { Listeners, runCallback } from '../listeners.js';
import type { EventProcedure, Procedure } from '../protocol/procedure.js';
import { type BackoffOptions, ReconnectingConnection, type WaitOptions } from './reconnecting-connection.js';
import type { LibvirtStream } from '../stream.js';
import { openLocal } from '../transport/open-local.js';
import type { OpenTransport } from '../transport/transport.js';
import { type LibvirtUri, parseUri } from '../uri.js';
import { WorkQueue } from './work-queue.js';

export type { CallOptions, Caller } from '../caller.js';
export type { Hook } from './link-hooks.js';

/**
 * State of a link:
 *
 * - `connecting`: there is no connection. The link retries with back-off. Calls wait until their
 *   time-out.
 * - `connected`: the control connection is open and every hook has run.
 * - `closed`: the caller called `close()`. This state is final.
 */
export type LinkState = 'connecting' | 'connected' | 'closed';

/** Options of {@link openLink}. All durations are in milliseconds. */
export interface LinkOptions {
  /** Default time-out of `call` and `query`. Default: 5,000. */
  readonly callTimeoutMs?: number;
  /**
   * Default time-out of `work`, including the wait in the queue. Default: 30,000. A forced
   * power-off can take 15 s.
   */
  readonly workTimeoutMs?: number;
  /** Time-out of one connection attempt, including authentication. Default: 10,000. */
  readonly connectTimeoutMs?: number;
  /** Default: every 5,000, 5 times. */
  readonly keepalive?: KeepaliveOptions;
  /** Default: from 100 to 5,000. */
  readonly backoff?: BackoffOptions;
  /**
   * Receives errors that no caller waits for: a hook that fails after a reconnect, a malformed
   * event.
   */
  readonly onWarning?: (error: Error) => void;
  /** Default: {@link systemClock}. */
  readonly clock?: Clock;
  /**
   * Returns a random number from 0 to below 1, for the jitter of the back-off. Default:
   * `Math.random`.
   */
  readonly random?: () => number;
  /** Opens a transport to the daemon. Default: a unix socket, according to the URI. */
  readonly transport?: OpenTransport;
}

/** Options of {@link Link.connected}. */
export interface ConnectedOptions extends CallOptions {
  /** False: reject when the first attempt fails. True (default): retry until the time-out. */
  readonly retry?: boolean;
}

/**
 * All connections to one libvirtd. The link reopens lost connections with back-off and keeps the
 * process alive until `close()`. It has these connections:
 *
 * - the control connection: fast reads, events
 * - the work connection: changes of domains
 * - the query connection: reads that may wait for a domain
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
   * Waits for the connection. The default time-out is `connectTimeoutMs`.
   * @throws {LibvirtError} NOT_CONNECTED, CALL_ABORTED, LINK_CLOSED.
   */
  connected(options?: ConnectedOptions): Promise<void>;
  /** Sends a fast read on the control connection. The number of parallel calls is unlimited. */
  call<A, R>(procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
  /**
   * Sends a call that may wait for a domain (power, devices, metadata, full statistics) on the work
   * connection. At most four calls run in parallel. Calls to the same domain run in order, one at a
   * time. If the connection ends, queued calls are rejected too, with `mayHaveRun` false. Read the
   * state again before the next change.
   * @param domainUuid UUID of the domain; null for a call without a domain.
   */
  work<A, R>(domainUuid: string | null, procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
  /**
   * Sends a read that may wait for a hung QEMU (XML in libvirt 11.3 and later) on the query
   * connection. At most four calls run in parallel, one per domain. After a time-out, further calls
   * to that domain wait until libvirtd answers.
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
   * sent. Register for events here. An error from libvirtd does not end the connection.
   */
  onConnected(hook: (connection: Caller) => Promise<void>): Hook;
  /**
   * Calls `listener` with every event of this type. Events and replies are delivered in the order
   * of arrival: an event that arrives before a reply is delivered before the call resolves. An
   * error that the listener throws becomes an uncaught exception.
   * @returns a function that removes the listener.
   */
  onEvent<E>(event: EventProcedure<E>, listener: (event: E) => void): () => void;
  /** Calls `listener` with each new state. @returns a function that removes the listener. */
  onStateChange(listener: (state: LinkState) => void): () => void;
  /** Rejects all calls and destroys all connections and streams immediately. Idempotent. */
  close(): Promise<void>;
}

const defaults = {
  callTimeoutMs: 5_000,
  workTimeoutMs: 30_000,
  connectTimeoutMs: 10_000,
  keepalive: { intervalMs: 5_000, count: 5 },
  backoff: { firstMs: 100, maxMs: 5_000 },
  clock: systemClock,
  random: Math.random,
  onWarning: () => undefined,
} as const;

/**
 * Starts to connect to libvirtd and returns immediately. Close the link after use.
 * @param uri e.g. `qemu:///system`, `qemu:///session`, `qemu+unix:///system?socket=/path`,
 *   `test:///default`.
 * @throws {LibvirtError} INVALID_URI.
 */
export function openLink(uri: string, options: LinkOptions = {}): Link {
  return new LocalLink(parseUri(uri), options);
}

class LocalLink implements Link {
  readonly #settings: Required<LinkOptions>;
  readonly #events: LinkEvents;
  readonly #hooks: LinkHooks;
  readonly #control: ReconnectingConnection;
  readonly #workConnection: ReconnectingConnection;
  readonly #work: WorkQueue;
  readonly #queryConnection: ReconnectingConnection;
  readonly #queries: WorkQueue;
  readonly #streams: LinkStreams;
  readonly #listeners = new Listeners<LinkState>();
  #state: LinkState = 'connecting';

  constructor(
    readonly uri: LibvirtUri,
    options: LinkOptions,
  ) {
    const settings = { ...defaults, transport: openLocal(uri), ...options };
    const warn = (error: Error): void => runCallback(() => settings.onWarning(error));
    this.#settings = settings;
    this.#events = new LinkEvents(warn);
    this.#hooks = new LinkHooks(warn);
    this.#streams = new LinkStreams(settings.clock);
    const common = { ...settings, label: uri.text };
    this.#control = new ReconnectingConnection({
      ...common,
      eager: true,
      connect: async (signal, onClosed) => {
        const connection = await this.#connect({ events: true, serverPings: true, signal, onClosed });
        await this.#hooks.runAll(connection);
        return connection;
      },
      onUp: (connection) => {
        // Runs hooks that were added during the last run.
        this.#hooks.runAll(connection).catch(warn);
        this.#changeState('connected');
      },
      onDown: () => this.#changeState('connecting'),
    });
    const onDemand = (onDown: (error: LibvirtError) => void): ReconnectingConnection =>
      new ReconnectingConnection({
        ...common,
        eager: false,
        connect: (signal, onClosed) => this.#connect({ events: false, serverPings: true, signal, onClosed }),
        onDown,
      });
    this.#workConnection = onDemand((error) => this.#work.lost(error));
    this.#work = new WorkQueue(this.#workConnection, settings.clock, { label: uri.text, freesDomain: 'after-wait' });
    this.#queryConnection = onDemand((error) => this.#queries.lost(error));
    this.#queries = new WorkQueue(this.#queryConnection, settings.clock, {
      label: uri.text,
      freesDomain: 'after-reply',
    });
  }

  get state(): LinkState {
    return this.#state;
  }

  get lastError(): Error | null {
    return this.#control.lastError;
  }

  async connected(options: ConnectedOptions = {}): Promise<void> {
    await this.#control.get({ timeoutMs: this.#settings.connectTimeoutMs, ...options });
  }

  call<A, R>(procedure: Procedure<A, R>, args: A, options: CallOptions = {}): Promise<R> {
    const connection = this.#control.current;
    return connection === null
      ? this.#callWhenConnected(procedure, args, options)
      : connection.call(procedure, args, options);
  }

  async #callWhenConnected<A, R>(procedure: Procedure<A, R>, args: A, options: CallOptions): Promise<R> {
    const remaining = this.#deadline(procedure.name, options);
    const connection = await this.#control.get(remaining());
    return connection.call(procedure, args, remaining());
  }

  work<A, R>(domainUuid: string | null, procedure: Procedure<A, R>, args: A, options: CallOptions = {}): Promise<R> {
    return this.#work.run(domainUuid, procedure, args, { timeoutMs: this.#settings.workTimeoutMs, ...options });
  }

  query<A, R>(domainUuid: string, procedure: Procedure<A, R>, args: A, options: CallOptions = {}): Promise<R> {
    return this.#queries.run(domainUuid, procedure, args, { timeoutMs: this.#settings.callTimeoutMs, ...options });
  }

  async openStream<A, R>(procedure: Procedure<A, R>, args: A, options: CallOptions = {}): Promise<LibvirtStream> {
    const remaining = this.#deadline(procedure.name, options);
    await this.#control.get(remaining());
    return this.#streams.open(procedure, args, remaining(), (signal) =>
      this.#connect({ events: false, serverPings: false, signal }),
    );
  }

  onConnected(hook: (connection: Caller) => Promise<void>): Hook {
    return this.#hooks.add(hook, this.#control.current);
  }

  onEvent<E>(event: EventProcedure<E>, listener: (event: E) => void): () => void {
    return this.#events.on(event, listener);
  }

  onStateChange(listener: (state: LinkState) => void): () => void {
    return this.#listeners.add(listener);
  }

  close(): Promise<void> {
    if (this.#state === 'closed') return Promise.resolve();
    this.#changeState('closed');
    const error = clientError('LINK_CLOSED', `the link to ${this.uri.text} was closed`);
    this.#work.close();
    this.#workConnection.close();
    this.#queries.close();
    this.#queryConnection.close();
    this.#control.close();
    this.#hooks.close(error);
    this.#streams.close(error);
    return Promise.resolve();
  }

  #changeState(state: LinkState): void {
    if (this.#state === state || this.#state === 'closed') return;
    this.#state = state;
    this.#listeners.emit(state);
  }

  /**
   * Returns a function that returns the options for the next step of a call, with the remaining
   * time.
   */
  #deadline(procedure: string, options: CallOptions): () => WaitOptions & { readonly timeoutMs: number } {
    const { clock, callTimeoutMs } = this.#settings;
    const deadline = clock.now() + (options.timeoutMs ?? callTimeoutMs);
    return () => ({ ...options, procedure, timeoutMs: Math.max(0, deadline - clock.now()) });
  }

  /** Opens one connection and makes the handshake. */
  async #connect(options: {
    readonly events: boolean;
    readonly serverPings: boolean;
    readonly signal: AbortSignal;
    readonly onClosed?: (error: LibvirtError) => void;
  }): Promise<Connection> {
    const { transport, clock, callTimeoutMs, keepalive } = this.#settings;
    const { events, serverPings, signal, onClosed } = options;
    const connection = new Connection({
      label: this.uri.text,
      open: transport,
      clock,
      callTimeoutMs,
      keepalive,
      ...(events ? { onEvent: (header, body) => this.#events.dispatch(header, body) } : {}),
      ...(onClosed === undefined ? {} : { onClosed }),
    });
    try {
      await connection.connect(signal);
      // The signal applies the time-out of the whole attempt.
      await handshake(connection, {
        serverName: this.uri.serverName,
        events,
        serverPings,
        signal,
        timeoutMs: Infinity,
      });
      return connection;
    } catch (error) {
      connection.close('NOT_CONNECTED', 'it could not be opened', error);
      if (isLibvirtError(error) && !error.isRemote) throw error;
      throw clientError('NOT_CONNECTED', `connecting to ${this.uri.text}: ${toError(error).message}`, { cause: error });
    }
  }
}
