/**
 * Volumes that are being attached or removed. The machine's metadata names them during the operation, so that
 * a restarted daemon can complete it.
 */
import { isLibvirtError, type StorageVolume } from '@rackless/libvirt';
import { editRecord, machineTexts, readInactiveXml } from '../machine/definition.js';
import { nameOfOverlay, deleteVolume } from './disk-volume.js';
import { attempt } from '../failure.js';
import type { GuestDisks } from './guest-disks.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { namesVolume, volumeNames } from './volume-names.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import { withoutUnattached, withUnattached, type UnattachedRecord } from '../xml/metadata/unattached-record.js';

type Records = readonly UnattachedRecord[] | null;

/** The volumes of one host that are not attached yet or not deleted yet. */
export class UnattachedVolumes {
  readonly #host: Host;
  readonly #guestDisks: GuestDisks;
  /** Names of volumes that this daemon is creating. */
  readonly #creating = new Set<string>();

  constructor(host: Host, guestDisks: GuestDisks) {
    this.#host = host;
    this.#guestDisks = guestDisks;
  }

  /**
   * Records a volume before its creation. The change that attaches the volume removes the record.
   * @throws {DriverError} if libvirt cannot save the record.
   */
  async begin(machine: Machine, volume: UnattachedRecord): Promise<void> {
    this.#creating.add(volume.volume);
    try {
      await this.#change(machine, (known) => withUnattached(known, volume));
    } catch (error) {
      this.#creating.delete(volume.volume);
      throw error;
    }
  }

  /** Ends the creation: the volume is attached, or one of the steps has failed. */
  end({ volume }: UnattachedRecord): void {
    this.#creating.delete(volume);
  }

  /** Removes the record of a volume that does not exist anymore. @throws {DriverError} */
  async forget(machine: Machine, volume: UnattachedRecord): Promise<void> {
    await this.#change(machine, (known) => withoutUnattached(known, volume));
  }

  /**
   * Completes operations that the daemon began before a restart or a lost connection: plugs in a disk that is
   * in the definition already, and deletes a volume that was not attached yet or was being removed.
   * @throws {DriverError} if that fails; the next connection retries.
   */
  async reconcile(machine: Machine): Promise<void> {
    const { queue, timeoutMs } = this.#host;
    const xml = await readInactiveXml(machine, timeoutMs);
    for (const volume of readMetadata(xml).unattached ?? []) {
      if (this.#creating.has(volume.volume)) continue;
      const { step } = volume;
      if (step?.kind === 'attach') {
        await queue.edit(machine.uuid, () => this.#guestDisks.plugDefined(machine, step.target));
        await this.forget(machine, volume);
        continue;
      }
      if (step?.kind === 'detach') {
        await queue.edit(machine.uuid, () => this.#guestDisks.unplug(machine, step.target));
      }
      if (await this.#deleteIfUnused(machine, volume)) await this.forget(machine, volume);
    }
  }

  /**
   * Deletes a volume if no machine and no other volume uses it.
   * @returns whether the record can be removed. False if a running guest or a saved state uses the volume, but
   *   the definition of its machine does not: the daemon checks again after its next connection.
   */
  async #deleteIfUnused(machine: Machine, { pool, volume: name }: UnattachedRecord): Promise<boolean> {
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
    if ((await attempt(doing, () => nameOfOverlay(hypervisor, volume, timeoutMs))) !== null) return true;
    await attempt(doing, () => deleteVolume(volume));
    log.info(`deleted volume ${name}, which an interrupted operation of machine ${machine.name} left`);
    return true;
  }

  /** Returns the volume; null if the pool or the volume does not exist. */
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
    await this.#host.queue.edit(machine.uuid, () =>
      editRecord(this.#host, machine, (record) => ({ ...record, unattached: change(record.unattached) })),
    );
  }
}
