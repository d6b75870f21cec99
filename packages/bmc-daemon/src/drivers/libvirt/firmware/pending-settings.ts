/** Applies the settings that wait in a machine's metadata, just before its start. */
import { DriverError } from '../../driver-error.js';
import { without } from '../../rules/firmware-settings.js';
import type { SettingsChange, SettingsFailure } from '../../snapshot/firmware-snapshot.js';
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
import { setFirmware } from '../xml/os/firmware.js';
import { setHardware } from '../xml/os/machine-settings.js';
import { setSecureBoot } from '../xml/os/secure-boot.js';

/** Dependencies of {@link PendingSettings}. */
interface PendingSettingsOptions {
  readonly host: Host;
  readonly firmware: FirmwareChooser;
  readonly now: () => Date;
}

/** Kinds of errors after which a retry is useless. The daemon then drops the setting. */
const permanentKinds: ReadonlySet<string> = new Set(['invalid', 'unsupported', 'conflict', 'failed', 'internal']);

/** The settings that affect the machine, with their names for people, in the order in which they are applied. */
const namesOfSettings = {
  firmware: 'the boot mode',
  secureBoot: 'Secure Boot',
  cpuCount: 'the number of vCPUs',
  memoryMiB: 'the memory',
  networkBoot: 'the network boot',
} as const satisfies Readonly<Record<Exclude<keyof SettingsChange, 'kept'>, string>>;

/** Name of a setting that affects the machine. */
type SettingName = keyof typeof namesOfSettings;

/** A definition with some of the pending settings. */
interface Attempt {
  readonly edit: DefinitionEdit;
  readonly applied: readonly SettingName[];
  /** A reason for each rejected setting. */
  readonly reasons: readonly string[];
}

/** Applies firmware settings at the next start of their machine. */
export class PendingSettings {
  readonly #options: PendingSettingsOptions;

  constructor(options: PendingSettingsOptions) {
    this.#options = options;
  }

  /**
   * Changes the definition of a machine that is about to start, and adds the intent to start to its
   * record. If libvirt or the daemon rejects a setting, drops it, writes the reason to the record, and applies the
   * other settings. A wrong setting must not prevent every start, because a Redfish client could not
   * repair the machine then.
   * @param from the definition of the machine.
   * @returns whether the definition or its record was changed.
   * @throws {DriverError} a kind for which a retry may help, such as unavailable; every kind, if libvirt also rejects
   *   the changed record.
   */
  async apply(machine: Machine, from: string): Promise<boolean> {
    const settings = readMetadata(from).settings ?? noSettings;
    const { pending } = settings;
    if (!machine.persistent || Object.keys(pending).length === 0) return false;
    const kept = { ...settings.kept, ...pending.kept };
    const finish = async ({ edit, reasons }: Attempt): Promise<void> => {
      edit.editRecord(withStartIntent);
      const failure = reasons.length === 0 ? null : this.#failure(reasons);
      await this.#save(machine, from, edit, { kept, pending: {}, failure });
    };
    let attempt = await this.#edited(machine, from, pending);
    try {
      await finish(attempt);
    } catch (error) {
      checkPermanent(error);
      // Without settings, libvirt has rejected the record.
      if (attempt.applied.length === 0) throw error;
      // libvirt does not report which setting it rejects.
      attempt = await this.#savedOneByOne(machine, from, pending, attempt);
      await finish(attempt);
    }
    return true;
  }

  /** Applies each setting that the daemon itself does not reject, without saving the definition. */
  async #edited(machine: Machine, from: string, pending: SettingsChange): Promise<Attempt> {
    const edit = new DefinitionEdit(from);
    const applied = settingsIn(pending);
    for (const name of applied) {
      try {
        await this.#change(edit, only(pending, name));
      } catch (error) {
        const reason = this.#rejected(machine, name, error);
        // The edit of this setting may be incomplete, so this starts again without the setting.
        const rest = await this.#edited(machine, from, without(pending, name));
        return { ...rest, reasons: [reason, ...rest.reasons] };
      }
    }
    return { edit, applied, reasons: [] };
  }

  /** Saves a definition for each setting, so that libvirt rejects only the wrong settings. */
  async #savedOneByOne(machine: Machine, from: string, pending: SettingsChange, attempt: Attempt): Promise<Attempt> {
    let xml = from;
    let waiting: SettingsChange = pending;
    const applied: SettingName[] = [];
    const reasons = [...attempt.reasons];
    for (const name of attempt.applied) {
      waiting = without(waiting, name);
      try {
        const edit = new DefinitionEdit(xml);
        await this.#change(edit, only(pending, name));
        // If the daemon ends here, the remaining settings still wait.
        xml = await this.#save(machine, from, edit, { pending: waiting }).catch((error: unknown) => {
          throw withName(error, name);
        });
        applied.push(name);
      } catch (error) {
        reasons.push(this.#rejected(machine, name, error));
      }
    }
    return { edit: new DefinitionEdit(xml), applied, reasons };
  }

  /**
   * Writes an edited definition with another record.
   * @param done the new values of the record's settings.
   * @returns the new definition.
   */
  async #save(machine: Machine, from: string, edit: DefinitionEdit, done: Partial<SettingsRecord>): Promise<string> {
    const { record } = edit;
    edit.setRecord({ ...record, settings: settingsOrNull({ ...(record.settings ?? noSettings), ...done }) });
    const to = edit.text();
    await saveDefinition(this.#options.host, machine, { from, to });
    return to;
  }

  /** Logs a rejected setting. @returns the reason. @throws the error itself, if a retry may help. */
  #rejected(machine: Machine, name: SettingName, error: unknown): string {
    checkPermanent(error);
    this.#options.host.log.warn(`machine ${machine.name} starts without its pending setting ${name}`, { error });
    return error instanceof DriverError ? error.message : `${namesOfSettings[name]} could not be changed`;
  }

  #failure(reasons: readonly string[]): SettingsFailure {
    return { reason: reasons.join('; '), time: this.#options.now().toISOString() };
  }

  async #change(edit: DefinitionEdit, change: SettingsChange): Promise<void> {
    const { architecture } = edit.domain.os;
    const { firmware: type } = change;
    if (type !== undefined) {
      const choice = await this.#options.firmware.bootModeFiles(type, architecture);
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

/** Returns the names of the settings in a change, in the order in which they are applied. */
function settingsIn(change: SettingsChange): readonly SettingName[] {
  const names = Object.keys(namesOfSettings) as SettingName[]; // the keys of a literal
  return names.filter((name) => change[name] !== undefined);
}

/** Returns one setting of a change. */
function only(change: SettingsChange, name: SettingName): SettingsChange {
  return without(change, 'kept', ...settingsIn(change).filter((other) => other !== name));
}

/** Throws an error again if a retry may help. */
function checkPermanent(error: unknown): void {
  if (error instanceof DriverError && !permanentKinds.has(error.kind)) throw error;
}

/** Adds the name of a setting to libvirt's error, because its text may not show which setting it is about. */
function withName(error: unknown, name: SettingName): unknown {
  if (!(error instanceof DriverError)) return error;
  return new DriverError(error.kind, `setting ${namesOfSettings[name]}: ${error.message}`, { cause: error });
}

/** Adds the intent to start, unless the record already has an intent to start or to restart. */
export function withStartIntent(record: MachineRecord): MachineRecord {
  if (powerIntent(record.intents) !== null) return record;
  return { ...record, intents: withIntent(record.intents, { kind: 'start', fresh: true }) };
}
