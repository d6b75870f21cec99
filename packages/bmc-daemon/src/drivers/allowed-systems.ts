/** Restricts a driver to some of its machines. The other machines seem not to exist. */
import { DriverError } from './driver-error.js';
import type { HypervisorDriver } from './driver.js';
import type { SystemRef } from './snapshot/system-snapshot.js';
import type { StatisticsControl } from './statistics-control.js';

/** Returns the UUID of an allowed machine. @throws {DriverError} notFound */
type Resolve = (id: string) => Promise<string>;

/** Names of the methods of one machine: their first parameter is its id. */
type MachineMethod<Group> = {
  [Name in keyof Group]-?: Group[Name] extends (id: string, ...rest: never[]) => Promise<unknown>
    ? Parameters<Group[Name]> extends [string, ...unknown[]]
      ? Name
      : never
    : never;
}[keyof Group];

/** All other members. The compiler reports a new member that is missing here. */
type OtherMembers<Group> = {
  readonly [Name in Exclude<keyof Group, MachineMethod<Group>>]-?: Group[Name] | undefined;
};

/**
 * Wraps a driver or a part of it. A method of one machine gets the UUID that `resolve` returns for its
 * id; `others` replaces all other members.
 */
function byMachine<Group extends object>(group: Group, resolve: Resolve, others: OtherMembers<Group>): Group {
  return new Proxy(group, {
    get(target, name): unknown {
      if (Object.hasOwn(others, name)) return Reflect.get(others, name);
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return undefined;
      return async (id: string, ...rest: unknown[]): Promise<unknown> =>
        Reflect.apply(member, target, [await resolve(id), ...rest]) as unknown;
    },
  });
}

/**
 * Wraps a driver. Its close also closes the wrapped driver.
 * @param allowed UUIDs (any case) and names.
 */
export function allowSystems(driver: HypervisorDriver, allowed: readonly string[]): HypervisorDriver {
  const names = new Set(allowed);
  const uuids = new Set(allowed.map((id) => id.toLowerCase()));
  const isAllowed = ({ uuid, name }: SystemRef) => uuids.has(uuid) || names.has(name);
  let all: readonly SystemRef[] = [];
  let shown: readonly SystemRef[] = [];

  const listSystems = async (): Promise<readonly SystemRef[]> => {
    const list = await driver.listSystems();
    // The same list returns the same object, which shows callers that nothing changed.
    if (list !== all) [all, shown] = [list, list.filter(isAllowed)];
    return shown;
  };
  // A UUID, so that a later call by name cannot affect another machine.
  const resolve: Resolve = async (id) => {
    const list = await listSystems();
    const lower = id.toLowerCase();
    const found = list.find(({ uuid }) => uuid === lower) ?? list.find(({ name }) => name === id);
    if (found === undefined) throw new DriverError('notFound', `looking up machine ${id}: there is none`);
    return found.uuid;
  };
  const { media, console: consoles, graphicalConsole, guestNetwork, logs, statistics, volumes } = driver;
  return byMachine(driver, resolve, {
    name: driver.name,
    start: () => driver.start(),
    close: () => driver.close(),
    ping: () => driver.ping(),
    onChange: (listener) =>
      driver.onChange((change) => {
        if (isAllowed(change)) listener(change);
      }),
    listSystems,
    powerActions: driver.powerActions,
    changeable: driver.changeable,
    media: media && byMachine(media, resolve, {}),
    console: consoles && byMachine(consoles, resolve, {}),
    graphicalConsole: graphicalConsole && byMachine(graphicalConsole, resolve, {}),
    logs: logs && byMachine(logs, resolve, { maxActions: logs.maxActions }),
    guestNetwork: guestNetwork && byMachine(guestNetwork, resolve, {}),
    volumes: volumes && byMachine(volumes, resolve, { provideVolume: (...rest) => volumes.provideVolume(...rest) }),
    statistics: statistics && allowStatistics(statistics, { resolve, listSystems }),
  });
}

function allowStatistics(
  statistics: StatisticsControl,
  { resolve, listSystems }: { readonly resolve: Resolve; readonly listSystems: HypervisorDriver['listSystems'] },
): StatisticsControl {
  if ('of' in statistics) return byMachine(statistics, resolve, {});
  return {
    all: async () => {
      const [list, every] = await Promise.all([listSystems(), statistics.all()]);
      const allowedUuids = new Set(list.map(({ uuid }) => uuid));
      return every.filter(({ uuid }) => allowedUuids.has(uuid));
    },
  };
}
