/**
 * Creates a machine in steps that can be interrupted at any time:
 *
 * 1. Defines the machine without its new disks. Its record names the disks, and says that the machine
 *    is not complete.
 * 2. Creates the volumes.
 * 3. Defines the complete machine.
 *
 * The next command for this name removes an incomplete machine, and creates it again.
 */
import type { Domain, StorageVolume } from '@rackless/libvirt';
import { DriverError, isDriverError } from '../../driver-error.js';
import { attempt } from '../failure.js';
import { deleteVolume, sourceOfVolume } from '../volumes/disk-volume.js';
import { reasonOf } from './lab-error.js';
import type { LabHost } from './lab-host.js';
import type { PlannedVolume } from './lab-pool.js';
import type { DiskVolume } from './machine-xml.js';
import { UNDEFINE_FLAGS } from './remove.js';

/** A machine to create. */
export interface Blueprint {
  readonly name: string;
  readonly volumes: readonly PlannedVolume[];
  /** Returns the definition with these new disks: none, or all. */
  xml(disks: readonly DiskVolume[], isComplete: boolean): string;
}

/**
 * Creates a machine. After a failure, removes its definition and its volumes.
 * @throws {DriverError} the reason. If libvirt does not answer or the removal fails, an incomplete machine may
 *   be left.
 */
export async function buildMachine({ hypervisor, timeoutMs }: LabHost, blueprint: Blueprint): Promise<void> {
  const { name, volumes } = blueprint;
  const define = (xml: string): Promise<Domain> =>
    attempt(`defining machine ${name}`, () => hypervisor.domainDefineXml(xml, 0, { timeoutMs }));
  const domain = await define(blueprint.xml([], false));
  const made: StorageVolume[] = [];
  const disks: DiskVolume[] = [];
  try {
    for (const planned of volumes) {
      const volume = await planned.create();
      made.push(volume);
      disks.push({ format: planned.format, source: await sourceOfVolume(volume, timeoutMs) });
    }
    await define(blueprint.xml(disks, true));
  } catch (error) {
    // libvirt may still create a volume, so the machine stays. Its record names the volume for the next command.
    if (isDriverError(error, 'unavailable')) throw incompleteError(name, error, error);
    const undo = async (): Promise<void> => {
      for (const volume of made) await deleteVolume(volume);
      await domain.undefineFlags(UNDEFINE_FLAGS, { timeoutMs });
    };
    await attempt(`removing the incomplete machine ${name}`, undo).catch((failure: unknown) => {
      throw incompleteError(name, error, failure);
    });
    throw error;
  }
}

function incompleteError(name: string, error: unknown, cause: unknown): DriverError {
  return new DriverError(
    'unavailable',
    `${reasonOf(error)}; machine ${name} may be incomplete: run the command again`,
    {
      cause,
    },
  );
}
