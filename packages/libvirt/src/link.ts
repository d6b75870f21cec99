import { type Clock, systemClock } from './clock.js';
import type { CallOptions, Caller } from './caller.js';
import { Connection } from './connection.js';
import { clientError, isLibvirtError, type LibvirtError, toError } from './errors.js';
import { handshake } from './handshake.js';
import type { KeepaliveOptions } from './keepalive.js';
import { LinkEvents } from './link-events.js';
import { type Hook, LinkHooks } from './link-hooks.js';
import { LinkStreams } from './link-streams.js';
import { callBack, Listeners } from './listeners.js';
import type { EventProcedure, Procedure } from './protocol/procedure.js';
import { type BackoffOptions, StandingConnection, type WaitOptions } from './standing-connection.js';
import type { LibvirtStream } from './stream.js';
import { openLocal } from './transport/open-local.js';
import type { OpenTransport } from './transport/transport.js';
import { type LibvirtUri, parseUri } from './uri.js';
import { WorkQueue } from './work-queue.js';

export type { CallOptions, Caller } from './caller.js';
export type { Hook } from './link-hooks.js';

/**
 * - `connecting`: no connection; attempts go on with back-off, calls wait for it up to their time-out.
 * - `connected`: the control connection stands and every hook has run.
 * - `closed`: `close()` was called; for good.
 */
export type LinkState = 'connecting' | 'connected' | 'closed';

/** What a link can be told; everything has a default. All durations are milliseconds. */
export interface LinkOptions {
  /** Time-out of a `call` that names none. Default 5,000. */
  readonly callTimeoutMs?: number;
  /** Time-out of `work` that names none, waiting for its turn included. Default 30,000: a forced power-off can take 15 s. */
  readonly workTimeoutMs?: number;
  /** Longest duration of one attempt to connect, authentication included. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** Default: every 5,000, 5 times. */
  readonly keepalive?: KeepaliveOptions;
  /** Default: from 100 up to 5,000. */
  readonly backoff?: BackoffOptions;
  /** Called with what goes wrong where nobody waits for it: a hook that fails after a reconnect, an event that cannot be read. */
  readonly onWarning?: (error: Error) => void;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Source of the back-off's jitter, 0 up to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** The way to the daemon. Default: the unix sockets that the URI stands for. */
  readonly transport?: OpenTransport;
}

/** How to wait for the link. */
export interface ConnectedOptions extends CallOptions {
  /** False: reject with the first failed attempt. Default true: attempts go on until the time-out. */
  readonly retry?: boolean;
}

/**
 * The way to one libvirtd: a control connection (reads, events), a work connection (what changes machines), a query connection
 * (reads that may block on a machine), one more per stream. They are made again, with back-off, when they break. The link keeps
 * the process alive until `close()`.
 */
export interface Link extends Caller {
  readonly uri: LibvirtUri;
  readonly state: LinkState;
  /** Why there is no connection: the last failed attempt, or the loss; null while connected or before the first failure. */
  readonly lastError: Error | null;
  /**
   * Resolves when connected; default time-out is `connectTimeoutMs`.
   * @throws {LibvirtError} NOT_CONNECTED, CALL_ABORTED, LINK_CLOSED.
   */
  connected(options?: ConnectedOptions): Promise<void>;
  /** A call on the control connection: for what answers at once. Many may be under way. */
  call<A, R>(procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
  /**
   * A call on the work connection: for what may block on a machine (power, devices, metadata, full stats). At most four
   * are under way, one per domain, in order per domain. When the connection breaks, calls that wait for their turn are
   * rejected too, with `mayHaveRun` false: the state is to be read again before machines are changed further.
   * @param domainUuid UUID of the domain whose turn it takes; null for a call that belongs to no domain.
   */
  work<A, R>(domainUuid: string | null, procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
  /**
   * A read that may block on a machine whose QEMU hangs (libvirt 11.3 and later: the XML), on a connection of its own. At most four
   * are under way, one per domain. After a time-out, calls to that domain are not sent until libvirtd has answered.
   * @param domainUuid UUID of the domain that is read.
   */
  query<A, R>(domainUuid: string, procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<R>;
  /** Opens a stream on a connection of its own; `timeoutMs` bounds the opening, `signal` the whole stream. */
  openStream<A, R>(procedure: Procedure<A, R>, args: A, options?: CallOptions): Promise<LibvirtStream>;
  /**
   * Runs `hook` on the control connection, now when connected and again after every reconnect, before waiting calls are
   * sent: the place to register for events. An error that libvirtd answers does not end the connection.
   */
  onConnected(hook: (connection: Caller) => Promise<void>): Hook;
  /**
   * Calls `listener` with every event of that number, in the order of the wire, replies included: an event that came before a
   * call's answer is delivered before the call resolves. What a listener throws is an uncaught exception.
   * @returns what removes it.
   */
  onEvent<E>(event: EventProcedure<E>, listener: (event: E) => void): () => void;
  /** @returns what removes the listener. */
  onStateChange(listener: (state: LinkState) => void): () => void;
  /** Rejects every waiter, destroys every connection and stream at once; idempotent. */
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
 * Begins to connect to libvirtd and returns at once; `connected()` waits for it. Close the link when done.
 * @param uri e.g. `qemu:///system`, `qemu:///session`, `qemu+unix:///system?socket=/run/…`, `test:///default`.
 * @throws {LibvirtError} INVALID_URI at once.
 */
export function openLink(uri: string, options: LinkOptions = {}): Link {
  return new LocalLink(parseUri(uri), options);
}

class LocalLink implements Link {
  readonly #settings: Required<LinkOptions>;
  readonly #events: LinkEvents;
  readonly #hooks: LinkHooks;
  readonly #control: StandingConnection;
  readonly #workConnection: StandingConnection;
  readonly #work: WorkQueue;
  readonly #queryConnection: StandingConnection;
  readonly #queries: WorkQueue;
  readonly #streams: LinkStreams;
  readonly #listeners = new Listeners<LinkState>();
  #state: LinkState = 'connecting';

  constructor(
    readonly uri: LibvirtUri,
    options: LinkOptions,
  ) {
    const settings = { ...defaults, transport: openLocal(uri), ...options };
    const warn = (error: Error): void => callBack(() => settings.onWarning(error));
    this.#settings = settings;
    this.#events = new LinkEvents(warn);
    this.#hooks = new LinkHooks(warn);
    this.#streams = new LinkStreams(settings.clock);
    const standing = { ...settings, label: uri.text };
    this.#control = new StandingConnection({
      ...standing,
      eager: true,
      connect: async (signal, onClosed) => {
        const connection = await this.#connect({ events: true, serverPings: true, signal, onClosed });
        await this.#hooks.runAll(connection);
        return connection;
      },
      onUp: (connection) => {
        // A hook that was added while the last ones ran.
        this.#hooks.runAll(connection).catch(warn);
        this.#changeState('connected');
      },
      onDown: () => this.#changeState('connecting'),
    });
    const onDemand = (onDown: (error: LibvirtError) => void): StandingConnection =>
      new StandingConnection({
        ...standing,
        eager: false,
        connect: (signal, onClosed) => this.#connect({ events: false, serverPings: true, signal, onClosed }),
        onDown,
      });
    this.#workConnection = onDemand((error) => this.#work.lost(error));
    this.#work = new WorkQueue(this.#workConnection, settings.clock, { label: uri.text, turnEnds: 'with-wait' });
    this.#queryConnection = onDemand((error) => this.#queries.lost(error));
    this.#queries = new WorkQueue(this.#queryConnection, settings.clock, { label: uri.text, turnEnds: 'with-answer' });
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
    const remaining = this.#budget(procedure.name, options);
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
    const remaining = this.#budget(procedure.name, options);
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

  /** The limits that are left of a call's own, asked for again at each of its steps. */
  #budget(procedure: string, options: CallOptions): () => WaitOptions & { readonly timeoutMs: number } {
    const { clock, callTimeoutMs } = this.#settings;
    const deadline = clock.now() + (options.timeoutMs ?? callTimeoutMs);
    return () => ({ ...options, procedure, timeoutMs: Math.max(0, deadline - clock.now()) });
  }

  /** Makes one connection that is ready for calls. */
  async #connect(way: {
    readonly events: boolean;
    readonly serverPings: boolean;
    readonly signal: AbortSignal;
    readonly onClosed?: (error: LibvirtError) => void;
  }): Promise<Connection> {
    const { transport, clock, callTimeoutMs, keepalive } = this.#settings;
    const { events, serverPings, signal, onClosed } = way;
    const connection = new Connection({
      label: this.uri.text,
      open: transport,
      clock,
      callTimeoutMs,
      keepalive,
      ...(events ? { onEvent: (header, body) => this.#events.take(header, body) } : {}),
      ...(onClosed === undefined ? {} : { onClosed }),
    });
    try {
      await connection.connect(signal);
      // The attempt as a whole has its time-out, by the signal.
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
