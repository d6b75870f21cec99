/** Finds the servers of a cloud by the ids of clients. */
import { DriverError } from '../driver-error.js';
import type { SystemRef } from '../snapshot/system-snapshot.js';
import type { ComputeApi } from './compute/compute-api.js';
import type { ServerList } from './compute/server-list.js';
import { readServer } from './power-control.js';

/** Dependencies of {@link createLookup}. */
interface LookupOptions {
  readonly api: ComputeApi;
  readonly list: ServerList;
  /** A listing up to this age counts as current. */
  readonly freshMs: number;
}

/** Finds servers. Methods with an id throw a {@link DriverError}: notFound, if a name does not identify one server. */
interface ServerLookup {
  readonly listSystems: () => Promise<readonly SystemRef[]>;
  /** Returns the UUID of a server. For a UUID, does not check that the server exists and that the daemon serves it. */
  readonly uuidOf: (id: string) => Promise<string>;
  /**
   * Returns the UUID of a server that the daemon serves. A known UUID needs no request.
   * @throws also as {@link readServer}, for example notFound, if the daemon does not serve the server.
   */
  readonly servedUuidOf: (id: string) => Promise<string>;
}

const uuidPattern = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** Lists the servers, and finds them by UUID or name. */
export function createLookup({ api, list, freshMs }: LookupOptions): ServerLookup {
  const listSystems = async (): Promise<readonly SystemRef[]> => {
    await list.refresh(freshMs);
    return list.refs;
  };
  const uuidOf = async (id: string): Promise<string> => {
    const lower = id.toLowerCase();
    if (uuidPattern.test(lower)) return lower;
    const named = (await listSystems()).filter(({ name }) => name === id);
    const [found] = named;
    if (found === undefined) throw new DriverError('notFound', `looking up server ${id}: no such server`);
    if (named.length === 1) return found.uuid;
    throw new DriverError(
      'notFound',
      `looking up server ${id}: ${named.length} servers have this name, so use the UUID`,
    );
  };
  const servedUuidOf = async (id: string): Promise<string> => {
    const uuid = await uuidOf(id);
    if (list.find(uuid) === undefined) await readServer(uuid, { api, list });
    return uuid;
  };
  return { listSystems, uuidOf, servedUuidOf };
}
