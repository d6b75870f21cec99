/**
 * Reads the states of servers for power operations. A few operations read their own servers. Many operations
 * share one listing of changed servers. A request for each of them would take so much of Nova's time that the
 * operations themselves become slower. A listing of many servers takes long too. So after each answer, the
 * driver rests: it sends no further request for a multiple of the time that the answer took.
 */
import { CloudFailure } from '../http/cloud-failure.js';
import { Rest } from '../http/rest.js';
import type { ServerList } from './server-list.js';
import type { Server } from './server.js';

/** Maximum number of simultaneous operations that read their own servers. */
const MAX_SINGLE = 4;
/** The rest after the answer to a single read is this many times its duration. */
const REST_PER_READ = 3;
/**
 * The rest after a shared listing is this many times its duration. While operations send actions, listings of one
 * second thus use a tenth of the time.
 */
const REST_PER_LISTING = 9;
/** The longest rest while no operation sends an action, because then a listing slows down no action. */
const IDLE_REST_MS = 1000;

/** The reads of one operation. */
export interface Polls {
  /**
   * Reads the state of the server at `since` or later. The tags and metadata may be older.
   * @param since time of {@link performance.now}.
   * @returns undefined: not known yet. Ask again after {@link restMs}.
   */
  readonly read: (since: number) => Promise<Server | undefined>;
  /** Returns the time until Nova should be asked again; 0 or less: now. */
  readonly restMs: () => number;
}

/** The operations of one cloud. */
export class StatePolls {
  readonly #list: Pick<ServerList, 'refresh' | 'findSince' | 'isListedSince'>;
  #running = 0;
  /** Operations that send their action. */
  #sending = 0;
  /** The rest after shared listings. */
  readonly #rest = new Rest(REST_PER_LISTING);

  constructor(list: Pick<ServerList, 'refresh' | 'findSince' | 'isListedSince'>) {
    this.#list = list;
  }

  /** Runs an operation, and counts it until it ends. */
  async run<Result>(operation: () => Promise<Result>): Promise<Result> {
    this.#running += 1;
    try {
      return await operation();
    } finally {
      this.#running -= 1;
    }
  }

  /** Sends an action. Until its answer, shared listings rest for longer. */
  async send<Answer>(request: () => Promise<Answer>): Promise<Answer> {
    this.#sending += 1;
    try {
      return await request();
    } finally {
      this.#sending -= 1;
    }
  }

  /** Returns the reads of an operation. @param readSingle reads the server by its own request. */
  of(id: string, readSingle: () => Promise<Server>): Polls {
    const own = new Rest(REST_PER_READ);
    return {
      read: async (since) => (this.areShared ? this.#readTogether(id, since, readSingle) : own.after(readSingle)),
      restMs: () => (this.areShared ? this.#restMs : own.ms),
    };
  }

  get #restMs(): number {
    return this.#sending > 0 ? this.#rest.ms : this.#rest.msWithin(IDLE_REST_MS);
  }

  /** Whether operations share their reads. */
  get areShared(): boolean {
    return this.#running > MAX_SINGLE;
  }

  async #readTogether(id: string, since: number, readSingle: () => Promise<Server>): Promise<Server | undefined> {
    const known = this.#list.findSince(id, since);
    if (known !== undefined) return known.server;
    if (this.#restMs > 0) return undefined;
    try {
      await this.#rest.after(() => this.#list.refresh(0));
    } catch (error) {
      // A listing can fail because of one cell, or take too long. Then the operation reads only its server.
      if (error instanceof CloudFailure) return readSingle();
      throw error;
    }
    const listed = this.#list.findSince(id, since);
    if (listed !== undefined) return listed.server;
    // A listing that began before `since` proves nothing. In a later listing, the server is missing because
    // it is deleted, its cell does not answer, or the listing is incomplete. Then the operation reads its server.
    return this.#list.isListedSince(since) ? readSingle() : undefined;
  }
}
