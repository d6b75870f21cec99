/** Firmware of real machines: Secure Boot, the machine's own boot order, and settings that wait for the next start. */
import { DriverError, type SystemSnapshot } from '../driver.js';
import type { DeviceKey, FirmwareControl, MachineSettings, SettingsChange } from '../firmware-control.js';
import { checkSettings, mergeSettings, resetChange, without } from '../firmware-settings.js';
import type { BootControl } from './boot-control.js';
import { readDefinition, saveDefinition } from './definition.js';
import type { FirmwareChooser } from './firmware-choice.js';
import type { Host } from './host.js';
import type { Machine } from './inventory.js';
import type { Variables } from './nvram.js';
import { beneathOverride, withVariablesFor } from './kept-override.js';
import { withOwnOrder } from './xml/boot-order.js';
import { readDomain } from './xml/domain.js';
import { readMetadata, withMetadata, type MachineRecord } from './xml/metadata.js';
import { withSecureBoot, type SecureBootMode } from './xml/secure-boot.js';
import { noSettings, settingsOrNull, type SettingsRecord } from './xml/settings-record.js';

/** What the group works with. */
export interface LibvirtFirmwareOptions {
  readonly host: Host;
  readonly boot: BootControl;
  readonly firmware: FirmwareChooser;
  readonly variables: Pick<Variables, 'carryNow'>;
  /** Runs a change of the machine that an id names. */
  readonly changing: (id: string, change: (machine: Machine) => Promise<void>) => Promise<void>;
  readonly snapshot: (machine: Machine) => Promise<SystemSnapshot>;
}

/** The driver's group of firmware, on real machines. */
export class LibvirtFirmware implements FirmwareControl {
  readonly #options: LibvirtFirmwareOptions;

  constructor(options: LibvirtFirmwareOptions) {
    this.#options = options;
  }

  async setSecureBoot(id: string, enabled: boolean): Promise<void> {
    await this.#switchSecureBoot(id, enabled ? 'on' : 'off');
  }

  async resetSecureBootKeys(id: string, keys: 'default' | 'none'): Promise<void> {
    await this.#switchSecureBoot(id, keys === 'default' ? 'on' : 'setup');
  }

  async setBootOrder(id: string, keys: readonly DeviceKey[]): Promise<void> {
    await this.#options.changing(id, async (machine) => {
      await this.#edit(machine, 'the boot order', (xml) => beneathOverride(xml, (own) => withOwnOrder(own, keys)));
      await this.#options.boot.tellChanged(machine);
    });
  }

  async setPending(id: string, change: SettingsChange): Promise<void> {
    await this.#options.changing(id, async (machine) => {
      const system = await this.#options.snapshot(machine);
      checkSettings(system, change);
      if (change.secureBoot === true) await this.#options.firmware.checkSecureBoot(machine, system);
      await this.#editSettings(machine, (settings) => ({
        ...settings,
        pending: mergeSettings(settings.pending, change),
        original: mergeSettings(resetChange(system.firmware.settings, change), settings.original),
        failure: null,
      }));
    });
  }

  async resetSettings(id: string, kept: MachineSettings['kept']): Promise<void> {
    await this.#options.changing(id, async (machine) => {
      const { firmware } = await this.#options.snapshot(machine);
      // What never was set need not be set back.
      const set = { ...firmware.settings.kept, ...firmware.pending.kept };
      const known = Object.entries(kept).filter(([name]) => Object.hasOwn(set, name));
      await this.#editSettings(machine, (settings) => ({
        ...settings,
        pending: mergeSettings(settings.original, { kept: Object.fromEntries(known) }),
        failure: null,
      }));
    });
  }

  async #switchSecureBoot(id: string, mode: SecureBootMode): Promise<void> {
    await this.#options.changing(id, async (machine) => {
      const system = await this.#options.snapshot(machine);
      if (mode !== 'off') {
        const { firmware } = system;
        // What is asked for now comes before what waits for a start.
        checkSettings({ ...system, firmware: { ...firmware, pending: {} } }, { secureBoot: true });
        await this.#options.firmware.checkSecureBoot(machine, system);
      }
      const files = await this.#options.firmware.secureBootFiles(
        system.architecture,
        mode,
        await this.#loader(machine),
      );
      await this.#edit(machine, 'Secure Boot', (xml) => {
        const switched = withSecureBoot(xml, mode, files);
        const record = readMetadata(switched);
        const settings =
          record.settings &&
          settingsOrNull({ ...record.settings, pending: without(record.settings.pending, 'secureBoot') });
        return withVariablesFor(xml, withMetadata(switched, { ...record, settings }));
      });
      await this.#options.variables.carryNow(machine);
    });
  }

  async #loader(machine: Machine): Promise<string | null> {
    const { xml } = await readDefinition(machine, this.#options.host.timeoutMs);
    const { os } = readDomain(xml);
    return os.firmware === null ? (os.loader?.path ?? null) : null;
  }

  async #editSettings(machine: Machine, edit: (settings: SettingsRecord) => SettingsRecord): Promise<void> {
    await this.#edit(machine, 'the firmware settings', (xml) => {
      const record: MachineRecord = readMetadata(xml);
      return withMetadata(xml, { ...record, settings: settingsOrNull(edit(record.settings ?? noSettings)) });
    });
  }

  async #edit(machine: Machine, what: string, edit: (xml: string) => string): Promise<void> {
    if (!machine.persistent) {
      throw new DriverError(
        'transient',
        `changing ${what} of machine ${machine.name}: it is transient and has no definition`,
      );
    }
    const { edits, hypervisor, timeoutMs } = this.#options.host;
    await edits.run(machine.uuid, async () => {
      const { xml: from } = await readDefinition(machine, timeoutMs);
      await saveDefinition(hypervisor, machine, { from, to: edit(from) }, timeoutMs);
    });
  }
}
