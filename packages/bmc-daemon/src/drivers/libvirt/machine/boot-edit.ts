/** Edits of a definition for the boot override and the firmware. */
import {
  afterBoot,
  changesOverride,
  mergeBootOverride,
  overrideDevice,
  untouchedOverride,
  type BootChoice,
} from '../../rules/boot-override.js';
import type { BootChange } from '../../snapshot/boot-snapshot.js';
import type { FirmwareType } from '../../snapshot/firmware-snapshot.js';
import { without } from '../../rules/firmware-settings.js';
import type { Machine } from './inventory.js';
import type { DefinitionEdit, DefinitionValues } from '../xml/definition-edit.js';
import { addCdrom } from '../xml/devices/cdrom.js';
import type { Domain } from '../xml/domain.js';
import type { BootRecord, MachineRecord } from '../xml/metadata/machine-record.js';
import { noSettings, settingsOrNull } from '../xml/metadata/settings-record.js';
import { effectiveBootOrder, firstBootDevice, hasChoice, orderWithFirst, type BootStep } from '../xml/os/boot-order.js';
import { overrideBootOrder, restoreBootOrder } from '../xml/os/boot-order-edit.js';
import { setFirmware, variablesTemplateKey, type FirmwareChoice } from '../xml/os/firmware.js';

/** A boot mode and its files on this host. */
export interface WantedFirmware {
  readonly type: FirmwareType;
  readonly choice: FirmwareChoice;
}

/**
 * Applies a client's change of boot settings.
 * @param change `change.firmware` also has the files of the firmware; null keeps the current firmware.
 * @throws {DriverError} unsupported, if the machine cannot have the firmware or a CD drive; noPlace.
 */
export function changeBoot(
  { persistent }: Pick<Machine, 'persistent'>,
  edit: DefinitionEdit,
  change: Omit<BootChange, 'firmware'> & { readonly firmware: WantedFirmware | null },
): void {
  const { firmware } = change;
  if (firmware !== null) {
    changeFirmware(edit, () => setFirmware(edit, firmware.type, firmware.choice));
    // The new firmware is in the definition already, so this change replaces a pending change of the firmware.
    dropPending(edit, 'firmware');
  }
  if (!changesOverride(change)) return;
  const override = mergeBootOverride(edit.record.boot ?? untouchedOverride(firstBootDevice(edit.domain)), change);
  // Adds an empty CD drive to a machine without one, because Redfish offers a boot from CD for each machine.
  if (
    overrideDevice({ ...override, enabled: 'once' }) === 'cdrom' &&
    persistent &&
    !hasChoice(edit.domain.devices, 'cdrom')
  )
    addCdrom(edit, null);
  const saved = edit.record.boot?.saved ?? null;
  if (saved !== null) restoreBootOrder(edit, saved);
  edit.setRecord({ ...edit.record, boot: { ...override, saved: null } });
  if (persistent) applyContinuousOrder(edit);
}

/**
 * Changes the firmware, and then updates the record of the UEFI variables.
 *
 * UEFI variables work only with the template that they were created from. For example, old Secure
 * Boot keys can make the new firmware reject the guest's boot loader. So the daemon recreates the
 * variables before the next start. The daemon keeps them, with the data of the guest, if the firmware changes
 * back before that start. It also keeps them if the machine boots with BIOS and later gets its old firmware again.
 */
export function changeFirmware(edit: DefinitionEdit, change: () => void): void {
  const old = edit.domain;
  change();
  const now = edit.domain;
  const { record } = edit;
  const settings = record.settings ?? noSettings;
  const current = settings.variables ?? (record.resetNvram ? null : variablesTemplateKey(old.os, old.firmware));
  const wanted = variablesTemplateKey(now.os, now.firmware);
  if (settings.variables === null && !record.resetNvram && current === wanted) return;
  const resetNvram = wanted !== null && current !== wanted;
  const variablesTemplate = current === wanted ? null : current;
  const changed = settingsOrNull({ ...settings, variables: variablesTemplate });
  edit.setRecord({ ...record, resetNvram, settings: changed });
}

/**
 * Removes a pending firmware setting; changes nothing if it is not pending.
 * @throws {DriverError} conflict, if a newer version of the daemon has written the record in a newer format.
 */
export function dropPending(edit: DefinitionEdit, name: 'firmware' | 'secureBoot'): void {
  edit.editRecord((record) => {
    if (record.settings?.pending[name] === undefined) return record;
    const pending = without(record.settings.pending, name);
    return { ...record, settings: settingsOrNull({ ...record.settings, pending }) };
  });
}

/** Returns the record after the UEFI variables were recreated: the next start does not reset them. */
export function withoutVariablesReset(record: MachineRecord): MachineRecord {
  if (!record.resetNvram) return record;
  const settings = record.settings && settingsOrNull({ ...record.settings, variables: null });
  return { ...record, settings, resetNvram: false };
}

/**
 * Applies a change to the user's own definition. If the definition contains the boot order of an override, reverts
 * this order before the change and applies it again afterwards.
 * @throws {DriverError} internal, for a saved order that is not XML; conflict, if a newer version of the daemon
 *   has written the record in a newer format. Also throws the errors of the change.
 */
export function editOwnDefinition(edit: DefinitionEdit, change: () => void): void {
  const { boot } = edit.record;
  if (!boot?.saved) {
    change();
    return;
  }
  restoreBootOrder(edit, boot.saved);
  edit.setRecord({ ...edit.record, boot: { ...boot, saved: null } });
  change();
  applyContinuousOrder(edit);
}

/** Returns the record after a boot: a one-time override is disabled. */
export function withOverrideUsed(record: MachineRecord): MachineRecord {
  return record.boot === null ? record : { ...record, boot: bootRecordAfterBoot(record.boot) };
}

/** Returns the record of an override after a boot. It still contains the stored order of the user. */
export function bootRecordAfterBoot(boot: BootRecord): BootRecord {
  return { ...afterBoot(boot), saved: boot.saved };
}

/** Returns the device of a pending one-time override, or null. */
export function onceDevice({ boot }: MachineRecord): BootChoice | null {
  if (boot?.enabled !== 'once') return null;
  return overrideDevice(boot) ?? null;
}

/**
 * Returns the device of a pending one-time override; null if there is none, or if the machine lacks
 * the device.
 */
export function presentOnceDevice({ domain, record }: DefinitionValues): BootChoice | null {
  const once = onceDevice(record);
  return once !== null && hasChoice(domain.devices, once) ? once : null;
}

/**
 * Writes a continuous override into the definition. Does nothing if the definition has it already,
 * or if the machine lacks the device of the override.
 * @throws {DriverError} conflict, if a newer version of the daemon has written the record in a newer format.
 */
export function applyContinuousOrder(edit: DefinitionEdit): void {
  const { boot } = edit.record;
  if (boot?.enabled !== 'continuous' || boot.saved !== null) return;
  const device = overrideDevice(boot);
  if (device === undefined || !hasChoice(edit.domain.devices, device)) return;
  const saved = overrideBootOrder(edit, device);
  edit.setRecord({ ...edit.record, boot: { ...boot, saved } });
}

/**
 * Returns the boot order of a transient machine. Such a machine has no stored definition, so a
 * continuous override exists only in its running QEMU process.
 */
export function transientOrder(running: Domain, { boot }: MachineRecord): readonly BootStep[] {
  const device = boot?.enabled === 'continuous' ? overrideDevice(boot) : undefined;
  return device === undefined ? effectiveBootOrder(running) : orderWithFirst(running, device);
}
