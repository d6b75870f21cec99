/** Completes what a daemon that was killed has left behind. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { ServerList } from '../compute/server-list.js';
import type { Server } from '../compute/server.js';
import { isMarked, storedState } from './state-store.js';

/** Dependencies of {@link createTending}. */
interface TendingOptions {
  readonly list: Pick<ServerList, 'servers'>;
  /** Runs once, at the first call. It is repeated if it fails. */
  readonly begin: () => Promise<void>;
  /**
   * Completes the boot or the power-off of a server. It does not wait for the guest.
   * @param own only a power-off of this daemon.
   */
  readonly complete: (id: string, which: { readonly own: boolean }) => Promise<void>;
  /** Deletes images that no server uses. */
  readonly sweep: () => Promise<void>;
  readonly log: Pick<Log, 'debug'>;
}

/** The mark of a server that no task changes. */
interface Mark {
  readonly text: string;
  /** When this daemon saw it first, or when the last task ended. */
  readonly at: number;
  /** Whether this daemon has looked for a power-off of its own. */
  readonly isChecked: boolean;
}

/**
 * A mark of a boot that is as old as this, without a boot, belongs to a daemon that was killed. Another
 * daemon may be about to boot the server.
 */
const ABANDONED_MS = 60_000;

/** Returns the function to call after each listing. It never throws. */
export function createTending({ list, begin, complete, sweep, log }: TendingOptions): () => Promise<void> {
  let hasBegun = false;
  const marks = new Map<string, Mark>();
  const tendServer = async (server: Server): Promise<void> => {
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
  const tend = async (): Promise<void> => {
    if (!hasBegun) await begin();
    hasBegun = true;
    const marked = list.servers.filter(isMarked);
    const ids = new Set(marked.map(({ id }) => id));
    for (const id of marks.keys()) if (!ids.has(id)) marks.delete(id);
    for (const server of marked) await tendServer(server).catch(failed);
  };
  const failed = (error: unknown): void => log.debug('tending virtual media failed', { error });
  return () => tend().catch(failed);
}
