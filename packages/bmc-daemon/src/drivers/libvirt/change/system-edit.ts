/** Edits of a definition for a client's change. */
import type { CompleteSnapshot } from '../../snapshot/system-snapshot.js';
import { mergeSettings, resetChange } from '../../rules/firmware-settings.js';
import type { SystemChange } from '../../system-change.js';
import type { Machine } from '../machine/inventory.js';
import {
  changeBoot,
  changeFirmware,
  dropPending,
  editOwnDefinition,
  type WantedFirmware,
} from '../machine/boot-edit.js';
import type { DefinitionEdit } from '../xml/definition-edit.js';
import { addDisplay } from './display-edit.js';
import type { MachineRecord } from '../xml/metadata/machine-record.js';
import type { OwnerRecord } from '../xml/metadata/owner-record.js';
import { noSettings, settingsOrNull, type SettingsRecord } from '../xml/metadata/settings-record.js';
import { setOwnOrder } from '../xml/os/boot-order-edit.js';
import { setSecureBoot, type SecureBootFiles } from '../xml/os/secure-boot.js';

/** Firmware files that a change needs. Null: the change needs none, or libvirt selects them. */
export interface ChangeFiles {
  readonly firmware: WantedFirmware | null;
  readonly secureBoot: SecureBootFiles | null;
}

/**
 * Applies a change to a definition, except the image in a drive.
 * @param system returns the machine as it was before the change.
 * @throws {DriverError} invalid; unsupported; internal, as `addDisplay`.
 */
export function editSystem(
  machine: Pick<Machine, 'persistent'>,
  edit: DefinitionEdit,
  {
    change,
    files,
    system,
  }: { readonly change: SystemChange; readonly files: ChangeFiles; readonly system: () => CompleteSnapshot },
): void {
  const { boot, bootOrder, display, secureBoot } = change;
  if (boot !== undefined) changeBoot(machine, edit, { ...boot, firmware: files.firmware });
  if (bootOrder !== undefined) editOwnDefinition(edit, () => setOwnOrder(edit, bootOrder));
  if (secureBoot !== undefined) {
    changeFirmware(edit, () => {
      setSecureBoot(edit, secureBoot, files.secureBoot);
      dropPending(edit, 'secureBoot');
    });
  }
  if (display === true) addDisplay(edit);
  edit.editRecord((record) => recordAfter(record, change, system));
}

/** Returns the record after a change; the same object if the change does not affect the record. */
function recordAfter(
  record: MachineRecord,
  { indicator, assetTag, firmwareVersion, settings, resetSettings }: SystemChange,
  system: () => CompleteSnapshot,
): MachineRecord {
  let result = record;
  if (indicator !== undefined) result = { ...result, indicator };
  if (assetTag !== undefined || firmwareVersion !== undefined) {
    result = { ...result, owner: ownerAfter(result.owner ?? {}, { assetTag, firmwareVersion }) };
  }
  if (settings !== undefined || resetSettings !== undefined) {
    result = {
      ...result,
      settings: settingsAfter(result.settings ?? noSettings, { settings, resetSettings }, system()),
    };
  }
  return result;
}

function ownerAfter(
  { assetTag: tag, firmwareUpdate: update }: OwnerRecord,
  { assetTag = tag ?? '', firmwareVersion }: { assetTag: string | undefined; firmwareVersion: string | undefined },
): OwnerRecord | null {
  const firmwareUpdate =
    firmwareVersion === undefined ? update : { installed: update?.installed ?? null, staged: firmwareVersion };
  const owner = {
    ...(assetTag === '' ? {} : { assetTag }),
    ...(firmwareUpdate === undefined ? {} : { firmwareUpdate }),
  };
  return Object.keys(owner).length === 0 ? null : owner;
}

function settingsAfter(
  current: SettingsRecord,
  { settings, resetSettings }: { settings: SystemChange['settings']; resetSettings: SystemChange['resetSettings'] },
  { firmware }: CompleteSnapshot,
): SettingsRecord | null {
  let result = current;
  if (resetSettings !== undefined) {
    // Resets a stored value only if a client has set it.
    const set = { ...firmware.settings.kept, ...firmware.pending.kept };
    const known = Object.entries(resetSettings).filter(([name]) => Object.hasOwn(set, name));
    const pending = mergeSettings(result.original, { kept: Object.fromEntries(known) });
    result = { ...result, pending, failure: null };
  }
  if (settings !== undefined) {
    const original = mergeSettings(resetChange(firmware.settings, settings), result.original);
    result = { ...result, pending: mergeSettings(result.pending, settings), original, failure: null };
  }
  return settingsOrNull(result);
}
