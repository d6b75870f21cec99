/** Implements {@link Link}. */
import type { CallOptions, Caller } from '../caller.js';
import { systemClock } from '../clock.js';
import { Connection } from '../connection.js';
import { clientError, isLibvirtError, type LibvirtError, toError } from '../errors.js';
import { Listeners, runCallback } from '../listeners.js';
import type { EventProcedure, Procedure } from '../protocol/procedure.js';
import type { LibvirtStream } from '../stream.js';
import { transportOf } from '../transport/open-transport.js';
import { type LibvirtUri, parseUri } from '../uri.js';
import { handshake } from './handshake.js';
import type { ConnectedOptions, Link, LinkOptions, LinkState } from './link.js';
import { LinkEvents } from './link-events.js';
import { type HookHandle, LinkHooks } from './link-hooks.js';
import { LinkStreams } from './link-streams.js';
import { ReconnectingConnection, type WaitOptions } from './reconnecting-connection.js';
import { WorkQueue } from './work-queue.js';

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
 * @param uri such as `qemu:///system`, `qemu+ssh://root@host/system` or `test:///default`.
 * @throws {LibvirtError} INVALID_URI.
 */
export function openLink(uri: string, options: LinkOptions = {}): Link {
  return new OpenLink(parseUri(uri), options);
}

class OpenLink implements Link {
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
  #closing: Promise<void> | undefined;

  constructor(
    readonly uri: LibvirtUri,
    options: LinkOptions,
  ) {
    const settings = { ...defaults, transport: transportOf(uri), ...options };
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
        // Runs the hooks that were added after the end of `runAll`. Each hook runs once for a connection.
        this.#hooks.runAdded(connection);
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
    this.#workConnection = onDemand((error) => this.#work.rejectAfterLoss(error));
    const queue = { label: uri.text, linkError: () => this.#control.lastError };
    this.#work = new WorkQueue(this.#workConnection, settings.clock, { ...queue, nextCallAfter: 'settled' });
    this.#queryConnection = onDemand((error) => this.#queries.rejectAfterLoss(error));
    this.#queries = new WorkQueue(this.#queryConnection, settings.clock, { ...queue, nextCallAfter: 'reply' });
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
    const remaining = this.#startDeadline(procedure.name, options);
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
    const remaining = this.#startDeadline(procedure.name, options);
    await this.#control.get(remaining());
    return this.#streams.open(procedure, args, remaining(), (signal) =>
      this.#connect({ events: false, serverPings: false, signal }),
    );
  }

  onConnected(hook: (connection: Caller) => Promise<void>): HookHandle {
    return this.#hooks.add(hook, this.#control.current);
  }

  onEvent<E>(event: EventProcedure<E>, listener: (event: E) => void): () => void {
    return this.#events.on(event, listener);
  }

  onStateChange(listener: (state: LinkState) => void): () => void {
    return this.#listeners.add(listener);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  #close(): Promise<void> {
    this.#changeState('closed');
    const error = clientError('LINK_CLOSED', `the link to ${this.uri.text} was closed`);
    this.#work.close();
    this.#workConnection.close();
    this.#queries.close();
    this.#queryConnection.close();
    this.#control.close();
    this.#hooks.close(error);
    return this.#streams.close(error);
  }

  #changeState(state: LinkState): void {
    if (this.#state === state || this.#state === 'closed') return;
    this.#state = state;
    this.#listeners.emit(state);
  }

  /**
   * Starts the time limit of a call that has several steps. The returned function gives the options
   * of the next step, with the remaining time.
   */
  #startDeadline(procedure: string, options: CallOptions): () => WaitOptions & { readonly timeoutMs: number } {
    const { clock, callTimeoutMs } = this.#settings;
    const deadline = clock.now() + (options.timeoutMs ?? callTimeoutMs);
    return () => ({ ...options, procedure, timeoutMs: Math.max(0, deadline - clock.now()) });
  }

  /**
   * Opens one connection and makes the handshake.
   * @throws {LibvirtError} of this client: NOT_CONNECTED with the error of the transport or of libvirtd as its cause,
   *   or its own error in the handshake, such as AUTH_UNSUPPORTED.
   */
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
      // The signal applies the timeout of the whole attempt.
      await handshake(connection, {
        uri: this.uri,
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
