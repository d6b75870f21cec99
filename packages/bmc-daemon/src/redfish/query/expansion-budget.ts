/**
 * Limits for all answers to `$expand` and `$filter` together, and for each client. A client is a user at an address: further
 * sessions and connections give no further share.
 */
import { RedfishError } from '../errors.js';
import { message, withDetail } from '../messages.js';
import { Pace } from './pace.js';

/** The limits of a process. */
export interface ExpansionLimits {
  /** Answers that are made at a time, of all clients. A client makes one at a time. */
  readonly atOnce: number;
  /** Requests of one client that wait for their turn. */
  readonly waitingPerClient: number;
  /** Requests of all clients that wait. */
  readonly waiting: number;
  /** The longest wait for a turn. */
  readonly waitMs: number;
  /** Bytes that one client has asked for and not read: no further answer is made for it above this. */
  readonly unreadBytesPerClient: number;
  /** Bytes that all clients have asked for and not read: no further answer is made above this. */
  readonly unreadBytes: number;
  /** How long a client may take for a piece of its answer (64 KiB) before its connection is closed. */
  readonly stallMs: number;
}

/** The limits where nothing else is said. */
export const expansionLimits: ExpansionLimits = {
  atOnce: 2,
  waitingPerClient: 128,
  waiting: 512,
  // Clients give up after 30 to 60 s.
  waitMs: 10_000,
  unreadBytesPerClient: 16 * 1024 * 1024,
  unreadBytes: 128 * 1024 * 1024,
  stallMs: 30_000,
};

/** When a rejected client should ask again. */
const retryAfterSeconds = 5;

interface Waiting {
  readonly start: () => void;
}

interface Client {
  busy: boolean;
  unreadBytes: number;
  /** Oldest first. */
  readonly waiting: Set<Waiting>;
}

/** Gives turns to requests, to each client in turn, and counts what is not read. */
export class ExpansionBudget {
  readonly pace = new Pace();
  readonly limits: ExpansionLimits;
  /** Those that are served, wait or have something to read. The first one is next. */
  readonly #clients = new Map<string, Client>();
  #running = 0;
  #waiting = 0;
  #unreadBytes = 0;

  constructor(limits: Partial<ExpansionLimits> = {}) {
    this.limits = { ...expansionLimits, ...limits };
  }

  /**
   * Does the work when it is the client's turn.
   * @param name of the client.
   * @param signal aborted when the client goes away: it waits no longer then.
   * @throws {RedfishError} 503 where too many wait, or the turn does not come in time; what `work` throws.
   */
  async run<Value>(name: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    await this.#turn(name, signal);
    try {
      return await work();
    } finally {
      this.#running -= 1;
      const client = this.#clientOf(name);
      client.busy = false;
      // Behind the others: each client has its turn before this one has another.
      this.#clients.delete(name);
      this.#clients.set(name, client);
      this.#changed(name);
    }
  }

  /**
   * Counts bytes that a client has not read.
   * @returns a function that is called once for each part of them that it has read, or will not read.
   */
  hold(name: string, bytes: number): (read: number) => void {
    const count = (change: number): void => {
      this.#unreadBytes += change;
      this.#clientOf(name).unreadBytes += change;
    };
    count(bytes);
    return (read) => {
      count(-read);
      this.#changed(name);
    };
  }

  #clientOf(name: string): Client {
    const known = this.#clients.get(name);
    if (known !== undefined) return known;
    const client: Client = { busy: false, unreadBytes: 0, waiting: new Set() };
    this.#clients.set(name, client);
    return client;
  }

  #turn(name: string, signal: AbortSignal): Promise<void> {
    const { waiting, waitingPerClient, waitMs } = this.limits;
    if (this.#waiting >= waiting || (this.#clients.get(name)?.waiting.size ?? 0) >= waitingPerClient) {
      throw tooMany('Too many requests with $expand or $filter wait for their turn.');
    }
    const client = this.#clientOf(name);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        client.waiting.delete(entry);
        this.#waiting -= 1;
      };
      const fail = (why: string): void => {
        leave();
        this.#changed(name);
        reject(tooMany(why));
      };
      const giveUp = (): void => fail('The client went away.');
      const entry: Waiting = {
        start: () => {
          leave();
          resolve();
        },
      };
      const timer = setTimeout(() => fail('Other requests with $expand or $filter took all the time.'), waitMs);
      client.waiting.add(entry);
      this.#waiting += 1;
      if (signal.aborted) {
        giveUp();
        return;
      }
      signal.addEventListener('abort', giveUp);
      this.#startNext();
    });
  }

  #changed(name: string): void {
    const client = this.#clientOf(name);
    if (!client.busy && client.unreadBytes === 0 && client.waiting.size === 0) this.#clients.delete(name);
    this.#startNext();
  }

  #startNext(): void {
    for (const client of this.#clients.values()) {
      if (this.#running >= this.limits.atOnce || this.#unreadBytes >= this.limits.unreadBytes) return;
      const [next] = client.waiting;
      if (next === undefined || client.busy || client.unreadBytes >= this.limits.unreadBytesPerClient) continue;
      client.busy = true;
      this.#running += 1;
      next.start();
    }
  }
}

function tooMany(why: string): RedfishError {
  const seconds = String(retryAfterSeconds);
  const fault = withDetail(message('ServiceTemporarilyUnavailable', seconds), why);
  return new RedfishError(503, [fault], { 'Retry-After': seconds });
}
