/** Applies the settings that wait in a machine's metadata, just before its start. */
import { DriverError } from '../../driver-error.js';
import type { SettingsChange } from '../../snapshot/firmware-snapshot.js';
import { saveDefinition } from '../machine/definition.js';
import type { FirmwareChooser } from './firmware-choice.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { changeFirmware, editOwnDefinition } from '../machine/boot-edit.js';
import { DefinitionEdit } from '../xml/definition-edit.js';
import { powerIntent, withIntent } from '../xml/metadata/intent-record.js';
import type { MachineRecord } from '../xml/metadata/machine-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import { noSettings, settingsOrNull, type SettingsRecord } from '../xml/metadata/settings-record.js';
import { setFirmware, type FirmwareChoice } from '../xml/os/firmware.js';
import { setHardware } from '../xml/os/machine-settings.js';
import { setSecureBoot } from '../xml/os/secure-boot.js';

/** Dependencies of {@link PendingSettings}. */
interface PendingSettingsOptions {
  readonly host: Host;
  readonly firmware: FirmwareChooser;
  /** Returns the files of a boot mode on this host. @see chooseFirmware */
  readonly firmwareFiles: (type: 'bios' | 'efi', architecture: string) => Promise<FirmwareChoice>;
  readonly now: () => Date;
}

/** Kinds of errors after which a retry is useless. The daemon then drops the settings. */
const permanentKinds: ReadonlySet<string> = new Set(['invalid', 'unsupported', 'conflict', 'failed', 'internal']);

/** Applies firmware settings at the next start of their machine. */
export class PendingSettings {
  readonly #options: PendingSettingsOptions;

  constructor(options: PendingSettingsOptions) {
    this.#options = options;
  }

  /**
   * Changes the definition of a machine that is about to start, and adds the intent to start to its
   * record. If libvirt or the daemon rejects the settings, changes only the record, and writes the
   * reason there. A wrong setting must not prevent every start, because a Redfish client could not
   * repair the machine then.
   * @param from the definition of the machine.
   * @returns whether the definition or its record was changed.
   * @throws {DriverError} a kind for which a retry may help, such as unavailable; every kind, if libvirt also rejects
   *   the changed record.
   */
  async apply(machine: Machine, from: string): Promise<boolean> {
    const { host } = this.#options;
    const settings = readMetadata(from).settings ?? noSettings;
    if (!machine.persistent || Object.keys(settings.pending).length === 0) return false;
    const save = async (edit: DefinitionEdit, done: Partial<SettingsRecord>): Promise<void> => {
      const { record } = edit;
      edit.setRecord({ ...record, settings: settingsOrNull({ ...(record.settings ?? noSettings), ...done }) });
      edit.editRecord(withStartIntent);
      await saveDefinition(host, machine, { from, to: edit.text() });
    };
    try {
      const edit = new DefinitionEdit(from);
      await this.#change(edit, settings.pending);
      const kept = { ...settings.kept, ...settings.pending.kept };
      await save(edit, { kept, pending: {}, failure: null });
    } catch (error) {
      if (error instanceof DriverError && !permanentKinds.has(error.kind)) throw error;
      host.log.warn(`machine ${machine.name} starts without its pending settings`, { error });
      const reason = error instanceof DriverError ? error.message : 'the definition could not be changed';
      const failure = { reason, time: this.#options.now().toISOString() };
      await save(new DefinitionEdit(from), { pending: {}, failure });
    }
    return true;
  }

  async #change(edit: DefinitionEdit, change: SettingsChange): Promise<void> {
    const { architecture } = edit.domain.os;
    const { firmware: type } = change;
    if (type !== undefined) {
      const choice = await this.#options.firmwareFiles(type, architecture);
      changeFirmware(edit, () => setFirmware(edit, type, choice));
    }
    const { firmware, os } = edit.domain;
    // Without UEFI, Secure Boot is off already, so nothing is to change. Switching it on without UEFI fails
    // below, with the reason.
    if (change.secureBoot !== undefined && (change.secureBoot || firmware === 'efi')) {
      const mode = change.secureBoot ? 'on' : 'off';
      const loader = os.firmware === null ? (os.loader?.path ?? null) : null;
      const files = await this.#options.firmware.secureBootFiles(architecture, mode, loader);
      changeFirmware(edit, () => setSecureBoot(edit, mode, files));
    }
    editOwnDefinition(edit, () => setHardware(edit, change));
  }
}

/** Adds the intent to start, unless the record already has an intent to start or to restart. */
export function withStartIntent(record: MachineRecord): MachineRecord {
  if (powerIntent(record.intents) !== null) return record;
  return { ...record, intents: withIntent(record.intents, { kind: 'start', fresh: true }) };
}
