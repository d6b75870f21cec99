/**
 * Reads the states of servers that operations wait for. A few operations read their own servers. Many
 * operations share one listing of changed servers, because a request for each of them would take so much
 * of Nova's time that the operations themselves become slower.
 */
import type { ServerList } from './server-list.js';
import type { Server } from './server.js';

/** Maximum number of simultaneous operations that read their own servers. */
const MAX_SINGLE = 4;
/** A listing of this age counts as current. The operations themselves pause between their polls. */
const MAX_AGE_MS = 100;

/** Reads the present state of the server that an operation waits for. */
type Read = () => Promise<Server>;

/** An operation that waits. */
interface Waiting {
  readonly id: string;
  /** Time of {@link performance.now} after Nova accepted the action. An older state does not count. */
  readonly acceptedAt: number;
  /** Reads the server by its own request. */
  readonly readSingle: Read;
}

/** The operations of one cloud that wait. */
export class StatePolls {
  readonly #list: Pick<ServerList, 'refresh' | 'find'>;
  #waiting = 0;

  constructor(list: Pick<ServerList, 'refresh' | 'find'>) {
    this.#list = list;
  }

  /** Runs an operation. @param wait calls its argument for each poll. */
  async run(operation: Waiting, wait: (read: Read) => Promise<void>): Promise<void> {
    this.#waiting += 1;
    try {
      await wait(async () => {
        const known = this.#waiting > MAX_SINGLE ? await this.#readTogether(operation) : undefined;
        return known ?? (await operation.readSingle());
      });
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Returns the state in a current listing; undefined if the listing does not know it. */
  async #readTogether({ id, acceptedAt }: Waiting): Promise<Server | undefined> {
    await this.#list.refresh(MAX_AGE_MS);
    const entry = this.#list.find(id);
    if (entry === undefined || entry.readAt < acceptedAt) return undefined;
    return entry.snapshot.unansweredSince === undefined ? entry.server : undefined;
  }
}
