/**
 * The connections to one upstream, and the stack of those that are idle. Whether a connection has carried a request before decides
 * whether what was lost on it may be sent again.
 */
import type { Socket } from 'node:net';
import { InFlight, type Tracked } from '../in-flight.js';
import { AnswerFault } from './answer-fault.js';
import { Connection, type AnswerListener } from './connection.js';
import { ConnectionLife } from './connection-life.js';
import { openConnection, TlsSessions, type ConnectError, type Destination } from './connect.js';
import type { WireRequest } from './wire-request.js';
import { readBeforeWriteFaults } from './write-faults.js';

/**
 * uvicorn (vLLM) and Node close idle connections after 5 s, nginx after 75: ours end before, or the upstream's closing
 * would meet a request of ours half-way. An upstream's `Keep-Alive: timeout=` goes before this; in milliseconds.
 */
const IDLE_MS = 4000;
/** So much before an upstream would end it; in milliseconds. */
const IDLE_MARGIN_MS = 1000;
const MAX_IDLE_MS = 600_000;
/** How often to look for idle connections whose time is over; in milliseconds. */
const LOOK_MS = 500;
/** From then on a connection is used before it ends; in milliseconds. */
const AGING_MS = 2000;

/** One connection, or the intention to make one. Carries one request at a time. */
export class Link implements Tracked {
  inFlightIndex = -1;
  /** When it was given back. */
  idleSince = 0;
  readonly #destination: Destination;
  readonly #sessions: TlsSessions;
  readonly #onClosed: (link: Link) => void;
  #cancelOpening: (() => void) | null = null;
  #connection: Connection | null = null;
  /** Of a request that waits for the next turn. */
  #waiting: { readonly turn: NodeJS.Immediate; readonly listener: AnswerListener } | null = null;
  readonly #life: ConnectionLife;

  /** @param life by the pool's clock. @param onClosed its connection has ended while nobody used it. */
  constructor(destination: Destination, sessions: TlsSessions, life: ConnectionLife, onClosed: (link: Link) => void) {
    this.#destination = destination;
    this.#sessions = sessions;
    this.#life = life;
    this.#onClosed = onClosed;
  }

  /** Whether it may carry no other request. */
  isWornOut(now: number): boolean {
    return this.#life.isOver(now);
  }

  /** Whether everything that was written is with the system, so that nobody reads the buffers any more. */
  get hasWrittenAll(): boolean {
    return this.#connection?.hasWrittenAll === true;
  }

  /** Whether another request can follow: not behind one that is still being written, and not on a connection that has ended. */
  get isFree(): boolean {
    return this.#connection === null || (this.#connection.hasWrittenAll && !this.#connection.isClosed);
  }

  /** Whether it has carried another request before the present one. */
  get isUsed(): boolean {
    return this.#life.requests > 1;
  }

  /** How long it may lie idle, in milliseconds. */
  get idleMs(): number {
    const kept = this.#connection?.keepAliveMs ?? null;
    return kept === null ? IDLE_MS : Math.min(Math.max(0, kept - IDLE_MARGIN_MS), MAX_IDLE_MS);
  }

  /**
   * Sends a request, over a connection that is made for it unless there is one. That one is written to when everything has been
   * read that has come to this process: what an upstream sent without being asked would be taken for the answer to this request,
   * which is another client's (undici's GHSA-35p6-xmwp-9g52); and one that it has closed is noticed.
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
          readBeforeWriteFaults(socket);
          this.#connection = new Connection(socket, () => this.#closed());
          this.#connection.send(request, listener);
        },
        (bytes) => this.#connection?.received(bytes),
      );
    }
  }

  /** More of the answer may be told. Not from within a callback. */
  resume(): void {
    this.#connection?.resume();
  }

  /** Ends it at once, whatever it is doing. Nobody is told. */
  destroy(): void {
    this.#cancelOpening?.();
    this.#stopWaiting();
    this.#connection?.destroy();
  }

  #closed(): void {
    const listener = this.#stopWaiting();
    if (listener === undefined) this.#onClosed(this);
    else listener.onError(new AnswerFault('closed', 'closed'));
  }

  #stopWaiting(): AnswerListener | undefined {
    const waiting = this.#waiting;
    this.#waiting = null;
    clearImmediate(waiting?.turn);
    return waiting?.listener;
  }
}

/** Connections to one upstream with one TLS identity. As many as there are requests at a time: nothing queues. */
export class ConnectionPool {
  readonly #destination: Destination;
  readonly #sessions = new TlsSessions();
  /** In the order in which they became idle. */
  readonly #idle: Link[] = [];
  readonly #busy = new InFlight<Link>();
  readonly #now: () => number;
  #retired = false;
  #timer: NodeJS.Timeout | undefined;
  #onEmpty: (() => void) | null = null;

  /** @param now milliseconds from any moment on; default: Node's clock. */
  constructor(destination: Destination, now: () => number = () => performance.now()) {
    this.#destination = destination;
    this.#now = now;
  }

  /** TLS handshakes since the start, resumed ones too. */
  get handshakes(): number {
    return this.#sessions.handshakes;
  }

  /**
   * A connection that is not this pool's to keep: for what is passed through raw. Shares TLS sessions with the others.
   * @param done called once, unless cancelled; the socket is the caller's.
   * @returns cancels the attempt.
   */
  open(done: (error: ConnectError | null, socket: Socket | null) => void): () => void {
    return openConnection(this.#destination, this.#sessions, (error, socket) => {
      if (socket !== null) readBeforeWriteFaults(socket);
      done(error, socket);
    });
  }

  /**
   * An idle connection, or a new one. The last one used is the least likely to be closed by now; but one that would end soon
   * goes first: under load there is no reason to make it again.
   */
  take(): Link {
    const now = this.#now();
    for (;;) {
      const [oldest] = this.#idle;
      const isAging = oldest !== undefined && now - oldest.idleSince > AGING_MS;
      const link = isAging ? this.#idle.shift() : this.#idle.pop();
      if (link === undefined) return this.takeNew();
      if (now - link.idleSince < link.idleMs && !link.isWornOut(now)) {
        this.#busy.add(link);
        return link;
      }
      link.destroy();
    }
  }

  /** A new connection, whatever is idle. */
  takeNew(): Link {
    const link = this.#make();
    this.#busy.add(link);
    return link;
  }

  /**
   * The request is over, and the connection as good as before. Node tells of a write to TLS a turn after it was made, and a near
   * upstream has answered by then: only what is being written after that turn, too, was answered too early.
   */
  giveBack(link: Link): void {
    if (link.isFree) this.#keep(link);
    else setImmediate(() => (link.isFree ? this.#keep(link) : this.drop(link)));
  }

  /** The request was given up: so is its connection. */
  drop(link: Link): void {
    this.#busy.delete(link);
    link.destroy();
    this.#checkEmpty();
  }

  /** Ends idle connections now and the others when their requests are over. @returns when the last one has ended. */
  retire(): Promise<void> {
    this.#retired = true;
    for (const link of this.#idle.splice(0)) link.destroy();
    this.#endIdle();
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
      this.#checkEmpty();
    });
  }

  #keep(link: Link): void {
    this.#busy.delete(link);
    const now = this.#now();
    if (this.#retired || link.isWornOut(now)) link.destroy();
    else {
      link.idleSince = now;
      this.#idle.push(link);
      this.#timer ??= setInterval(() => this.#endIdle(), LOOK_MS).unref();
    }
    this.#checkEmpty();
  }

  #make(): Link {
    const life = new ConnectionLife(this.#now());
    return new Link(this.#destination, this.#sessions, life, (link) => {
      const at = this.#idle.indexOf(link);
      if (at === -1) return;
      this.#idle.splice(at, 1);
    });
  }

  /** Ends those that have lain idle for as long as they may. */
  #endIdle(): void {
    const now = this.#now();
    const isOver = (link: Link) => now - link.idleSince >= link.idleMs || link.isWornOut(now);
    for (const link of this.#idle.filter(isOver)) {
      this.#idle.splice(this.#idle.indexOf(link), 1);
      link.destroy();
    }
    if (this.#idle.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #checkEmpty(): void {
    if (this.#retired && this.#busy.size === 0) this.#onEmpty?.();
  }
}
