/** Statistics of servers. Nova has no request for several servers, so each server needs its own request. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { MachineStatistics, SingleStatistics } from '../statistics-control.js';
import type { ComputeApi } from './compute/compute-api.js';
import type { ServerList } from './compute/server-list.js';
import { stateOf } from './compute/snapshot.js';
import { CloudFailure } from './http/cloud-failure.js';
import { RequestQueue } from './http/request-queue.js';

/** Dependencies of {@link createServerStatistics}. */
interface ServerStatisticsOptions {
  readonly api: Pick<ComputeApi, 'diagnostics'>;
  readonly list: Pick<ServerList, 'find' | 'onChange'>;
  /** Maximum time that a request waits for its turn in the queue. */
  readonly timeoutMs: number;
  readonly log: Pick<Log, 'warn'>;
}

/** Maximum number of simultaneous requests. The session can send two more to compute hosts, for consoles. */
const LIMITS = { running: 4, waiting: 10_000 };
/**
 * If a policy of the cloud has rejected diagnostics, the driver sends no requests for this time.
 */
const REFUSED_MS = 600_000;
/**
 * If the diagnostics of a server have failed, the driver does not request them again for this time.
 * The host of the server may be down.
 */
const FAILED_MS = 30_000;

/** Creates the reader of statistics. Makes no request before its first use. */
export function createServerStatistics({ api, list, timeoutMs, log }: ServerStatisticsOptions): SingleStatistics {
  const queue = new RequestQueue(LIMITS);
  /**
   * Number of starts of each server that the daemon has seen. It is the id of a run, because Nova does
   * not report when a guest was started.
   */
  const runs = new Map<string, number>();
  const failures = new Map<string, { readonly error: unknown; readonly at: number }>();
  let refusedAt = -Infinity;
  list.onChange(({ kind, uuid }) => {
    if (kind === 'started') runs.set(uuid, (runs.get(uuid) ?? 0) + 1);
    if (kind === 'undefined') {
      runs.delete(uuid);
      failures.delete(uuid);
    }
  });
  const ask = async (uuid: string): ReturnType<typeof api.diagnostics> => {
    try {
      const answer = await api.diagnostics(uuid, String(runs.get(uuid) ?? 0));
      failures.delete(uuid);
      return answer;
    } catch (error) {
      if (error instanceof CloudFailure) failures.set(uuid, { error, at: performance.now() });
      throw error;
    }
  };
  const read = async (uuid: string): Promise<MachineStatistics | null> => {
    // Nova may have rejected the diagnostics of another server while this request waited.
    if (performance.now() - refusedAt < REFUSED_MS) return null;
    const answer = await ask(uuid);
    if (!('status' in answer)) return answer;
    if (answer.status === 403) {
      // The policy applies to the whole cloud, so Nova rejects all servers.
      if (refusedAt === -Infinity) log.warn(`metric reports have no values: Nova answers ${answer.reason}`);
      refusedAt = performance.now();
    }
    // With any other status, the server is off or paused, or its host has no diagnostics.
    return null;
  };
  return {
    of: async (uuid) => {
      const known = list.find(uuid)?.server;
      const isOff = known !== undefined && stateOf(known) === 'shutoff';
      if (isOff) return null;
      const failure = failures.get(uuid);
      if (failure !== undefined && performance.now() - failure.at < FAILED_MS) throw failure.error;
      const doing = `reading the diagnostics of server ${uuid}`;
      return await queue.run(doing, performance.now() + timeoutMs, () => read(uuid));
    },
  };
}
