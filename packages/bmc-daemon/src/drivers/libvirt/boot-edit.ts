/** What a definition says about the boot override that is kept with it. Pure. */
import {
  afterBoot,
  changesOverride,
  mergeBootOverride,
  overrideDevice,
  untouchedOverride,
  type BootChoice,
} from '../boot-override.js';
import type { BootChange, FirmwareType } from '../driver.js';
import { without } from '../firmware-settings.js';
import type { Machine } from './inventory.js';
import {
  effectiveBootOrder,
  firstBootDevice,
  hasChoice,
  orderWithFirst,
  restoreBootOrder,
  withBootOrder,
  type BootStep,
} from './xml/boot-order.js';
import { withCdrom } from './xml/cdrom.js';
import { readDomain, type Domain } from './xml/domain.js';
import { variablesOf, withFirmware, type FirmwareChoice } from './xml/firmware.js';
import { readMetadata, withMetadata, type BootRecord, type MachineRecord } from './xml/metadata.js';
import { noSettings, settingsOrNull } from './xml/settings-record.js';

/** A boot mode and the files that it means on this host. */
export interface WantedFirmware {
  readonly type: FirmwareType;
  readonly choice: FirmwareChoice;
}

/** The definition with a client's change in it. @param change with its firmware looked up; null: it stays as it is. */
export function withBootChange(
  { persistent }: Pick<Machine, 'persistent'>,
  xml: string,
  change: Omit<BootChange, 'firmware'> & { readonly firmware: WantedFirmware | null },
): string {
  const { firmware } = change;
  let result = firmware === null ? xml : withFirmware(xml, firmware.type, firmware.choice);
  if (firmware !== null) result = withoutPendingFirmware(withVariablesFor(xml, result));
  if (!changesOverride(change)) return result;
  const record = readMetadata(result);
  const override = mergeBootOverride(record.boot ?? untouchedOverride(firstBootDevice(readDomain(result))), change);
  // As on a server whose drive is part of its controller: there is always one to boot from.
  if (overrideDevice({ ...override, enabled: 'once' }) === 'cdrom' && persistent && !hasDevice(result, 'cdrom'))
    result = withCdrom(result, null).xml;
  const saved = record.boot?.saved ?? null;
  if (saved !== null) result = restoreBootOrder(result, saved);
  result = withMetadata(result, { ...record, boot: { ...override, saved: null } });
  return persistent ? withContinuousOrder(result) : result;
}

/**
 * The definition after a change of its firmware, with what that means for the variables: made of another master copy, they would be
 * the wrong ones (with Secure Boot in them the new firmware would refuse what it was chosen to boot), and have to be made anew by the
 * next start. What is changed there and back before a start, or while the machine boots by BIOS, keeps them, and with them what the
 * installed system has written there.
 */
export function withVariablesFor(before: string, after: string): string {
  const [old, now] = [readDomain(before), readDomain(after)];
  const record = readMetadata(after);
  const settings = record.settings ?? noSettings;
  const present = settings.variables ?? (record.resetNvram ? null : variablesOf(old.os, old.firmware));
  const wanted = variablesOf(now.os, now.firmware);
  if (settings.variables === null && !record.resetNvram && present === wanted) return after;
  const resetNvram = wanted !== null && present !== wanted;
  const variables = present === wanted ? null : present;
  return withMetadata(after, { ...record, resetNvram, settings: settingsOrNull({ ...settings, variables }) });
}

/** The record of a machine whose variables are those of its definition again. */
export function withVariablesMade(record: MachineRecord): MachineRecord {
  if (!record.resetNvram) return record;
  const settings = record.settings && settingsOrNull({ ...record.settings, variables: null });
  return { ...record, settings, resetNvram: false };
}

/** What is asked for now comes before what waits for a start. */
function withoutPendingFirmware(xml: string): string {
  const record = readMetadata(xml);
  if (record.settings?.pending.firmware === undefined) return xml;
  const pending = without(record.settings.pending, 'firmware');
  return withMetadata(xml, { ...record, settings: settingsOrNull({ ...record.settings, pending }) });
}

/** A change of the user's own definition beneath an override whose order stands in it; the override is put on again. */
export function editOwnDefinition(xml: string, edit: (own: string) => string): string {
  const record = readMetadata(xml);
  const { boot } = record;
  if (!boot?.saved) return edit(xml);
  const own = withMetadata(restoreBootOrder(xml, boot.saved), { ...record, boot: { ...boot, saved: null } });
  return withContinuousOrder(edit(own));
}

/** The definition after a boot: a one-time override in it reads as disabled. */
export function withOverrideUsed(xml: string): string {
  const record = readMetadata(xml);
  return record.boot === null ? xml : withMetadata(xml, { ...record, boot: bootRecordAfterBoot(record.boot) });
}

/** The record of an override after a boot. The user's own order stays in it. */
export function bootRecordAfterBoot(boot: BootRecord): BootRecord {
  return { ...afterBoot(boot), saved: boot.saved };
}

/** What a once-order that is pending in a definition boots from. */
export function onceDevice(xml: string): BootChoice | null {
  const { boot } = readMetadata(xml);
  if (boot?.enabled !== 'once') return null;
  return overrideDevice(boot) ?? null;
}

/**
 * The definition with the order of a continuous override that is kept with it and not applied yet, because the machine had no
 * device of that kind.
 */
export function withContinuousOrder(xml: string): string {
  const record = readMetadata(xml);
  const { boot } = record;
  if (boot?.enabled !== 'continuous' || boot.saved !== null) return xml;
  const device = overrideDevice(boot);
  if (device === undefined || !hasDevice(xml, device)) return xml;
  const ordered = withBootOrder(xml, device);
  return withMetadata(ordered.xml, { ...record, boot: { ...boot, saved: ordered.saved } });
}

/** The order of a transient machine, which has no definition to hold one: a continuous override is all in its QEMU. */
export function transientOrder(running: Domain, xml: string): readonly BootStep[] {
  const { boot } = readMetadata(xml);
  const device = boot?.enabled === 'continuous' ? overrideDevice(boot) : undefined;
  return device === undefined ? effectiveBootOrder(running) : orderWithFirst(running, device);
}

/** Whether a definition has a device of that kind, or that device. */
export function hasDevice(xml: string, choice: BootChoice): boolean {
  return hasChoice(readDomain(xml).devices, choice);
}
