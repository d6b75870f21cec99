/** What owners keep with a machine: in its metadata, and libvirt's autostart. */
import { afterUpdate, type OwnershipControl } from '../ownership-control.js';
import { readDefinition, saveRecord } from './definition.js';
import { attempt } from './failure.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';
import { readMetadata } from './xml/metadata.js';
import type { OwnerRecord } from './xml/owner-record.js';

/** What the group works with. */
export interface OwnershipOptions {
  readonly host: Host;
  /** Runs a change of a machine by its id. */
  readonly changing: (id: string, change: (machine: Machine) => Promise<void>) => Promise<void>;
}

/** The driver's group of what owners say of their machines. */
export class LibvirtOwnership implements OwnershipControl {
  readonly #options: OwnershipOptions;

  constructor(options: OwnershipOptions) {
    this.#options = options;
  }

  async setAssetTag(id: string, tag: string): Promise<void> {
    await this.#options.changing(id, (machine) =>
      this.#keep(machine, ({ firmwareUpdate }) => ({
        ...(tag === '' ? {} : { assetTag: tag }),
        ...(firmwareUpdate === undefined ? {} : { firmwareUpdate }),
      })),
    );
  }

  async setAutostart(id: string, autostart: boolean): Promise<void> {
    const { timeoutMs } = this.#options.host;
    const doing = autostart ? 'having machine start with its host' : 'not having machine start with its host';
    await this.#options.changing(id, ({ domain, name }) =>
      attempt(doing.replace('machine', `machine ${name}`), () => domain.setAutostart(autostart, { timeoutMs })),
    );
  }

  async stageFirmware(id: string, version: string): Promise<void> {
    await this.#options.changing(id, (machine) =>
      this.#keep(machine, (owner) => ({
        ...owner,
        firmwareUpdate: { installed: owner.firmwareUpdate?.installed ?? null, staged: version },
      })),
    );
  }

  /** The machine has begun to boot: what waited is installed. */
  async onBoot(machine: Machine): Promise<void> {
    await this.#keep(machine, (owner) => {
      const { firmwareUpdate } = owner;
      return firmwareUpdate === undefined ? owner : { ...owner, firmwareUpdate: afterUpdate(firmwareUpdate) };
    });
  }

  async #keep(machine: Machine, change: (owner: OwnerRecord) => OwnerRecord): Promise<void> {
    const { hypervisor, edits, timeoutMs } = this.#options.host;
    await edits.run(machine.uuid, async () => {
      const { xml } = await readDefinition(machine, timeoutMs);
      const record = readMetadata(xml);
      const owner = change(record.owner ?? {});
      const kept = Object.keys(owner).length === 0 ? null : owner;
      await saveRecord(hypervisor, machine, xml, { ...record, owner: kept }, timeoutMs);
    });
  }
}
