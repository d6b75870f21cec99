/** Restricts a driver to some of its machines. Callers cannot see the other machines. */
import { byMachine, onlyMachine, type OnMachine } from './by-machine.js';
import type { HypervisorDriver } from './driver.js';
import type { SystemRef } from './snapshot/system-snapshot.js';
import type { HostsControl } from './hosts-control.js';
import type { StatisticsControl } from './statistics-control.js';

/**
 * Returns a function that returns whether a machine is in a list.
 * @param allowed UUIDs (any case) and names.
 */
export function isAmong(allowed: readonly string[]): (machine: SystemRef) => boolean {
  const names = new Set(allowed);
  const uuids = new Set(allowed.map((id) => id.toLowerCase()));
  return ({ uuid, name }) => uuids.has(uuid) || names.has(name);
}

/** Returns the UUID of an allowed machine. @throws {DriverError} notFound; the error of a failed list. */
type Resolve = (id: string) => Promise<string>;

/**
 * Returns a driver that has only the allowed machines of the given driver. Its `close` also closes
 * the given driver.
 * @param allowed UUIDs (any case) and names.
 * @param hosts the visible hosts; null: none. Default: the hosts of the driver.
 */
export function allowSystems(
  driver: HypervisorDriver,
  allowed: readonly string[],
  hosts: HostsControl | null = driver.hosts ?? null,
): HypervisorDriver {
  const isAllowed = isAmong(allowed);
  let all: readonly SystemRef[] = [];
  let shown: readonly SystemRef[] = [];

  const listSystems = async (): Promise<readonly SystemRef[]> => {
    const list = await driver.listSystems();
    // Returns the same object for the same list, so that callers can see that nothing changed.
    if (list !== all) [all, shown] = [list, list.filter(isAllowed)];
    return shown;
  };
  // Continues with the UUID, so that a later call cannot affect another machine with the same name.
  const resolve: Resolve = async (id) => onlyMachine(await listSystems(), id).uuid;
  /** Returns a function that resolves the id of a machine, and then calls the driver or a part of it. */
  const forwardTo =
    <Group>(group: Group): OnMachine<Group> =>
    async (id, call) =>
      await call(group, await resolve(id));
  const { media, console: consoles, display, graphicalConsole, guestNetwork, logs, statistics, volumes } = driver;
  return byMachine<HypervisorDriver>(forwardTo(driver), {
    get name() {
      return driver.name;
    },
    start: () => driver.start(),
    close: () => driver.close(),
    ping: () => driver.ping(),
    onChange: (listener) =>
      driver.onChange((change) => {
        if (isAllowed(change)) listener(change);
      }),
    listSystems,
    isListIncomplete: () => driver.isListIncomplete?.() === true,
    powerActions: driver.powerActions,
    changeable: driver.changeable,
    media: media && byMachine(forwardTo(media), {}),
    console: consoles && byMachine(forwardTo(consoles), { acceptsSecondClient: consoles.acceptsSecondClient }),
    graphicalConsole: graphicalConsole && byMachine(forwardTo(graphicalConsole), {}),
    display: display && byMachine(forwardTo(display), {}),
    hosts: hosts ?? undefined,
    logs: logs && byMachine(forwardTo(logs), { maxActions: logs.maxActions }),
    guestNetwork: guestNetwork && byMachine(forwardTo(guestNetwork), {}),
    volumes: volumes && byMachine(forwardTo(volumes), {}),
    statistics: statistics && allowStatistics(statistics, { resolve, listSystems }),
  });
}

function allowStatistics(
  statistics: StatisticsControl,
  { resolve, listSystems }: { readonly resolve: Resolve; readonly listSystems: HypervisorDriver['listSystems'] },
): StatisticsControl {
  if ('of' in statistics) return { of: async (id) => await statistics.of(await resolve(id)) };
  return {
    all: async () => {
      const [list, every] = await Promise.all([listSystems(), statistics.all()]);
      const allowedUuids = new Set(list.map(({ uuid }) => uuid));
      return every.filter(({ uuid }) => allowedUuids.has(uuid));
    },
  };
}
