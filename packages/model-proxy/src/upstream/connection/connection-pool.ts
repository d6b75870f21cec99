/** Pools the connections to an upstream: requests reuse idle connections. */
import type { Socket } from 'node:net';
import { InFlight, type Tracked } from '../../in-flight.js';
import { AnswerFault } from './answer-fault.js';
import { Connection, type AnswerListener } from './connection.js';
import { ConnectionLife } from './connection-life.js';
import { openConnection, TlsSessions, type ConnectError, type Destination } from './connect.js';
import type { WireRequest } from './wire-request.js';
import { readAnswerBeforeWriteError } from './write-faults.js';

/**
 * Milliseconds after which the proxy closes an idle connection, unless the upstream announces
 * `Keep-Alive: timeout=`. uvicorn (vLLM) and Node close idle connections after 5 s, nginx after 75
 * s. If the proxy did not close first, the upstream could close while the proxy sends a request.
 */
const IDLE_MS = 4000;
/**
 * The proxy closes an idle connection this many milliseconds before the upstream's announced time.
 */
const IDLE_MARGIN_MS = 1000;
const MAX_IDLE_MS = 600_000;
/** Milliseconds between the checks for idle connections to close. */
const CHECK_INTERVAL_MS = 500;
/** A connection that is idle for this many milliseconds is used first, because it ends soon. */
const AGING_MS = 2000;

/**
 * A connection of a pool. It opens its {@link Connection} with its first request, and carries one request
 * at a time.
 */
export class PooledConnection implements Tracked {
  inFlightIndex = -1;
  /** The pool's time when the connection became idle. */
  idleSince = 0;
  readonly #destination: Destination;
  readonly #sessions: TlsSessions;
  readonly #onClosed: (connection: PooledConnection) => void;
  #cancelOpening: (() => void) | null = null;
  #connection: Connection | null = null;
  /** A request that waits for the next turn of the event loop. */
  #waiting: { readonly turn: NodeJS.Immediate; readonly listener: AnswerListener } | null = null;
  readonly #life: ConnectionLife;

  /**
   * @param life uses the clock of the pool.
   * @param onClosed called when the connection ends while it is idle.
   */
  constructor(
    destination: Destination,
    sessions: TlsSessions,
    life: ConnectionLife,
    onClosed: (connection: PooledConnection) => void,
  ) {
    this.#destination = destination;
    this.#sessions = sessions;
    this.#life = life;
    this.#onClosed = onClosed;
  }

  /** Returns whether the connection must not carry another request. */
  isExpired(now: number): boolean {
    return this.#life.isOver(now);
  }

  /** Returns whether the kernel has all written bytes, so that their buffers are free. */
  get hasWrittenAll(): boolean {
    return this.#connection?.hasWrittenAll === true;
  }

  /**
   * Returns whether another request can follow. False while a request is being written, and after
   * the connection has ended.
   */
  get isFree(): boolean {
    return this.#connection === null || (this.#connection.hasWrittenAll && !this.#connection.isClosed);
  }

  /** Returns whether the connection carried a request before the current one. */
  get isReused(): boolean {
    return this.#life.requests > 1;
  }

  /** The maximum idle time in milliseconds. */
  get idleMs(): number {
    const announced = this.#connection?.keepAliveMs ?? null;
    return announced === null ? IDLE_MS : Math.min(Math.max(0, announced - IDLE_MARGIN_MS), MAX_IDLE_MS);
  }

  /**
   * Sends a request, and opens the connection if there is none. On an existing connection, waits
   * until Node has read the socket. Without the wait, the proxy would treat bytes that the upstream
   * sent earlier as the answer to this request (as undici did, GHSA-35p6-xmwp-9g52).
   * The wait also shows whether the upstream has closed the connection.
   */
  send(request: WireRequest, listener: AnswerListener): void {
    this.#life.countRequest();
    const connection = this.#connection;
    if (connection !== null) {
      const turn = setImmediate(() => {
        this.#waiting = null;
        connection.send(request, listener);
      });
      this.#waiting = { turn, listener };
    } else {
      this.#cancelOpening = openConnection(
        this.#destination,
        this.#sessions,
        (error, socket) => {
          this.#cancelOpening = null;
          if (socket === null) {
            listener.onError(error ?? new Error('no socket'));
            return;
          }
          readAnswerBeforeWriteError(socket);
          this.#connection = new Connection(socket, () => this.#onConnectionClosed());
          this.#connection.send(request, listener);
        },
        (bytes) => this.#connection?.received(bytes),
      );
    }
  }

  /** Continues to read the answer. Must not be called from a callback of the listener. */
  resume(): void {
    this.#connection?.resume();
  }

  /** Closes the connection at once, without a callback. */
  destroy(): void {
    this.#cancelOpening?.();
    this.#stopWaiting();
    this.#connection?.destroy();
  }

  #onConnectionClosed(): void {
    const listener = this.#stopWaiting();
    if (listener === undefined) this.#onClosed(this);
    else listener.onError(new AnswerFault('closed', 'the connection closed before the request'));
  }

  #stopWaiting(): AnswerListener | undefined {
    const waiting = this.#waiting;
    this.#waiting = null;
    clearImmediate(waiting?.turn);
    return waiting?.listener;
  }
}

/**
 * The connections to one upstream that use one TLS identity. Their number is unlimited, so no request
 * waits in a queue.
 */
export class ConnectionPool {
  readonly #destination: Destination;
  readonly #sessions = new TlsSessions();
  /** Idle connections. The first one is idle for the longest time. */
  readonly #idle: PooledConnection[] = [];
  readonly #busy = new InFlight<PooledConnection>();
  readonly #now: () => number;
  #retired = false;
  #timer: NodeJS.Timeout | undefined;
  #onEmpty: (() => void) | null = null;

  /** @param now returns the time in milliseconds; default: `performance.now()`. */
  constructor(destination: Destination, now: () => number = () => performance.now()) {
    this.#destination = destination;
    this.#now = now;
  }

  /** Number of TLS handshakes, resumed sessions included. */
  get handshakes(): number {
    return this.#sessions.handshakes;
  }

  /**
   * Opens a connection for a WebSocket. The connection does not join the pool, but resumes the
   * pool's TLS session.
   * @param done called once, unless cancelled. The caller owns the socket.
   * @returns a function that cancels the attempt.
   */
  open(done: (error: ConnectError | null, socket: Socket | null) => void): () => void {
    return openConnection(this.#destination, this.#sessions, (error, socket) => {
      if (socket !== null) readAnswerBeforeWriteError(socket);
      done(error, socket);
    });
  }

  /**
   * Takes an idle connection, or makes a new one if none is idle. Prefers a connection that the pool
   * would close soon if it stayed idle, because opening another costs time. If there is none, takes the
   * most recently used connection, because the upstream is the least likely to have closed it.
   */
  take(): PooledConnection {
    const now = this.#now();
    for (;;) {
      const [oldest] = this.#idle;
      const isAging = oldest !== undefined && now - oldest.idleSince > AGING_MS;
      const connection = isAging ? this.#idle.shift() : this.#idle.pop();
      if (connection === undefined) return this.takeNew();
      if (now - connection.idleSince < connection.idleMs && !connection.isExpired(now)) {
        this.#busy.add(connection);
        return connection;
      }
      connection.destroy();
    }
  }

  /** Makes a new connection, even if others are idle. */
  takeNew(): PooledConnection {
    const connection = this.#make();
    this.#busy.add(connection);
    return connection;
  }

  /**
   * Puts a connection back into the pool after a complete answer. With TLS, Node reports a finished
   * write one turn of the event loop late, and a near upstream may answer earlier. So this method
   * waits one turn. If the request is not written after that turn, the upstream answered
   * before it read the whole request, and the connection closes.
   */
  giveBack(connection: PooledConnection): void {
    if (connection.isFree) this.#store(connection);
    else setImmediate(() => (connection.isFree ? this.#store(connection) : this.drop(connection)));
  }

  /** Closes a connection whose request was aborted or failed. */
  drop(connection: PooledConnection): void {
    this.#busy.delete(connection);
    connection.destroy();
    this.#reportIfEmpty();
  }

  /**
   * Closes idle connections now, and the others when their requests end. Resolves when the last
   * connection has ended. Connections from {@link open} do not count.
   */
  retire(): Promise<void> {
    this.#retired = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
    this.#closeIdle();
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
      this.#reportIfEmpty();
    });
  }

  #store(connection: PooledConnection): void {
    this.#busy.delete(connection);
    const now = this.#now();
    if (this.#retired || connection.isExpired(now)) connection.destroy();
    else {
      connection.idleSince = now;
      this.#idle.push(connection);
      this.#timer ??= setInterval(() => this.#closeIdle(), CHECK_INTERVAL_MS).unref();
    }
    this.#reportIfEmpty();
  }

  #make(): PooledConnection {
    const life = new ConnectionLife(this.#now());
    return new PooledConnection(this.#destination, this.#sessions, life, (connection) => {
      const index = this.#idle.indexOf(connection);
      if (index === -1) return;
      this.#idle.splice(index, 1);
    });
  }

  /** Closes the connections whose idle time has ended. */
  #closeIdle(): void {
    const now = this.#now();
    const isOver = (connection: PooledConnection) =>
      now - connection.idleSince >= connection.idleMs || connection.isExpired(now);
    for (const connection of this.#idle.filter(isOver)) {
      this.#idle.splice(this.#idle.indexOf(connection), 1);
      connection.destroy();
    }
    if (this.#idle.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #reportIfEmpty(): void {
    if (this.#retired && this.#busy.size === 0) this.#onEmpty?.();
  }
}
