/** Reads servers: a single server with its own request, several servers with one listing. */
import { isDeepStrictEqual } from 'node:util';
import type { SystemSnapshot } from '../snapshot/system-snapshot.js';
import type { ComputeApi, Port } from './compute/compute-api.js';
import { isKnown, type Server, type UnknownServer } from './compute/server.js';
import type { ServerList } from './compute/server-list.js';
import { PortReader } from './port-reader.js';

/** The result of a read of a server. */
interface ServerReading {
  readonly snapshot: SystemSnapshot;
  /** False if other servers were read in the same turn, or if a known state was young enough for `maxAgeMs`. */
  readonly isSingleRead: boolean;
}

/** See {@link ServerReader.read}. */
interface Wanted {
  readonly wantsPorts: boolean;
  readonly maxAgeMs?: number | undefined;
}

/** Reads servers by their UUID. */
interface ServerReader {
  /**
   * Returns the present snapshot; undefined if the server is not served.
   * @param wanted `wantsPorts`: whether to read the ports too. Nova asks Neutron for them, which takes much longer
   *   than the read of a server. `maxAgeMs`: a known state of at most this age needs no request, even with
   *   `wantsPorts`; default: none.
   */
  read(id: string, wanted?: Wanted): Promise<ServerReading | undefined>;
}

/** A read of a server in the present turn of the event loop. */
interface JoinedRead {
  /** Whether one of the readers wants the ports. */
  wantsPorts: boolean;
  readonly result: Promise<ServerReading | undefined>;
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
  /** Called after a read of a single server, also if its last reading was still current. Default: nothing. */
  readonly onSingleRead?: (snapshot: SystemSnapshot) => void;
}): ServerReader {
  const portsAt = new Map<string, number>();
  /** When servers were read by their own requests. */
  const singleAt = new Map<string, number>();
  list.onChange(({ kind, uuid }) => {
    if (kind !== 'undefined') return;
    portsAt.delete(uuid);
    singleAt.delete(uuid);
  });
  let batch: Map<string, JoinedRead> | undefined;

  const portReader = new PortReader(api);
  /** Stores ports that arrived after their reader had left, unless the interfaces have changed since then. */
  const recordLate = (id: string, server: Server | UnknownServer | undefined, ports: readonly Port[]): void => {
    const known = list.find(id);
    if (known === undefined || known.snapshot.unansweredSince !== undefined) return;
    if (server === undefined || !isKnown(server) || !isDeepStrictEqual(known.server.macs, server.macs)) return;
    portsAt.set(id, performance.now());
    list.record(id, known.server, { readAt: known.readAt, ports });
  };
  const readSingle = async (id: string, wantsPorts: boolean): Promise<SystemSnapshot | undefined> => {
    const known = list.find(id);
    const readAt = performance.now();
    const hasPorts = known?.ports !== undefined && readAt - (portsAt.get(id) ?? -Infinity) < PORTS_MS;
    const needsPorts = wantsPorts && !hasPorts;
    const isFresh = readAt - (singleAt.get(id) ?? -Infinity) <= freshMs;
    if (known !== undefined && !needsPorts && isFresh) return known.snapshot;
    const request = needsPorts ? portReader.request(id) : undefined;
    // Without ports in time, the last known ports or the addresses show the interfaces.
    const [server, ports] = await Promise.all([api.getServer(id), request?.inTime]);
    if (ports !== undefined) portsAt.set(id, readAt);
    else void request?.answer.then((late) => late && recordLate(id, server, late));
    const snapshot = list.record(id, server, { readAt, ports });
    if (snapshot !== undefined) singleAt.set(id, readAt);
    return snapshot;
  };
  const readTogether = async (id: string): Promise<SystemSnapshot | undefined> => {
    await list.refresh(freshMs);
    return list.find(id)?.snapshot;
  };
  return {
    read: (id, wanted = { wantsPorts: false }) => {
      const { maxAgeMs } = wanted;
      const known = maxAgeMs === undefined ? undefined : list.findSince(id, performance.now() - maxAgeMs);
      if (known !== undefined) return Promise.resolve({ snapshot: known.snapshot, isSingleRead: false });
      const members = (batch ??= new Map<string, JoinedRead>());
      const joined = members.get(id);
      if (joined !== undefined) {
        joined.wantsPorts ||= wanted.wantsPorts;
        return joined.result;
      }
      const result = endOfTurn().then(async () => {
        batch = undefined;
        const isSingleRead = members.size === 1;
        const snapshot = await (isSingleRead ? readSingle(id, read.wantsPorts) : readTogether(id));
        if (isSingleRead && snapshot !== undefined) onSingleRead?.(snapshot);
        return snapshot && { snapshot, isSingleRead };
      });
      const read: JoinedRead = { wantsPorts: wanted.wantsPorts, result };
      members.set(id, read);
      return result;
    },
  };
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
