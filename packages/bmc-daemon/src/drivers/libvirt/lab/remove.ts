/** Removes machines of this command, with everything that it has created for them. */
import { basename } from 'node:path';
import { DomainUndefineFlags, isLibvirtError, type StorageVolume } from '@rackless/libvirt';
import { attempt, driverError } from '../failure.js';
import { DESTROY_TIMEOUT_MS } from '../machine/host.js';
import { saveRecord } from '../machine/definition.js';
import { deleteVolume, volumeOf } from '../volumes/disk-volume.js';
import { volumePrefix } from '../volumes/volume-names.js';
import type { CreatedRecord } from '../xml/metadata/created-record.js';
import type { KnownMachine, LabHost } from './lab-host.js';
import { removeLogs } from './logs.js';

const { MANAGED_SAVE, SNAPSHOTS_METADATA, CHECKPOINTS_METADATA, NVRAM } = DomainUndefineFlags;

/** Everything that libvirt stores for a machine. Without a flag, it also removes the state of the TPM. */
export const UNDEFINE_FLAGS = MANAGED_SAVE | SNAPSHOTS_METADATA | CHECKPOINTS_METADATA | NVRAM;

/** A machine that this command has created. */
export type OwnMachine = KnownMachine & { readonly created: CreatedRecord };

/** Returns whether this command has created a machine. */
export const isOwn = (known: KnownMachine): known is OwnMachine => known.created !== null;

/** The volumes of a machine that exist. */
interface OwnVolumes {
  readonly volumes: readonly StorageVolume[];
  /** Volumes that libvirt cannot find, one sentence each. */
  readonly left: readonly string[];
}

/** Looks up the volumes of a machine: those of this command, and those that Redfish clients have created. */
export async function volumesOf(host: LabHost, { created, record, domain, uuid }: OwnMachine): Promise<OwnVolumes> {
  const { hypervisor, timeoutMs } = host;
  const volumes: StorageVolume[] = [];
  const left: string[] = [];
  for (const { pool: poolName, volume } of [...created.volumes, ...(record.unattached ?? [])]) {
    try {
      const pool = await hypervisor.storagePoolLookupByName(poolName, { timeoutMs });
      volumes.push(await pool.storageVolLookupByName(volume, { timeoutMs }));
    } catch (error) {
      if (isLibvirtError(error, 'NO_STORAGE_POOL')) {
        left.push(`volume ${volume} may be left: libvirt has no pool ${poolName} any more`);
      } else if (!isLibvirtError(error, 'NO_STORAGE_VOL')) {
        throw driverError(`looking up volume ${volume} in pool ${poolName}`, error);
      }
    }
  }
  for (const disk of domain.devices.disks) {
    const name = disk.source.volume ?? basename(disk.source.name ?? '');
    if (!name.startsWith(volumePrefix(uuid))) continue;
    try {
      volumes.push(await volumeOf(hypervisor, disk, timeoutMs));
    } catch (error) {
      left.push(`volume ${name} may be left: ${reasonOf(error)}`);
    }
  }
  return { volumes, left };
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Removes a machine. If it is interrupted, the next command continues.
 * @returns what is left, one sentence each.
 * @throws {DriverError} conflict, unavailable.
 */
export async function removeMachine(host: LabHost, own: OwnMachine): Promise<readonly string[]> {
  const { hypervisor, timeoutMs } = host;
  const { machine, name, created, record, xml } = own;
  if (await attempt(`reading the state of machine ${name}`, () => machine.domain.isActive({ timeoutMs }))) {
    await attempt(`powering off machine ${name}`, () => machine.domain.destroy({ timeoutMs: DESTROY_TIMEOUT_MS }));
  }
  if (created.complete) {
    const begun = { ...record, created: { ...created, complete: false } };
    await saveRecord(hypervisor, machine, xml, begun, timeoutMs);
  }
  const { volumes, left } = await volumesOf(host, own);
  for (const volume of volumes) {
    await attempt(`deleting volume ${volume.name} in pool ${volume.pool}`, () => deleteVolume(volume));
  }
  const logs = created.serialLog === null ? [] : await removeLogs(hypervisor, timeoutMs, [name]);
  await attempt(`removing machine ${name}`, () => machine.domain.undefineFlags(UNDEFINE_FLAGS, { timeoutMs }));
  return [...left, ...logs];
}
