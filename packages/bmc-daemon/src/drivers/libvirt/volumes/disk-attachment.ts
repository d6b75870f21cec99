/** Attaches disks to machines and detaches them: in the definition, and in the running guest. */
import type { NewVolume } from '../../volume-control.js';
import { editOwnDefinition } from '../machine/boot-edit.js';
import { forgetDone, readDefinition, saveDefinition, type Definition } from '../machine/definition.js';
import type { GuestDisks } from './guest-disks.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { addDisk, diskLines, diskMarkup, removeDisk, type NewDisk } from '../xml/devices/disk.js';
import { withDiskRecord, withoutDiskRecord, type DiskRecord } from '../xml/metadata/disk-record.js';
import { freeDiskTarget } from '../xml/devices/disk-target.js';
import { edited } from '../xml/definition-edit.js';
import { readDomain } from '../xml/domain.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import type { MachineRecord } from '../xml/metadata/machine-record.js';
import { withoutUnattached, withUnattached, type UnattachedRecord } from '../xml/metadata/unattached-record.js';

/** Disks of the machines of one host. Callers have begun an edit in the queue. */
export class DiskAttachment {
  readonly #host: Host;
  readonly #guestDisks: GuestDisks;

  constructor(host: Host, guestDisks: GuestDisks) {
    this.#host = host;
    this.#guestDisks = guestDisks;
  }

  /**
   * Adds the disk to the definition. If the machine runs, plugs the disk into the guest too. If the guest does
   * not accept it, the guest gets the disk at its next power-on. For a transient machine, plugs the disk in,
   * and adds only its record.
   * @param disk `unattached` is the record that names the volume until the disk is attached.
   * @returns the target of the disk.
   * @throws {DriverError} unavailable: the disk may be attached. All other kinds: it is not attached.
   */
  async attach(
    machine: Machine,
    volume: NewVolume,
    { unattached, ...disk }: Pick<NewDisk, 'format' | 'source'> & { readonly unattached: UnattachedRecord },
  ): Promise<string> {
    const { timeoutMs } = this.#host;
    const definition = await readDefinition(machine, timeoutMs);
    const { xml: from, instance } = definition;
    const added: NewDisk = { ...disk, bus: volume.bus, target: freeTarget(definition, volume.bus) };
    const { target } = added;
    const markup = diskLines(added).join('\n');
    const withAdded = (xml: string, unattachedAfter: MachineRecord['unattached']): string =>
      edited(xml, (edit) => {
        if (machine.persistent) editOwnDefinition(edit, () => addDisk(edit, diskLines(added)));
        const disks = withDiskRecord(edit.record.disks, { ...recordOf(volume), target, source: sourceName(added) });
        edit.setRecord({ ...edit.record, disks, unattached: unattachedAfter });
      });
    const recorded = readMetadata(from).unattached;
    const done = withoutUnattached(recorded, unattached);
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
    const marked = withAdded(from, withUnattached(recorded, { ...unattached, step }));
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

  /**
   * Removes the disk from the definition, then from the guest. The record names the volume until the volume
   * is deleted.
   * @returns the definition without the disk.
   * @throws {DriverError} if libvirt cannot save the definition, or the guest does not release the disk. The
   *   disk is then in the definition again, unless libvirt cannot restore the definition either.
   */
  async detach(
    machine: Machine,
    { xml: from }: Definition,
    target: string,
    volume: Pick<UnattachedRecord, 'pool' | 'volume'>,
  ): Promise<string> {
    const to = edited(from, (edit) => {
      if (machine.persistent) editOwnDefinition(edit, () => removeDisk(edit, target));
      const { record } = edit;
      edit.setRecord({
        ...record,
        disks: withoutDiskRecord(record.disks, target),
        unattached: withUnattached(record.unattached, { ...volume, step: { kind: 'detach', target } }),
      });
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

  /**
   * Restores the disk of a volume that libvirt did not delete. Plugs it into the guest only if the guest had
   * the disk. Logs a failure, and never rejects.
   */
  async restore(
    machine: Machine,
    { definition: { xml, instance }, to }: { readonly definition: Definition; readonly to: string },
    target: string,
  ): Promise<void> {
    const unplugged = instance === null ? undefined : diskMarkup(instance.xml, target);
    try {
      await this.#save(machine, to, xml);
      if (unplugged !== undefined) await this.#guestDisks.plugIn(machine, diskMarkup(xml, target) ?? unplugged);
    } catch (error) {
      this.#host.log.warn(`restoring disk ${target} of machine ${machine.name} failed`, { error });
    }
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
    await saveDefinition(this.#host, machine, { from, to });
  }
}

/** Returns a free target of a bus. @throws {DriverError} unsupported, noPlace. */
export function freeTarget({ xml, instance }: Definition, bus: string): string {
  return freeDiskTarget([readDomain(xml), ...(instance === null ? [] : [instance.domain])], bus);
}

function recordOf({ name, capacityBytes, storage }: NewVolume): Omit<DiskRecord, 'target' | 'source'> {
  return { indicator: null, name, capacityBytes, storage };
}

/** Returns the source of a new disk, in the form of {@link DiskSource.name}. */
function sourceName({ source }: NewDisk): string {
  return source.type === 'volume' ? `${source.pool}/${source.volume}` : source.path;
}
