/** Graphical consoles of servers. Only a request for a console shows whether the cloud has consoles. */
import { DriverError } from '../driver-error.js';
import type { GraphicalConsoleAccess } from '../graphical-console-control.js';
import type { SystemSnapshot } from '../snapshot/system-snapshot.js';
import type { ComputeApi, Rejected } from './compute/compute-api.js';
import { consoleKinds, type ConsoleKind } from './compute/remote-console.js';
import { rejectionError } from './failure.js';

/** Access to the graphical consoles of a cloud. */
interface RemoteConsoles {
  /** Whether the cloud is known to have consoles. */
  readonly areAvailable: boolean;
  /**
   * Finds out in the background whether the cloud has consoles, unless this is known. For this, it
   * creates a console of a running server. No client uses this console, and it expires.
   */
  probe(server: Pick<SystemSnapshot, 'uuid' | 'state'>): void;
  /** Creates access to a console. @throws {DriverError} conflict, unsupported, unavailable, notFound. */
  open(id: string): Promise<GraphicalConsoleAccess>;
}

/** Time until the driver probes a cloud without consoles again. A client that opens a console does not wait for it. */
const ABSENT_MS = 3_600_000;
/** Minimum time between two probes, if the first one has not shown whether the cloud has consoles. */
const RETRY_MS = 60_000;

/** Creates the access to a cloud's consoles. Makes no request before its first use. */
export function createRemoteConsoles(api: Pick<ComputeApi, 'openConsole'>): RemoteConsoles {
  let found: ConsoleKind | undefined;
  let nextProbeAt = -Infinity;

  /**
   * Tries the kinds of consoles one after the other.
   * @returns the access, or the last rejection.
   */
  const tryKinds = async (id: string): Promise<GraphicalConsoleAccess | Rejected> => {
    const kinds = found === undefined ? consoleKinds : [found];
    let last: Rejected = { status: 400, reason: 'no kind of console' };
    for (const kind of kinds) {
      const answer = await api.openConsole(id, kind);
      if (!('status' in answer)) {
        found = kind;
        return answer;
      }
      last = answer;
      // 400: the cloud lacks this kind.
      if (answer.status !== 400) return answer;
    }
    found = undefined;
    nextProbeAt = performance.now() + ABSENT_MS;
    return last;
  };
  return {
    get areAvailable() {
      return found !== undefined;
    },
    probe: ({ uuid, state }) => {
      if (state !== 'running' || found !== undefined || performance.now() < nextProbeAt) return;
      nextProbeAt = performance.now() + RETRY_MS;
      // Ignores a failure, because readers of the server do not need the answer. A client that
      // opens a console gets the failure.
      tryKinds(uuid).catch(() => undefined);
    },
    open: async (id) => {
      const doing = `opening a console of server ${id}`;
      const answer = await tryKinds(id);
      if (!('status' in answer)) return answer;
      if (answer.status === 400) throw new DriverError('unsupported', `${doing}: Nova answers ${answer.reason}`);
      throw rejectionError(doing, answer, { isKnownServer: false });
    },
  };
}
