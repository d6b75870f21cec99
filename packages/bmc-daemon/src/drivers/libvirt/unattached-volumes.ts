/**
 * Volumes on their way into a machine or out of it. The machine's metadata names them meanwhile, so that the next daemon finishes
 * what one that ended in between has begun.
 */
import { isLibvirtError, type StorageVolume } from '@rackless/libvirt';
import { editRecord, machineTexts, readInactiveXml } from './definition.js';
import { basedOn, deleteVolume } from './disk-volume.js';
import { attempt } from './failure.js';
import type { GuestDisks } from './guest-disks.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';
import { namesVolume, volumeNames } from './volume-names.js';
import { readMetadata } from './xml/metadata.js';
import { withoutUnattached, withUnattached, type UnattachedRecord } from './xml/unattached-record.js';

type Records = readonly UnattachedRecord[] | null;

/** The volumes of one host that are on their way to a machine. */
export class UnattachedVolumes {
  readonly #host: Host;
  readonly #guestDisks: GuestDisks;
  /** Names of those that are being made here. */
  readonly #underWay = new Set<string>();

  constructor(host: Host, guestDisks: GuestDisks) {
    this.#host = host;
    this.#guestDisks = guestDisks;
  }

  /** Before a volume is made. Whoever attaches it takes it out of the record by the same change. @throws {DriverError} */
  async begin(machine: Machine, volume: UnattachedRecord): Promise<void> {
    this.#underWay.add(volume.volume);
    try {
      await this.#change(machine, (known) => withUnattached(known, volume));
    } catch (error) {
      this.#underWay.delete(volume.volume);
      throw error;
    }
  }

  /** The volume is attached, or nobody goes on with it. */
  end({ volume }: UnattachedRecord): void {
    this.#underWay.delete(volume);
  }

  /** There is no such volume, any more. @throws {DriverError} */
  async forget(machine: Machine, volume: UnattachedRecord): Promise<void> {
    await this.#change(machine, (known) => withoutUnattached(known, volume));
  }

  /**
   * Finishes what an earlier daemon has begun, or this one before it lost its connection.
   * @throws {DriverError} where that fails: it is tried again with the next connection.
   */
  async reconcile(machine: Machine): Promise<void> {
    const { edits, timeoutMs } = this.#host;
    const xml = await readInactiveXml(machine, timeoutMs);
    for (const volume of readMetadata(xml).unattached ?? []) {
      if (this.#underWay.has(volume.volume)) continue;
      const { step } = volume;
      if (step?.kind === 'attach') {
        await edits.run(machine.uuid, () => this.#guestDisks.plugDefined(machine, step.target));
        await this.forget(machine, volume);
        continue;
      }
      if (step?.kind === 'detach') {
        await edits.run(machine.uuid, () => this.#guestDisks.unplug(machine, step.target));
      }
      if (await this.#isSettled(machine, volume)) await this.forget(machine, volume);
    }
  }

  /** @returns false where a guest has it, and its definition does not: it is asked about again when that guest is gone. */
  async #isSettled(machine: Machine, { pool, volume: name }: UnattachedRecord): Promise<boolean> {
    const { hypervisor, inventory, log, timeoutMs } = this.#host;
    const doing = `looking at volume ${name}, which an interrupted operation of machine ${machine.name} left`;
    const volume = await attempt(doing, () => this.#find(pool, name));
    if (volume === null) return true;
    const names = await volumeNames(volume, timeoutMs);
    for (const other of await inventory.list()) {
      const [definition = '', running = ''] = await machineTexts(other, timeoutMs);
      if (definition !== '' && namesVolume(definition, names)) return true;
      if (running !== '' && namesVolume(running, names)) return false;
    }
    if ((await attempt(doing, () => basedOn(hypervisor, volume, timeoutMs))) !== null) return true;
    await attempt(doing, () => deleteVolume(volume));
    log.info(`deleted volume ${name}, which an interrupted operation of machine ${machine.name} left`);
    return true;
  }

  /** Null: there is none. */
  async #find(pool: string, name: string): Promise<StorageVolume | null> {
    const { hypervisor, timeoutMs } = this.#host;
    try {
      const found = await hypervisor.storagePoolLookupByName(pool, { timeoutMs });
      return await found.storageVolLookupByName(name, { timeoutMs });
    } catch (error) {
      if (isLibvirtError(error, 'NO_STORAGE_POOL', 'NO_STORAGE_VOL')) return null;
      throw error;
    }
  }

  async #change(machine: Machine, change: (known: Records) => Records): Promise<void> {
    await this.#host.edits.run(machine.uuid, () =>
      editRecord(this.#host, machine, (record) => ({ ...record, unattached: change(record.unattached) })),
    );
  }
}
