/**
 * Volumes that are made and not attached yet. The machine's metadata names them meanwhile: what a daemon leaves that ends in
 * between is found by the next one, and nothing is ever deleted that a machine has had.
 */
import { isLibvirtError, type StorageVolume } from '@rackless/libvirt';
import { machineTexts, readDefinition, saveRecord } from './definition.js';
import { basedOn, deleteVolume } from './disk-volume.js';
import { attempt } from './failure.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';
import { namesVolume, volumeNames } from './volume-names.js';
import { readMetadata } from './xml/metadata.js';
import { withoutUnattached, withUnattached, type UnattachedRecord } from './xml/unattached-record.js';

type Records = readonly UnattachedRecord[] | null;

/** The volumes of one host that are on their way to a machine. */
export class UnattachedVolumes {
  readonly #host: Host;
  /** Names of those that are being made here. */
  readonly #underWay = new Set<string>();

  constructor(host: Host) {
    this.#host = host;
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
   * Deletes what an earlier daemon has made for the machine, or this one before it lost its connection, and not attached.
   * @throws {DriverError} where that can not be told: it is tried again with the next connection.
   */
  async reconcile(machine: Machine): Promise<void> {
    const { xml } = await readDefinition(machine, this.#host.timeoutMs);
    for (const volume of readMetadata(xml).unattached ?? []) {
      if (this.#underWay.has(volume.volume)) continue;
      if (await this.#isSettled(machine, volume)) await this.forget(machine, volume);
    }
  }

  /** @returns false where a guest has it, and its definition does not: it is asked about again when that guest is gone. */
  async #isSettled(machine: Machine, { pool, volume: name }: UnattachedRecord): Promise<boolean> {
    const { hypervisor, inventory, log, timeoutMs } = this.#host;
    const doing = `looking at volume ${name}, which was made for machine ${machine.name} and not attached`;
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
    log.info(`volume ${name} was made for machine ${machine.name} and never attached: deleted`);
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
    const { edits, hypervisor, timeoutMs } = this.#host;
    await edits.run(machine.uuid, async () => {
      const { xml } = await readDefinition(machine, timeoutMs);
      const record = readMetadata(xml);
      await saveRecord(hypervisor, machine, xml, { ...record, unattached: change(record.unattached) }, timeoutMs);
    });
  }
}
