/** Volumes that EMULATOR_VOLUMES names are made where libvirt has none of their name, as in sushy-tools when somebody looks at them. */
import type { VolumeControl } from '../drivers/volume-control.js';
import type { Services } from './services.js';
import type { VolumeUnit } from './storage-unit.js';

/** What became of a volume since the start. */
interface Provision {
  /** Absent: to be looked for, again. */
  providing?: Promise<boolean>;
  /** The last failure that the log has: every reader would add another line. */
  told?: string;
}

/** By pool and name. */
const provisions = new WeakMap<VolumeControl, Map<string, Provision>>();

/** @returns true where there is something behind all of them, or nothing is asked for; what fails is logged once, and tried again. */
export async function provideConfigured(
  units: readonly VolumeUnit[],
  { driver, log }: Pick<Services, 'driver' | 'log'>,
): Promise<boolean> {
  const { volumes } = driver;
  const wanted = units.flatMap(({ configured }) => configured ?? []);
  if (wanted.length === 0) return true;
  if (volumes === undefined) return false;
  const known = provisions.get(volumes) ?? new Map<string, Provision>();
  provisions.set(volumes, known);
  const all = wanted.map(({ libvirtVolName: name, libvirtPoolName: pool = null, CapacityBytes }) => {
    if (name === undefined) return Promise.resolve(true);
    const key = JSON.stringify([pool, name]);
    const provision = known.get(key) ?? {};
    known.set(key, provision);
    provision.providing ??= volumes.provideVolume({ pool, name }, CapacityBytes).then(
      () => true,
      (error: unknown) => {
        delete provision.providing;
        const why = error instanceof Error ? error.message : String(error);
        if (why !== provision.told) log.warn(`volume ${name} of EMULATOR_VOLUMES can not be had`, { error });
        provision.told = why;
        return false;
      },
    );
    return provision.providing;
  });
  return (await Promise.all(all)).every((isThere) => isThere);
}
