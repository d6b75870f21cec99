/** Volumes that EMULATOR_VOLUMES names are made where libvirt has none of their name, as in sushy-tools when somebody looks at them. */
import type { VolumeControl } from '../drivers/volume-control.js';
import type { Services } from './services.js';
import type { VolumeUnit } from './storage-unit.js';

/** What was found or made since the start, by pool and name. */
const provided = new WeakMap<VolumeControl, Map<string, Promise<boolean>>>();

/** @returns true where there is something behind all of them, or nothing is asked for; what fails is logged, and tried again. */
export async function provideConfigured(
  units: readonly VolumeUnit[],
  { driver, log }: Pick<Services, 'driver' | 'log'>,
): Promise<boolean> {
  const { volumes } = driver;
  const wanted = units.flatMap(({ configured }) => configured ?? []);
  if (wanted.length === 0) return true;
  if (volumes === undefined) return false;
  const known = provided.get(volumes) ?? new Map<string, Promise<boolean>>();
  provided.set(volumes, known);
  const all = wanted.map(({ libvirtVolName: name, libvirtPoolName: pool = null, CapacityBytes }) => {
    if (name === undefined) return Promise.resolve(true);
    const key = JSON.stringify([pool, name]);
    const providing =
      known.get(key) ??
      volumes.provideVolume({ pool, name }, CapacityBytes).then(
        () => true,
        (error: unknown) => {
          known.delete(key);
          log.warn(`volume ${name} of EMULATOR_VOLUMES can not be had`, { error });
          return false;
        },
      );
    known.set(key, providing);
    return providing;
  });
  return (await Promise.all(all)).every((isThere) => isThere);
}
