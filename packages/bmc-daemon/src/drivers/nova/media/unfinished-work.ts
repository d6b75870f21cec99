/** Completes the unfinished operations of killed daemons. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { ServerList } from '../compute/server-list.js';
import type { Server } from '../compute/server.js';
import { isMarked, storedState } from './stored-state.js';

/** Dependencies of {@link createCompletion}. */
interface CompletionOptions {
  readonly list: Pick<ServerList, 'servers'>;
  /**
   * Prepares the work. Runs at the first call of the returned function, and again at each further
   * call until it succeeds.
   */
  readonly begin: () => Promise<void>;
  /**
   * Completes an unfinished boot or power-off of a server. It does not wait for the guest.
   * @param own true: completes only a power-off that this daemon began before its restart.
   */
  readonly complete: (id: string, which: { readonly own: boolean }) => Promise<void>;
  /** Deletes images that no server uses. */
  readonly sweep: () => Promise<void>;
  readonly log: Pick<Log, 'debug'>;
}

/** The trace of an unfinished boot or power-off of a server, as this daemon has seen it. */
interface Mark {
  /** `bootedAfter` of the stored state; empty if only a power-off is unfinished. */
  readonly text: string;
  /**
   * Time of {@link performance.now} when this daemon first saw the mark, or last saw a task of Nova
   * or a rescue.
   */
  readonly at: number;
  /** Whether this daemon has already tried to complete its own power-off. */
  readonly isChecked: boolean;
}

/**
 * If no boot follows a mark for this time, the daemon that wrote the mark was killed. A younger
 * mark may belong to a daemon that is about to boot the server.
 */
const ABANDONED_MS = 60_000;

/**
 * Returns the function to call after each listing of the servers. Its promise never rejects. While
 * an earlier call runs, it returns the promise of that call, which may wait for Glance, or for an
 * operation of another replica.
 */
export function createCompletion({ list, begin, complete, sweep, log }: CompletionOptions): () => Promise<void> {
  let hasBegun = false;
  const marks = new Map<string, Mark>();
  const completeServer = async (server: Server): Promise<void> => {
    const { id, vmState, task } = server;
    const text = storedState(server).bootedAfter ?? '';
    const known = marks.get(id);
    if (vmState === 'rescued' || task !== null) {
      marks.set(id, { text, at: performance.now(), isChecked: false });
      return;
    }
    if (known?.text !== text || !known.isChecked) {
      marks.set(id, { text, at: performance.now(), isChecked: true });
      await complete(id, { own: true });
    } else if (performance.now() - known.at > ABANDONED_MS) {
      marks.delete(id);
      await complete(id, { own: false });
      await sweep();
    }
  };
  const completeAll = async (): Promise<void> => {
    if (!hasBegun) await begin();
    hasBegun = true;
    const marked = list.servers.filter(isMarked);
    const ids = new Set(marked.map(({ id }) => id));
    for (const id of marks.keys()) if (!ids.has(id)) marks.delete(id);
    for (const server of marked) await completeServer(server).catch(logFailure);
  };
  const logFailure = (error: unknown): void =>
    log.debug('completing unfinished boots and power-offs failed', { error });
  let running: Promise<void> | undefined;
  return () => {
    running ??= completeAll()
      .catch(logFailure)
      .finally(() => (running = undefined));
    return running;
  };
}
