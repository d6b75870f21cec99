/** Applies the settings that wait in a machine's metadata, just before its start. */
import { DriverError } from '../../driver-error.js';
import type { SettingsChange } from '../../snapshot/firmware-snapshot.js';
import { saveDefinition } from '../machine/definition.js';
import type { FirmwareChooser } from './firmware-choice.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { editOwnDefinition, withVariablesFor } from '../machine/boot-edit.js';
import { readDomain } from '../xml/domain.js';
import { withFirmware, type FirmwareChoice } from '../xml/os/firmware.js';
import { withHardware } from '../xml/os/machine-settings.js';
import { powerIntent, withIntent } from '../xml/metadata/intent-record.js';
import { readMetadata, withMetadata } from '../xml/metadata/metadata.js';
import { withSecureBoot } from '../xml/os/secure-boot.js';
import { noSettings, settingsOrNull, type SettingsRecord } from '../xml/metadata/settings-record.js';

/** Dependencies of {@link PendingSettings}. */
interface PendingSettingsOptions {
  readonly host: Host;
  readonly firmware: FirmwareChooser;
  /** Returns the files of a boot mode on this host. */
  readonly wantedFirmware: (type: 'bios' | 'efi', architecture: string) => Promise<FirmwareChoice>;
  readonly now: () => Date;
}

/** Errors that a retry does not solve: the daemon drops the settings. */
const refusals: ReadonlySet<string> = new Set(['invalid', 'unsupported', 'conflict', 'internal']);

/** Applies firmware settings at the next start of their machine. */
export class PendingSettings {
  readonly #options: PendingSettingsOptions;

  constructor(options: PendingSettingsOptions) {
    this.#options = options;
  }

  /**
   * Changes the definition of a machine that is about to start. The same change records the start.
   * If the change is rejected, the machine starts unchanged and its record has the reason.
   * Otherwise a wrong setting could prevent every start, and a Redfish client could not repair it.
   * @param from the definition.
   * @returns whether the definition was changed.
   * @throws {DriverError} unavailable, notFound.
   */
  async apply(machine: Machine, from: string): Promise<boolean> {
    const { hypervisor, timeoutMs, log } = this.#options.host;
    const settings = readMetadata(from).settings ?? noSettings;
    if (!machine.persistent || Object.keys(settings.pending).length === 0) return false;
    const save = (to: string): Promise<void> =>
      saveDefinition(hypervisor, machine, { from, to: withStartIntent(to) }, timeoutMs);
    try {
      const changed = await this.#changed(from, settings.pending);
      const kept = { ...settings.kept, ...settings.pending.kept };
      await save(withSettings(changed, (present) => ({ ...present, kept, pending: {}, failure: null })));
    } catch (error) {
      if (error instanceof DriverError && !refusals.has(error.kind)) throw error;
      log.warn(`machine ${machine.name} starts without its pending settings`, { error });
      const reason = error instanceof DriverError ? error.message : 'the definition could not be changed';
      const failure = { reason, time: this.#options.now().toISOString() };
      await save(withSettings(from, (present) => ({ ...present, pending: {}, failure })));
    }
    return true;
  }

  async #changed(xml: string, change: SettingsChange): Promise<string> {
    const { os } = readDomain(xml);
    let result = xml;
    if (change.firmware !== undefined) {
      const choice = await this.#options.wantedFirmware(change.firmware, os.architecture);
      result = withVariablesFor(result, withFirmware(result, change.firmware, choice));
    }
    const { firmware, os: present } = readDomain(result);
    // A machine without UEFI has no Secure Boot.
    if (change.secureBoot !== undefined && (change.secureBoot || firmware === 'efi')) {
      const mode = change.secureBoot ? 'on' : 'off';
      const loader = present.firmware === null ? (present.loader?.path ?? null) : null;
      const files = await this.#options.firmware.secureBootFiles(os.architecture, mode, loader);
      result = withVariablesFor(result, withSecureBoot(result, mode, files));
    }
    return editOwnDefinition(result, (own) => withHardware(own, change));
  }
}

function withSettings(xml: string, edit: (settings: SettingsRecord) => SettingsRecord): string {
  const record = readMetadata(xml);
  return withMetadata(xml, { ...record, settings: settingsOrNull(edit(record.settings ?? noSettings)) });
}

/** Adds the intent to start, unless the record has a restart already. */
export function withStartIntent(xml: string): string {
  const record = readMetadata(xml);
  if (powerIntent(record.intents) !== null) return xml;
  return withMetadata(xml, { ...record, intents: withIntent(record.intents, { kind: 'start', fresh: true }) });
}
