/** Completes what a daemon that was killed has left behind. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { ServerList } from '../compute/server-list.js';
import { storedState } from './state-store.js';

/** Dependencies of {@link createTending}. */
interface TendingOptions {
  readonly list: Pick<ServerList, 'servers'>;
  /** Runs once, at the first call. It is repeated if it fails. */
  readonly begin: () => Promise<void>;
  /** Moves the result of a boot to the metadata of its server. */
  readonly settle: (id: string) => Promise<void>;
  /** Deletes images that no server uses. */
  readonly sweep: () => Promise<void>;
  readonly log: Pick<Log, 'debug'>;
}

/**
 * A mark of a boot that is as old as this, without a boot, belongs to a daemon that was killed. Another
 * daemon may be about to boot the server.
 */
const ABANDONED_MS = 60_000;

/** Returns the function to call after each listing. It never throws. */
export function createTending({ list, begin, settle, sweep, log }: TendingOptions): () => Promise<void> {
  let hasBegun = false;
  const markedAt = new Map<string, { readonly mark: string; readonly at: number }>();
  const tend = async (): Promise<void> => {
    if (!hasBegun) await begin();
    hasBegun = true;
    const marked = list.servers.filter((server) => storedState(server).bootedAfter !== undefined);
    const ids = new Set(marked.map(({ id }) => id));
    for (const id of markedAt.keys()) if (!ids.has(id)) markedAt.delete(id);
    for (const server of marked) {
      const { id, vmState, task } = server;
      const mark = storedState(server).bootedAfter ?? '';
      const known = markedAt.get(id);
      if (known?.mark !== mark || vmState === 'rescued' || task !== null) {
        markedAt.set(id, { mark, at: performance.now() });
      } else if (performance.now() - known.at > ABANDONED_MS) {
        markedAt.delete(id);
        await settle(id);
        await sweep();
      }
    }
  };
  return () => tend().catch((error: unknown) => log.debug('tending virtual media failed', { error }));
}
