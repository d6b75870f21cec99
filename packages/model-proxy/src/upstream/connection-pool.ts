/**
 * The connections to one upstream. undici's Pool hides which connection a request goes over; to repeat a request that met a
 * connection which the upstream had just closed, one must know whether it was a used one. So: undici's Client, one for each connection,
 * and the stack of idle ones is here.
 */
import type { Socket } from 'node:net';
import { InFlight, type Tracked } from '../in-flight.js';
import type { Client, Dispatcher } from 'undici';
import { openConnection, TlsSessions, type ConnectError, type Destination } from './connect.js';
import { guardSocket, type ExpectAnswer } from './guarded-socket.js';
import { readBeforeWriteFaults } from './write-faults.js';
import { clientClass } from './undici-client.js';

/**
 * uvicorn (vLLM) and Node close idle connections after 5 s, nginx after 75: ours end before, or the upstream's closing
 * would meet a request of ours half-way. An upstream's `Keep-Alive: timeout=` goes before this; in milliseconds.
 */
const IDLE_MS = 4000;
/** From then on a connection is used before it ends; in milliseconds. */
const AGING_MS = 2000;

/** Heads of answers; Node's own bound of 16 KB is too near to what gateways with cookies and policies send. */
const LARGEST_HEAD_BYTES = 65_536;

/** Where the connections of a pool lead. */
export interface PoolTarget {
  /** The URL that undici derives the Host header from. */
  readonly origin: string;
  readonly destination: Destination;
}

/** One connection, or the intention to make one. Carries one request at a time. */
export class Link implements Tracked {
  inFlightIndex = -1;
  /** When it was given back. */
  idleSince = 0;
  readonly #client: Client;
  /** Requests that were begun on the present connection. */
  #begun = 0;
  #cancelOpening: (() => void) | null = null;
  #expectAnswer: ExpectAnswer | null = null;
  #socket: Socket | null = null;

  constructor(target: PoolTarget, sessions: TlsSessions, onDisconnect: (link: Link) => void) {
    const open = (done: (error: ConnectError | null, socket: Socket | null) => void) => {
      this.#cancelOpening = openConnection(target.destination, sessions, (error, socket) => {
        this.#cancelOpening = null;
        this.#socket = socket;
        if (socket !== null) {
          readBeforeWriteFaults(socket);
          this.#expectAnswer = guardSocket(socket);
        }
        done(error, socket);
      });
    };
    const UndiciClient = clientClass();
    this.#client = new UndiciClient(target.origin, {
      connect: (_options, callback) => {
        open((error, socket) =>
          socket === null ? callback(error ?? new Error('no socket'), null) : callback(null, socket),
        );
      },
      pipelining: 1,
      allowH2: false,
      // Both are done by BoundsClock, per deployment.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      maxHeaderSize: LARGEST_HEAD_BYTES,
    });
    this.#client.on('disconnect', () => {
      this.#begun = 0;
      onDisconnect(this);
    });
  }

  /** Whether everything that was written is with the system, so that nobody reads the buffers any more. */
  get hasWrittenAll(): boolean {
    return this.#socket?.writableLength === 0;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(options, handler);
  }

  /** A request is being written. @returns whether the connection has carried another one before. */
  begin(): boolean {
    this.#begun += 1;
    this.#expectAnswer?.();
    return this.#begun > 1;
  }

  /** Ends it at once, whatever it is doing. A request on it gets an error. */
  destroy(): void {
    this.#cancelOpening?.();
    this.#client.destroy(null, () => undefined);
  }
}

/** Connections to one upstream with one TLS identity. As many as there are requests at a time: nothing queues. */
export class ConnectionPool {
  readonly #target: PoolTarget;
  readonly #sessions = new TlsSessions();
  /** In the order in which they became idle. */
  readonly #idle: Link[] = [];
  readonly #busy = new InFlight<Link>();
  readonly #now: () => number;
  #retired = false;
  #onEmpty: (() => void) | null = null;

  /** @param now milliseconds from any moment on; default: Node's clock. */
  constructor(target: PoolTarget, now: () => number = () => performance.now()) {
    this.#target = target;
    this.#now = now;
  }

  /** TLS handshakes since the start, resumed ones too. */
  get handshakes(): number {
    return this.#sessions.handshakes;
  }

  /**
   * A connection that is not undici's and not this pool's to keep: for what is passed through raw. Shares TLS sessions with the others.
   * @param done called once, unless cancelled; the socket is the caller's.
   * @returns cancels the attempt.
   */
  open(done: (error: ConnectError | null, socket: Socket | null) => void): () => void {
    return openConnection(this.#target.destination, this.#sessions, (error, socket) => {
      if (socket !== null) readBeforeWriteFaults(socket);
      done(error, socket);
    });
  }

  /**
   * An idle connection, or a new one. The last one used is the least likely to be closed by now; but one that would end soon
   * goes first: under load there is no reason to make it again.
   */
  take(): Link {
    const [oldest] = this.#idle;
    const isAging = oldest !== undefined && this.#now() - oldest.idleSince > AGING_MS;
    const link = (isAging ? this.#idle.shift() : this.#idle.pop()) ?? this.#make();
    this.#busy.add(link);
    return link;
  }

  /** A new connection, whatever is idle. */
  takeNew(): Link {
    const link = this.#make();
    this.#busy.add(link);
    return link;
  }

  /** The request is over, and the connection as good as before. */
  giveBack(link: Link): void {
    this.#busy.delete(link);
    if (this.#retired) link.destroy();
    else {
      link.idleSince = this.#now();
      this.#idle.push(link);
    }
    this.#checkEmpty();
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
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
      this.#checkEmpty();
    });
  }

  #make(): Link {
    return new Link(this.#target, this.#sessions, (link) => {
      const at = this.#idle.indexOf(link);
      if (at === -1) return;
      this.#idle.splice(at, 1);
      link.destroy();
    });
  }

  #checkEmpty(): void {
    if (this.#retired && this.#busy.size === 0) this.#onEmpty?.();
  }
}
