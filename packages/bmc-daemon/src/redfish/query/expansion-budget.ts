/**
 * Limits the answers to `$expand` and `$filter`, in total and for each client. A client is a user
 * at an address; more sessions or connections do not raise its share.
 */
import { RedfishError } from '../messages/errors.js';
import { message, withDetail } from '../messages/messages.js';
import { Pace } from './pace.js';

/** The limits of one process. */
export interface ExpansionLimits {
  /** Maximum number of answers in progress for all clients. Each client has at most one. */
  readonly atOnce: number;
  /** Maximum number of waiting requests of one client. */
  readonly waitingPerClient: number;
  /** Maximum number of waiting requests of all clients. */
  readonly waiting: number;
  /** Maximum wait, in milliseconds. */
  readonly waitMs: number;
  /** If a client has not read this many bytes of its answers, its next request waits. */
  readonly unreadBytesPerClient: number;
  /** If the clients have together not read this many bytes of their answers, every request waits. */
  readonly unreadBytes: number;
  /**
   * How long a client may take for a piece of 64 KiB before the service closes its connection, in
   * milliseconds.
   */
  readonly stallMs: number;
  /**
   * Maximum time in milliseconds that the reads of one answer may wait for a host that does not answer. After it, the
   * service reads no further resources for this answer.
   */
  readonly silentMs: number;
}

/** The default limits. */
const expansionLimits: ExpansionLimits = {
  atOnce: 2,
  waitingPerClient: 128,
  waiting: 512,
  // Below the timeouts of most clients, which are 15 to 60 s.
  waitMs: 10_000,
  unreadBytesPerClient: 16 * 1024 * 1024,
  unreadBytes: 128 * 1024 * 1024,
  stallMs: 30_000,
  // Below `waitMs`, so that a request that waits for its turn can still get it.
  silentMs: 8_000,
};

/** Time after which a rejected client should retry. */
const retryAfterSeconds = 5;

interface WaitingExpansion {
  readonly start: () => void;
}

interface Client {
  busy: boolean;
  unreadBytes: number;
  /** Oldest first. */
  readonly waiting: Set<WaitingExpansion>;
}

/**
 * Schedules expensive answers, one client after another, and counts the bytes that clients have not
 * read.
 */
export class ExpansionBudget {
  readonly pace = new Pace();
  readonly limits: ExpansionLimits;
  /**
   * Clients with a request in progress, a waiting request or unread bytes. The next request to start
   * is that of the first client in this order that may start one.
   */
  readonly #clients = new Map<string, Client>();
  #running = 0;
  #waiting = 0;
  #unreadBytes = 0;

  constructor(limits: Partial<ExpansionLimits> = {}) {
    this.limits = { ...expansionLimits, ...limits };
  }

  /**
   * Runs the work when it is the client's turn.
   * @param name the client.
   * @param signal aborted if the client disconnects, which ends the wait.
   * @throws {RedfishError} 503 if too many requests wait, the wait takes too long, or the client
   *   disconnects during the wait; errors of `work`.
   */
  async run<Value>(name: string, signal: AbortSignal, work: () => Promise<Value>): Promise<Value> {
    await this.#turn(name, signal);
    try {
      return await work();
    } finally {
      this.#running -= 1;
      const client = this.#clientOf(name);
      client.busy = false;
      // Move the client to the end, so that every other client has a turn first.
      this.#clients.delete(name);
      this.#clients.set(name, client);
      this.#updateClient(name);
    }
  }

  /**
   * Counts the unread bytes of an answer.
   * @returns a function that subtracts bytes. Call it with the number of bytes when the client has
   *   read them, and with the number of the rest when the client disconnects.
   */
  hold(name: string, bytes: number): (read: number) => void {
    const count = (change: number): void => {
      this.#unreadBytes += change;
      this.#clientOf(name).unreadBytes += change;
    };
    count(bytes);
    return (read) => {
      count(-read);
      this.#updateClient(name);
    };
  }

  #clientOf(name: string): Client {
    const existing = this.#clients.get(name);
    if (existing !== undefined) return existing;
    const client: Client = { busy: false, unreadBytes: 0, waiting: new Set() };
    this.#clients.set(name, client);
    return client;
  }

  #turn(name: string, signal: AbortSignal): Promise<void> {
    const { waiting, waitingPerClient, waitMs } = this.limits;
    if (this.#waiting >= waiting || (this.#clients.get(name)?.waiting.size ?? 0) >= waitingPerClient) {
      throw expansionUnavailableError('Too many requests with $expand or $filter wait for their turn.');
    }
    const client = this.#clientOf(name);
    return new Promise((resolve, reject) => {
      const leaveQueue = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        client.waiting.delete(entry);
        this.#waiting -= 1;
      };
      const fail = (why: string): void => {
        leaveQueue();
        this.#updateClient(name);
        reject(expansionUnavailableError(why));
      };
      const onAbort = (): void => fail('The client disconnected.');
      const entry: WaitingExpansion = {
        start: () => {
          leaveQueue();
          resolve();
        },
      };
      const timer = setTimeout(() => fail('The request waited too long for its turn.'), waitMs);
      client.waiting.add(entry);
      this.#waiting += 1;
      if (signal.aborted) {
        onAbort();
        return;
      }
      signal.addEventListener('abort', onAbort);
      this.#startNext();
    });
  }

  /** Removes the client if it has no request and no unread bytes, and starts waiting requests. */
  #updateClient(name: string): void {
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

function expansionUnavailableError(why: string): RedfishError {
  const seconds = String(retryAfterSeconds);
  const fault = withDetail(message('ServiceTemporarilyUnavailable', seconds), why);
  return new RedfishError(503, [fault], { 'Retry-After': seconds });
}
