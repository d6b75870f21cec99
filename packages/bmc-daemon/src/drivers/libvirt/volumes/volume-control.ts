/** Creates volumes in a pool and attaches them to machines as disks. Removes disks together with their volumes. */
import { randomBytes } from 'node:crypto';
import { isLibvirtError, type StoragePool, type StorageVolume } from '@rackless/libvirt';
import { DriverError, isDriverError } from '../../driver-error.js';
import type { IndicatorState } from '../../snapshot/hardware-snapshot.js';
import type { OperationOptions } from '../../operation-options.js';
import type { NewVolume, PoolVolume } from '../../volume-control.js';
import { forgetDone, machineTexts, readDefinition, saveRecord, type Definition } from '../machine/definition.js';
import { DiskAttachment, freeTarget } from './disk-attachment.js';
import { nameOfOverlay, deleteVolume, makeVolume, sourceOfVolume, volumeOf, volumeSpec } from './disk-volume.js';
import { attempt } from '../failure.js';
import { GuestDisks } from './guest-disks.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { savedXml } from '../machine/saved-state.js';
import { UnattachedVolumes } from './unattached-volumes.js';
import { namesVolume, volumeNames, volumePrefix } from './volume-names.js';
import { findDisk } from '../xml/devices/disk.js';
import { diskRecord, withDiskRecord } from '../xml/metadata/disk-record.js';
import type { Disk } from '../xml/devices/device.js';
import { readDomain } from '../xml/domain.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import { withoutUnattached, type UnattachedRecord } from '../xml/metadata/unattached-record.js';

/** Dependencies of {@link LibvirtVolumes}. */
interface LibvirtVolumesOptions {
  readonly host: Host;
  /** Opens the pool for new volumes, and creates it if it does not exist. */
  readonly openPool: () => Promise<StoragePool>;
}

/** Disks of the machines of one host. */
export class LibvirtVolumes {
  readonly #host: Host;
  readonly #openPool: () => Promise<StoragePool>;
  readonly #attachment: DiskAttachment;
  readonly #unattached: UnattachedVolumes;

  constructor({ host, openPool }: LibvirtVolumesOptions) {
    this.#host = host;
    this.#openPool = openPool;
    const guestDisks = new GuestDisks(host);
    this.#attachment = new DiskAttachment(host, guestDisks);
    this.#unattached = new UnattachedVolumes(host, guestDisks);
  }

  /** @see VolumeControl.createVolume */
  async create(machine: Machine, volume: NewVolume, { signal }: OperationOptions): Promise<string> {
    const { timeoutMs, queue } = this.#host;
    const { capacityBytes, provisioning } = volume;
    // Checks first that the bus has a free place, so that a failure leaves no volume behind.
    const definition = await readDefinition(machine, timeoutMs);
    freeTarget(definition, volume.bus);
    const pool = await this.#openPool();
    const spec = volumeSpec(
      `${volumePrefix(machine.uuid)}${randomBytes(4).toString('hex')}`,
      capacityBytes,
      provisioning,
    );
    const doing = `creating a volume for machine ${machine.name} in pool ${pool.name}`;
    const unattached = { pool: pool.name, volume: spec.name };
    let made: StorageVolume | undefined;
    await this.#unattached.begin(machine, unattached);
    try {
      made = await attempt(doing, () => makeVolume(pool, spec));
      signal?.throwIfAborted();
      const source = await sourceOfVolume(made, timeoutMs);
      return await queue.edit(machine.uuid, () => {
        signal?.throwIfAborted();
        return this.#attachment.attach(machine, volume, { format: spec.format, source, unattached });
      });
    } catch (error) {
      await this.#discard(machine, { made, unattached }, error);
      throw error;
    } finally {
      this.#unattached.end(unattached);
    }
  }

  /** @see UnattachedVolumes.reconcile */
  async reconcile(machine: Machine, { xml }: Definition): Promise<void> {
    if (readMetadata(xml).unattached !== null) await this.#unattached.reconcile(machine);
  }

  /** @see VolumeControl.removeVolume */
  async remove(machine: Machine, target: string): Promise<void> {
    const { hypervisor, timeoutMs, queue } = this.#host;
    await queue.edit(machine.uuid, async () => {
      const definition = await readDefinition(machine, timeoutMs);
      const disk = diskOf(definition, machine, target);
      const doing = `removing disk ${target} of machine ${machine.name}`;
      const volume = await attempt(doing, () => volumeOf(hypervisor, disk, timeoutMs));
      await this.#checkUnused(volume, machine, doing);
      const place = { pool: volume.pool, volume: volume.name };
      const to = await this.#attachment.detach(machine, definition, target, place);
      try {
        await attempt(doing, () => deleteVolume(volume));
      } catch (error) {
        if (!isDriverError(error, 'unavailable')) await this.#attachment.restore(machine, { definition, to }, target);
        throw error;
      }
      await forgetDone(this.#host, machine, (record) => ({
        ...record,
        unattached: withoutUnattached(record.unattached, place),
      }));
    });
  }

  /** @see VolumeControl.setDriveIndicator */
  async setIndicator(machine: Machine, target: string, indicator: IndicatorState): Promise<void> {
    const { timeoutMs, queue } = this.#host;
    await queue.edit(machine.uuid, async () => {
      const definition = await readDefinition(machine, timeoutMs);
      const source = diskOf(definition, machine, target).source.name;
      const record = readMetadata(definition.xml);
      const known = diskRecord(record.disks, { target, source }) ?? { name: null, capacityBytes: null, storage: null };
      const disks = withDiskRecord(record.disks, { ...known, target, source, indicator });
      await saveRecord(this.#host, machine, definition.xml, { ...record, disks });
    });
  }

  /** @see VolumeControl.provideVolume */
  async provide({ pool: poolName, name }: PoolVolume, capacityBytes: number): Promise<void> {
    const { timeoutMs } = this.#host;
    await attempt(`looking for volume ${name}`, async () => {
      const pool = await this.#poolNamed(poolName);
      try {
        await pool.storageVolLookupByName(name, { timeoutMs });
      } catch (error) {
        if (!isLibvirtError(error, 'NO_STORAGE_VOL')) throw error;
        await makeVolume(pool, { name, capacityBytes, format: 'raw', allocationBytes: 0 }).catch((reason: unknown) => {
          // Another client has created the volume meanwhile.
          if (!isLibvirtError(reason, 'STORAGE_VOL_EXIST')) throw reason;
        });
      }
    });
  }

  async #poolNamed(name: string | null): Promise<StoragePool> {
    if (name === null) return await this.#openPool();
    const { hypervisor, timeoutMs } = this.#host;
    try {
      return await hypervisor.storagePoolLookupByName(name, { timeoutMs });
    } catch (error) {
      if (!isLibvirtError(error, 'NO_STORAGE_POOL')) throw error;
      throw new DriverError('unsupported', `opening storage pool ${name}: the host has no such pool`, { cause: error });
    }
  }

  /**
   * Deletes a volume that could not be attached. If libvirt did not answer, a guest may use the volume, so
   * the volume is not deleted. Logs a failure, and never rejects.
   */
  async #discard(
    machine: Machine,
    { made, unattached }: { readonly made: StorageVolume | undefined; readonly unattached: UnattachedRecord },
    why: unknown,
  ): Promise<void> {
    const { log } = this.#host;
    const volume = `volume ${unattached.volume} in pool ${unattached.pool}`;
    if (isDriverError(why, 'unavailable')) {
      log.warn(`${volume} stays until libvirt reports whether it was attached`, { error: why });
      return;
    }
    try {
      if (made !== undefined) await deleteVolume(made);
      await this.#unattached.forget(machine, unattached);
    } catch (error) {
      log.warn(`deleting ${volume}, which was not attached, failed`, { error });
    }
  }

  /**
   * Checks that only this machine needs the volume.
   * @throws {DriverError} conflict, if another machine, a saved state or another volume needs it.
   */
  async #checkUnused(volume: StorageVolume, machine: Machine, doing: string): Promise<void> {
    const { inventory, hypervisor, timeoutMs } = this.#host;
    const names = await volumeNames(volume, timeoutMs);
    for (const other of await inventory.list()) {
      if (other.uuid === machine.uuid) continue;
      const texts = await machineTexts(other, timeoutMs);
      if (!texts.some((text) => namesVolume(text, names))) continue;
      throw new DriverError('conflict', `${doing}: machine ${other.name} also uses its volume`);
    }
    const saved = await savedXml(machine, timeoutMs);
    if (saved !== null && namesVolume(saved, names)) {
      throw new DriverError(
        'conflict',
        `${doing}: the saved state of the machine needs it; a restart removes that state`,
      );
    }
    const based = await attempt(doing, () => nameOfOverlay(hypervisor, volume, timeoutMs));
    if (based !== null) throw new DriverError('conflict', `${doing}: volume ${based} is based on its volume`);
  }
}

/**
 * Returns the disk of the running guest, or else of the definition.
 * @throws {DriverError} notFound.
 */
function diskOf({ xml, instance }: Definition, { name }: Machine, target: string): Disk {
  const disk = (instance === null ? undefined : findDisk(instance.domain, target)) ?? findDisk(readDomain(xml), target);
  if (disk === undefined)
    throw new DriverError('notFound', `looking up disk ${target} of machine ${name}: no such disk`);
  return disk;
}
