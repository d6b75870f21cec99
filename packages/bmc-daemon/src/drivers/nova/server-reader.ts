/** Reads servers: a single server with its own request, several servers with one listing. */
import type { SystemSnapshot } from '../snapshot/system-snapshot.js';
import type { ComputeApi, Port } from './compute/compute-api.js';
import type { ServerList } from './compute/server-list.js';

/** The result of a read of a server. */
interface ServerReading {
  readonly snapshot: SystemSnapshot;
  /** Whether no other server was read at the same time. */
  readonly isSingleRead: boolean;
}

/** Reads servers by their UUID. */
interface ServerReader {
  /** Returns the present snapshot; undefined if the server is not served. */
  read(id: string): Promise<ServerReading | undefined>;
}

/** Nova does not report changes of ports, so the driver reads them again after this time. */
const PORTS_MS = 60_000;

/**
 * Creates a reader. If several servers are read in one turn of the event loop, it makes one listing
 * for all of them. A collection with `$expand` reads all its members in one turn.
 */
export function createReader({
  api,
  list,
  freshMs,
  onSingleRead,
}: {
  readonly api: Pick<ComputeApi, 'getServer' | 'listPorts'>;
  readonly list: ServerList;
  /** Data up to this age counts as current. */
  readonly freshMs: number;
  /** Called after a server was read by its own request. Default: nothing. */
  readonly onSingleRead?: (snapshot: SystemSnapshot) => void;
}): ServerReader {
  const portsAt = new Map<string, number>();
  list.onChange(({ kind, uuid }) => {
    if (kind === 'undefined') portsAt.delete(uuid);
  });
  let batch: Map<string, Promise<ServerReading | undefined>> | undefined;

  const readPorts = async (id: string): Promise<readonly Port[] | undefined> => {
    const { ports } = list.find(id) ?? {};
    if (ports !== undefined && performance.now() - (portsAt.get(id) ?? -Infinity) < PORTS_MS) return undefined;
    try {
      const found = await api.listPorts(id);
      portsAt.set(id, performance.now());
      return found;
    } catch {
      // Nova asks Neutron for the ports, and Neutron may be down. The addresses of the server then
      // show most ports.
      return undefined;
    }
  };
  const readSingle = async (id: string): Promise<SystemSnapshot | undefined> => {
    const known = list.find(id);
    const isFresh = known?.ports !== undefined && performance.now() - known.readAt <= freshMs;
    if (isFresh) return known.snapshot;
    const readAt = performance.now();
    const [server, ports] = await Promise.all([api.getServer(id), readPorts(id)]);
    const snapshot = list.record(id, server, { readAt, ports });
    if (snapshot !== undefined) onSingleRead?.(snapshot);
    return snapshot;
  };
  const readTogether = async (id: string): Promise<SystemSnapshot | undefined> => {
    await list.refresh(freshMs);
    return list.find(id)?.snapshot;
  };
  return {
    read: (id) => {
      const members = (batch ??= new Map<string, Promise<ServerReading | undefined>>());
      const joined = members.get(id);
      if (joined !== undefined) return joined;
      const result = endOfTurn().then(async () => {
        batch = undefined;
        const isSingleRead = members.size === 1;
        const snapshot = await (isSingleRead ? readSingle(id) : readTogether(id));
        return snapshot && { snapshot, isSingleRead };
      });
      members.set(id, result);
      return result;
    },
  };
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
