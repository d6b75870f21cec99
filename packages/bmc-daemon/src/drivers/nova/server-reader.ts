/** Reads servers: one alone, and several at the same time with one listing. */
import type { SystemSnapshot } from '../snapshot/system-snapshot.js';
import type { ComputeApi, Port } from './compute/compute-api.js';
import type { ServerList } from './compute/server-list.js';

/** A reading of a server. */
interface ServerReading {
  readonly snapshot: SystemSnapshot;
  /** Whether no other server was read at the same time. */
  readonly isAlone: boolean;
}

/** Reads servers by their UUID. */
interface ServerReader {
  /** Returns the present snapshot; undefined if the server is not served. */
  read(id: string): Promise<ServerReading | undefined>;
}

/** Nova reports no change of ports, so they are read again after this time. */
const PORTS_MS = 60_000;

/**
 * Creates a reader. Calls of the same turn of the event loop belong together: a collection with
 * `$expand` reads all of its members, and that costs one listing.
 */
export function createReader({
  api,
  list,
  freshMs,
  onReadAlone,
}: {
  readonly api: Pick<ComputeApi, 'getServer' | 'listPorts'>;
  readonly list: ServerList;
  /** A reading of this age needs no other one. */
  readonly freshMs: number;
  /** Called after a server was read alone. Default: nothing. */
  readonly onReadAlone?: (snapshot: SystemSnapshot) => void;
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
      // Nova asks Neutron for them, which may be down. The addresses of the server then show most.
      return undefined;
    }
  };
  const readAlone = async (id: string): Promise<SystemSnapshot | undefined> => {
    const known = list.find(id);
    const isFresh = known?.ports !== undefined && performance.now() - known.readAt <= freshMs;
    if (isFresh) return known.snapshot;
    const readAt = performance.now();
    const [server, ports] = await Promise.all([api.getServer(id), readPorts(id)]);
    const snapshot = list.record(id, server, { readAt, ports });
    if (snapshot !== undefined) onReadAlone?.(snapshot);
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
        const isAlone = members.size === 1;
        const snapshot = await (isAlone ? readAlone(id) : readTogether(id));
        return snapshot && { snapshot, isAlone };
      });
      members.set(id, result);
      return result;
    },
  };
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
