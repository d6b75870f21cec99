/**
 * Reads the states of servers that operations wait for. A few operations read their own servers. Many
 * operations share one listing of changed servers, because a request for each of them would take so much
 * of Nova's time that the operations themselves become slower. A listing of many servers takes long too.
 * So after each answer, the driver does not ask again for a multiple of the duration of this answer.
 */
import { Rest } from '../http/rest.js';
import type { ServerList } from './server-list.js';
import type { Server } from './server.js';

/** Maximum number of simultaneous operations that read their own servers. */
const MAX_SINGLE = 4;
/** The rest after an answer is this many times its duration. */
const REST_PER_ANSWER = 3;

/** An operation that waits. */
interface Waiting {
  readonly id: string;
  /** Time of {@link performance.now} after Nova accepted the action. An older state does not count. */
  readonly acceptedAt: number;
  /** Reads the server by its own request. */
  readonly readSingle: () => Promise<Server>;
}

/** The polls of one operation. */
export interface Polls {
  /** Reads the state of the server. */
  readonly read: () => Promise<Server>;
  /** Returns the time until Nova should be asked again; 0 or less: now. */
  readonly restMs: () => number;
}

/** The operations of one cloud that wait. */
export class StatePolls {
  readonly #list: Pick<ServerList, 'refresh' | 'find'>;
  #waiting = 0;
  /** The rest after shared listings. */
  readonly #rest = new Rest(REST_PER_ANSWER);

  constructor(list: Pick<ServerList, 'refresh' | 'find'>) {
    this.#list = list;
  }

  /** Runs an operation, and counts it as waiting until it ends. */
  async run(operation: Waiting, wait: (polls: Polls) => Promise<void>): Promise<void> {
    const own = new Rest(REST_PER_ANSWER);
    const areMany = (): boolean => this.#waiting > MAX_SINGLE;
    this.#waiting += 1;
    try {
      await wait({
        read: async () => {
          const known = areMany() ? await this.#readTogether(operation) : undefined;
          return known ?? (await own.after(() => operation.readSingle()));
        },
        restMs: () => (areMany() ? this.#rest : own).ms,
      });
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Returns the last state in the list; undefined if the list does not know it. */
  async #readTogether({ id, acceptedAt }: Waiting): Promise<Server | undefined> {
    if (this.#rest.ms <= 0) await this.#rest.after(() => this.#list.refresh(0));
    const entry = this.#list.find(id);
    if (entry === undefined || entry.readAt < acceptedAt) return undefined;
    return entry.snapshot.unansweredSince === undefined ? entry.server : undefined;
  }
}
