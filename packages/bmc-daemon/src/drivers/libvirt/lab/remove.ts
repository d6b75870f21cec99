/**
 * Removes machines that `bmc-daemon machine` has created, with everything that this command and Redfish clients have
 * created for them. Also finds what a removal would lose: data of guests, and volumes that something else uses.
 */
import { basename } from 'node:path';
import { DomainUndefineFlags, isLibvirtError, type StorageVolume } from '@rackless/libvirt';
import { isDriverError } from '../../driver-error.js';
import { attempt, driverError } from '../failure.js';
import { machineTexts } from '../machine/definition.js';
import { DESTROY_TIMEOUT_MS } from '../machine/host.js';
import { backedVolumes, deleteVolume, volumeOf } from '../volumes/disk-volume.js';
import { namesVolume, volumeNames, volumePrefix, type VolumeNames } from '../volumes/volume-names.js';
import { edited } from '../xml/definition-edit.js';
import { reasonOf } from './lab-error.js';
import type { KnownMachine, LabHost, OwnMachine } from './lab-host.js';
import { removeLogs } from './logs.js';

const { MANAGED_SAVE, SNAPSHOTS_METADATA, CHECKPOINTS_METADATA, NVRAM } = DomainUndefineFlags;

/**
 * Flags that remove everything that libvirt stores for a machine. libvirt removes the state of the TPM without
 * a flag.
 */
export const UNDEFINE_FLAGS = MANAGED_SAVE | SNAPSHOTS_METADATA | CHECKPOINTS_METADATA | NVRAM;

/** Maximum size of a volume without data of a guest. A new qcow2 volume has 200 KiB. */
const EMPTY_BYTES = 1024 ** 2;
/** Timeout of a refresh, which is slow for a pool with many volumes. */
const REFRESH_TIMEOUT_MS = 60_000;

/** The existing volumes of a machine. */
interface OwnVolumes {
  readonly volumes: readonly StorageVolume[];
  /** Volumes that libvirt cannot find although they may exist, one sentence each. */
  readonly left: readonly string[];
}

/**
 * Looks up the volumes of a machine: those that `bmc-daemon machine` has created, and those that Redfish clients have
 * created. Leaves out volumes that no longer exist in their pool.
 * @throws {DriverError} if libvirt does not report whether a volume exists.
 */
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
      // With any other failure, the volume may exist. The machine is then not removed, so that its record
      // still names the volume.
      const isMissing = isDriverError(error, 'unsupported');
      if (!isMissing) throw driverError(`looking up volume ${name}`, error);
      left.push(`volume ${name} may be left: ${reasonOf(error)}`);
    }
  }
  return { volumes, left };
}

/**
 * Returns the bytes that guests have written to volumes. A volume of at most {@link EMPTY_BYTES} does not count. A raw
 * volume that is allocated at once counts in full.
 * @throws {DriverError} if libvirt fails.
 */
export async function dataBytesOf(volumes: readonly StorageVolume[], timeoutMs: number): Promise<number> {
  const sizes = await Promise.all(
    volumes.map((volume) =>
      attempt(
        `reading the size of volume ${volume.name}`,
        async () => (await volume.getInfo({ timeoutMs })).allocationBytes,
      ),
    ),
  );
  return sizes.filter((bytes) => bytes > EMPTY_BYTES).reduce((sum, bytes) => sum + bytes, 0);
}

/**
 * Returns why volumes cannot be deleted, one sentence each: other machines or other volumes need them.
 * @param others all machines of the host that stay.
 * @throws {DriverError} if libvirt fails.
 */
export async function usesOf(
  { hypervisor, timeoutMs }: LabHost,
  volumes: readonly StorageVolume[],
  others: readonly KnownMachine[],
): Promise<readonly string[]> {
  if (volumes.length === 0) return [];
  const names = await Promise.all(volumes.map((volume) => volumeNames(volume, timeoutMs)));
  const problems: string[] = [];
  for (const other of others) {
    const texts = await machineTexts(other.machine, timeoutMs);
    const shared = names.filter((each) => texts.some((text) => namesVolume(text, each)));
    problems.push(...shared.map(({ name }) => `volume ${name} stays: machine ${other.name} also uses it`));
  }
  const backed = await attempt('looking for volumes that need the disks', async () => {
    for (const name of new Set(volumes.map(({ pool }) => pool))) {
      // Only a refresh makes libvirt find volumes of other programs. A busy pool rejects the refresh.
      const pool = await hypervisor.storagePoolLookupByName(name, { timeoutMs });
      await pool.refresh({ timeoutMs: REFRESH_TIMEOUT_MS }).catch(() => undefined);
    }
    return await backedVolumes(hypervisor, timeoutMs);
  });
  const paths = new Map(names.map((each: VolumeNames) => [each.path, each.name]));
  for (const { name, path, backingFile } of backed) {
    const base = paths.get(backingFile);
    if (base !== undefined && !paths.has(path)) problems.push(`volume ${base} stays: volume ${name} is based on it`);
  }
  return problems;
}

/**
 * Removes a machine. If the command is interrupted, the next command for this machine continues.
 * @returns what is left, one sentence each.
 * @throws {DriverError} if libvirt fails, for example conflict or unavailable.
 */
export async function removeMachine(host: LabHost, own: OwnMachine): Promise<readonly string[]> {
  const { hypervisor, timeoutMs } = host;
  const { machine, name, created, record, xml } = own;
  if (created.complete || !machine.persistent) {
    const begun = edited(xml, (edit) => edit.setRecord({ ...record, created: { ...created, complete: false } }));
    // Also defines a transient machine: it has no definition, so its record would disappear at the power-off.
    await attempt(`changing the definition of machine ${name}`, () =>
      hypervisor.domainDefineXml(begun, 0, { timeoutMs }),
    );
  }
  if (await attempt(`reading the state of machine ${name}`, () => machine.domain.isActive({ timeoutMs }))) {
    await attempt(`powering off machine ${name}`, () => machine.domain.destroy({ timeoutMs: DESTROY_TIMEOUT_MS }));
  }
  const { volumes, left } = await volumesOf(host, own);
  for (const volume of volumes) {
    await attempt(`deleting volume ${volume.name} in pool ${volume.pool}`, () => deleteVolume(volume));
  }
  const logs = created.serialLog === null ? [] : await removeLogs(hypervisor, timeoutMs, name);
  await attempt(`removing machine ${name}`, () => machine.domain.undefineFlags(UNDEFINE_FLAGS, { timeoutMs }));
  return [...left, ...logs];
}
