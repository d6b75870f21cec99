/** Disks of real machines: volumes are made in a pool and plugged in, unplugged and deleted. */
import { randomBytes } from 'node:crypto';
import { isLibvirtError, type StoragePool, type StorageVolume } from '@rackless/libvirt';
import { DriverError, type IndicatorState, type OperationOptions } from '../driver.js';
import type { NewVolume, PoolVolume } from '../volume-control.js';
import { forgetDone, machineTexts, readDefinition, saveDefinition, saveRecord, type Definition } from './definition.js';
import { basedOn, deleteVolume, makeVolume, placeOfVolume, volumeOf, volumeSpec } from './disk-volume.js';
import { attempt, isUnavailable } from './failure.js';
import { GuestDisks } from './guest-disks.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';
import { editOwnDefinition } from './boot-edit.js';
import { savedXml } from './saved-state.js';
import { UnattachedVolumes } from './unattached-volumes.js';
import { namesVolume, volumeNames } from './volume-names.js';
import { diskLines, diskMarkup, findDisk, withDisk, withoutDisk, type NewDisk } from './xml/disk.js';
import { diskRecord, withDiskRecord, withoutDiskRecord, type DiskRecord } from './xml/disk-record.js';
import { freeDiskTarget } from './xml/disk-target.js';
import type { Disk } from './xml/device.js';
import { readDomain } from './xml/domain.js';
import { readMetadata, withMetadata, type MachineRecord } from './xml/metadata.js';
import { withoutUnattached, withUnattached, type UnattachedRecord } from './xml/unattached-record.js';

/** Where volumes are made. */
export interface LibvirtVolumesOptions {
  readonly host: Host;
  /** The pool that new volumes are made in; made where it is not there. */
  readonly openPool: () => Promise<StoragePool>;
}

/** Volumes of ours begin like this; the image store's names are others, so that it leaves these alone. */
const NAME_PREFIX = 'rackless-volume-';

/** Disks of the machines of one host. */
export class LibvirtVolumes {
  readonly #host: Host;
  readonly #openPool: () => Promise<StoragePool>;
  readonly #guestDisks: GuestDisks;
  readonly #unattached: UnattachedVolumes;

  constructor({ host, openPool }: LibvirtVolumesOptions) {
    this.#host = host;
    this.#openPool = openPool;
    this.#guestDisks = new GuestDisks(host);
    this.#unattached = new UnattachedVolumes(host, this.#guestDisks);
  }

  /** @see VolumeControl.createVolume */
  async create(machine: Machine, volume: NewVolume, { signal }: OperationOptions): Promise<string> {
    const { timeoutMs, edits } = this.#host;
    const { capacityBytes, provisioning } = volume;
    // Before anything is made: a bus that takes no disk leaves nothing behind.
    const present = await readDefinition(machine, timeoutMs);
    freeDiskTarget(domainsOf(present), volume.bus);
    const pool = await this.#openPool();
    const spec = volumeSpec(
      `${NAME_PREFIX}${machine.uuid}-${randomBytes(4).toString('hex')}`,
      capacityBytes,
      provisioning,
    );
    const doing = `making a volume for machine ${machine.name} in pool ${pool.name}`;
    const unattached = { pool: pool.name, volume: spec.name };
    let made: StorageVolume | undefined;
    await this.#unattached.begin(machine, unattached);
    try {
      made = await attempt(doing, () => makeVolume(pool, spec));
      signal?.throwIfAborted();
      const place = await placeOfVolume(made, timeoutMs);
      return await edits.run(machine.uuid, () => {
        signal?.throwIfAborted();
        return this.#attach(machine, volume, { format: spec.format, place, unattached });
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
    const { hypervisor, timeoutMs, edits } = this.#host;
    await edits.run(machine.uuid, async () => {
      const definition = await readDefinition(machine, timeoutMs);
      const disk = diskOf(definition, machine, target);
      const doing = `removing disk ${target} of machine ${machine.name}`;
      const volume = await attempt(doing, () => volumeOf(hypervisor, disk, timeoutMs));
      await this.#refuseIfNeeded(volume, machine, doing);
      const place = { pool: volume.pool, volume: volume.name };
      const to = await this.#detach(machine, definition, target, place);
      try {
        await attempt(doing, () => deleteVolume(volume));
      } catch (error) {
        if (!isUnavailable(error)) await this.#putBack(machine, { definition, to }, target);
        throw error;
      }
      await forgetDone(this.#host, machine, (record) => ({
        ...record,
        unattached: withoutUnattached(record.unattached, place),
      }));
    });
  }

  /** Restores the disk if libvirt refuses to delete its volume: in the guest only if the guest had it. Never rejects. */
  async #putBack(
    machine: Machine,
    { definition: { xml, instance }, to }: { readonly definition: Definition; readonly to: string },
    target: string,
  ): Promise<void> {
    const unplugged = instance === null ? undefined : diskMarkup(instance.xml, target);
    try {
      await this.#save(machine, to, xml);
      if (unplugged !== undefined) await this.#guestDisks.plugIn(machine, diskMarkup(xml, target) ?? unplugged);
    } catch (error) {
      this.#host.log.warn(`putting disk ${target} of machine ${machine.name} back failed`, { error });
    }
  }

  /**
   * Takes the disk out of the definition, then out of the guest. The record names the volume until it is deleted.
   * @returns the definition without the disk.
   */
  async #detach(
    machine: Machine,
    { xml: from }: Definition,
    target: string,
    place: Pick<UnattachedRecord, 'pool' | 'volume'>,
  ): Promise<string> {
    const record = readMetadata(from);
    const without = machine.persistent ? editOwnDefinition(from, (own) => withoutDisk(own, target)) : from;
    const to = withMetadata(without, {
      ...readMetadata(without),
      disks: withoutDiskRecord(record.disks, target),
      unattached: withUnattached(record.unattached, { ...place, step: { kind: 'detach', target } }),
    });
    await this.#save(machine, from, to);
    try {
      await this.#guestDisks.unplug(machine, target);
    } catch (error) {
      await this.#save(machine, to, from);
      throw error;
    }
    return to;
  }

  /** @see VolumeControl.setDriveIndicator */
  async setIndicator(machine: Machine, target: string, indicator: IndicatorState): Promise<void> {
    const { hypervisor, timeoutMs, edits } = this.#host;
    await edits.run(machine.uuid, async () => {
      const definition = await readDefinition(machine, timeoutMs);
      const source = diskOf(definition, machine, target).source.name;
      const record = readMetadata(definition.xml);
      const known = diskRecord(record.disks, { target, source }) ?? { name: null, capacityBytes: null, storage: null };
      const disks = withDiskRecord(record.disks, { ...known, target, source, indicator });
      await saveRecord(hypervisor, machine, definition.xml, { ...record, disks }, timeoutMs);
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
          // Somebody else was quicker.
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

  /** Deletes what could not be attached. Where libvirt did not answer, a guest may have it all the same: it stays, then. */
  async #discard(
    machine: Machine,
    { made, unattached }: { readonly made: StorageVolume | undefined; readonly unattached: UnattachedRecord },
    why: unknown,
  ): Promise<void> {
    const { log } = this.#host;
    const left = `volume ${unattached.volume} in pool ${unattached.pool} is left over`;
    if (isUnavailable(why)) {
      log.warn(`${left} until libvirt tells whether it was attached`, { error: why });
      return;
    }
    try {
      if (made !== undefined) await deleteVolume(made);
      await this.#unattached.forget(machine, unattached);
    } catch (error) {
      log.warn(left, { error });
    }
  }

  /** Writes the disk into the definition, and plugs it into the guest where that can be done. */
  async #attach(
    machine: Machine,
    volume: NewVolume,
    { unattached, ...disk }: Pick<NewDisk, 'format' | 'place'> & { readonly unattached: UnattachedRecord },
  ): Promise<string> {
    const { timeoutMs } = this.#host;
    const definition = await readDefinition(machine, timeoutMs);
    const { xml: from, instance } = definition;
    const added: NewDisk = { ...disk, bus: volume.bus, target: freeDiskTarget(domainsOf(definition), volume.bus) };
    const { target } = added;
    const markup = diskLines(added).join('\n');
    const withAdded = (xml: string, records: MachineRecord['unattached']): string =>
      withMetadata(machine.persistent ? editOwnDefinition(xml, (own) => withDisk(own, added)) : xml, {
        ...readMetadata(xml),
        disks: withDiskRecord(readMetadata(xml).disks, { ...recordOf(volume), target, source: sourceName(added) }),
        unattached: records,
      });
    const known = readMetadata(from).unattached;
    const done = withoutUnattached(known, unattached);
    if (instance === null) {
      await this.#save(machine, from, withAdded(from, done));
      return target;
    }
    if (!machine.persistent) {
      await this.#guestDisks.plugIn(machine, markup);
      await this.#orUnplug(machine, target, () => this.#save(machine, from, withAdded(from, done)));
      return target;
    }
    const step = { kind: 'attach', target } as const;
    const marked = withAdded(from, withUnattached(known, { ...unattached, step }));
    await this.#save(machine, from, marked);
    try {
      await this.#guestDisks.plugIn(machine, markup);
    } catch (error) {
      await this.#save(machine, marked, from);
      throw error;
    }
    await forgetDone(this.#host, machine, (record) => ({
      ...record,
      unattached: withoutUnattached(record.unattached, unattached),
    }));
    return target;
  }

  async #orUnplug(machine: Machine, target: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await this.#guestDisks.unplug(machine, target).catch(() => undefined);
      throw error;
    }
  }

  async #save(machine: Machine, from: string, to: string): Promise<void> {
    const { hypervisor, timeoutMs } = this.#host;
    await saveDefinition(hypervisor, machine, { from, to }, timeoutMs);
  }

  /** @throws {DriverError} conflict, where another machine, or the state that this one was saved with, needs the volume. */
  async #refuseIfNeeded(volume: StorageVolume, machine: Machine, doing: string): Promise<void> {
    const { inventory, hypervisor, timeoutMs } = this.#host;
    const names = await volumeNames(volume, timeoutMs);
    for (const other of await inventory.list()) {
      if (other.uuid === machine.uuid) continue;
      const texts = await machineTexts(other, timeoutMs);
      if (!texts.some((text) => namesVolume(text, names))) continue;
      throw new DriverError('conflict', `${doing}: machine ${other.name} uses its volume, too`);
    }
    const saved = await savedXml(machine, timeoutMs);
    if (saved !== null && namesVolume(saved, names)) {
      throw new DriverError(
        'conflict',
        `${doing}: the machine is saved, and goes on with it; a restart drops that state`,
      );
    }
    const based = await attempt(doing, () => basedOn(hypervisor, volume, timeoutMs));
    if (based !== null) throw new DriverError('conflict', `${doing}: volume ${based} is based on its volume`);
  }
}

function recordOf({ name, capacityBytes, storage }: NewVolume): Omit<DiskRecord, 'target' | 'source'> {
  return { indicator: null, name, capacityBytes, storage };
}

function domainsOf({ xml, instance }: Definition) {
  return [readDomain(xml), ...(instance === null ? [] : [instance.domain])];
}

/** The disk that the guest has, else the one that it will have. @throws {DriverError} notFound. */
function diskOf({ xml, instance }: Definition, { name }: Machine, target: string): Disk {
  const disk = (instance === null ? undefined : findDisk(instance.domain, target)) ?? findDisk(readDomain(xml), target);
  if (disk === undefined)
    throw new DriverError('notFound', `looking up disk ${target} of machine ${name}: there is none`);
  return disk;
}

/** As {@link DiskSource.name}. */
function sourceName({ place }: NewDisk): string {
  return place.type === 'volume' ? `${place.pool}/${place.volume}` : place.path;
}
