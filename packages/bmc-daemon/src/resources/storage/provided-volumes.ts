/**
 * Creates missing libvirt volumes of EMULATOR_VOLUMES when a client reads them, as sushy-tools
 * does.
 */
import type { VolumeControl } from '../../drivers/volume-control.js';
import type { SystemRef } from '../../drivers/snapshot/system-snapshot.js';
import type { Services } from '../services.js';
import type { VolumeUnit } from './storage-unit.js';

/** State of a configured volume since the start of the daemon. */
interface Provision {
  /** Whether libvirt has the volume. Absent after a failure: the next read tries again. */
  providing?: Promise<boolean>;
  /** The last logged failure. A repeated failure is not logged again. */
  loggedFailure?: string;
}

/** Provisions of each driver, by machine, host, pool and volume name. */
const provisions = new WeakMap<VolumeControl, Map<string, Provision>>();

/**
 * Creates the missing libvirt volumes of a machine's configured volumes, on its host. Logs a
 * failure once; the next call retries.
 * @returns true if libvirt has a volume for each configured volume with `libvirtVolName`. False if a volume is
 *   configured and the driver does not support volumes.
 */
export async function provideConfigured(
  { uuid, host }: SystemRef,
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
    const key = JSON.stringify([uuid, host, pool, name]);
    const provision = known.get(key) ?? {};
    known.set(key, provision);
    provision.providing ??= volumes.provideVolume(uuid, { pool, name }, CapacityBytes).then(
      () => true,
      (error: unknown) => {
        delete provision.providing;
        const why = error instanceof Error ? error.message : String(error);
        if (why !== provision.loggedFailure) log.warn(`cannot create volume ${name} of EMULATOR_VOLUMES`, { error });
        provision.loggedFailure = why;
        return false;
      },
    );
    return provision.providing;
  });
  return (await Promise.all(all)).every((isProvided) => isProvided);
}
