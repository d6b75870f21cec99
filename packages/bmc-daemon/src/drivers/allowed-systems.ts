/** Restricts a driver to some of its machines. The other machines seem not to exist. */
import { DriverError } from './driver-error.js';
import type { HypervisorDriver } from './driver.js';
import type { SystemRef } from './snapshot/system-snapshot.js';

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
  /**
   * Returns the UUID of an allowed machine, so that a later call by name cannot affect another
   * machine.
   */
  const resolve = async (id: string): Promise<string> => {
    const list = await listSystems();
    const lower = id.toLowerCase();
    const found = list.find(({ uuid }) => uuid === lower) ?? list.find(({ name }) => name === id);
    if (found === undefined) throw new DriverError('notFound', `looking up machine ${id}: there is none`);
    return found.uuid;
  };
  const { console: consoles, guestNetwork, statistics, volumes } = driver;
  return {
    name: driver.name,
    start: () => driver.start(),
    close: () => driver.close(),
    ping: () => driver.ping(),
    onChange: (listener) =>
      driver.onChange((change) => {
        if (isAllowed(change)) listener(change);
      }),
    listSystems,
    getSystem: async (id) => driver.getSystem(await resolve(id)),
    power: async (id, ...rest) => driver.power(await resolve(id), ...rest),
    changeable: driver.changeable,
    change: async (id, ...rest) => driver.change(await resolve(id), ...rest),
    ...(consoles === undefined
      ? {}
      : {
          console: {
            open: async (id, ...rest) => consoles.open(await resolve(id), ...rest),
            sendBreak: async (id) => consoles.sendBreak(await resolve(id)),
            instance: async (id) => consoles.instance(await resolve(id)),
          },
        }),
    ...(guestNetwork === undefined
      ? {}
      : { guestNetwork: { facts: async (id) => guestNetwork.facts(await resolve(id)) } }),
    ...(statistics === undefined
      ? {}
      : {
          statistics: {
            all: async () => {
              const [list, all] = await Promise.all([listSystems(), statistics.all()]);
              const own = new Set(list.map(({ uuid }) => uuid));
              return all.filter(({ uuid }) => own.has(uuid));
            },
          },
        }),
    ...(volumes === undefined
      ? {}
      : {
          volumes: {
            createVolume: async (id, ...rest) => volumes.createVolume(await resolve(id), ...rest),
            removeVolume: async (id, ...rest) => volumes.removeVolume(await resolve(id), ...rest),
            setDriveIndicator: async (id, ...rest) => volumes.setDriveIndicator(await resolve(id), ...rest),
            provideVolume: (...words) => volumes.provideVolume(...words),
          },
        }),
    insertMedia: async (id, ...rest) => driver.insertMedia(await resolve(id), ...rest),
    ejectMedia: async (id, ...rest) => driver.ejectMedia(await resolve(id), ...rest),
    setMedia: async (id, ...rest) => driver.setMedia(await resolve(id), ...rest),
  };
}
