/** Edits of a definition for the boot override and the firmware. Pure. */
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
import {
  effectiveBootOrder,
  firstBootDevice,
  hasChoice,
  orderWithFirst,
  restoreBootOrder,
  withBootOrder,
  type BootStep,
} from '../xml/os/boot-order.js';
import { withCdrom } from '../xml/devices/cdrom.js';
import { readDomain, type Domain } from '../xml/domain.js';
import { variablesOf, withFirmware, type FirmwareChoice } from '../xml/os/firmware.js';
import { readMetadata, withMetadata } from '../xml/metadata/metadata.js';
import type { BootRecord, MachineRecord } from '../xml/metadata/machine-record.js';
import { noSettings, settingsOrNull } from '../xml/metadata/settings-record.js';

/** A boot mode and its files on this host. */
export interface WantedFirmware {
  readonly type: FirmwareType;
  readonly choice: FirmwareChoice;
}

/**
 * Returns the definition with a client's change of booting.
 * @param change its `firmware` has the files; null: the firmware stays as it is.
 */
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
  // Adds an empty CD drive, because a server always has a drive to boot from.
  if (overrideDevice({ ...override, enabled: 'once' }) === 'cdrom' && persistent && !hasDevice(result, 'cdrom'))
    result = withCdrom(result, null).xml;
  const saved = record.boot?.saved ?? null;
  if (saved !== null) result = restoreBootOrder(result, saved);
  result = withMetadata(result, { ...record, boot: { ...override, saved: null } });
  return persistent ? withContinuousOrder(result) : result;
}

/**
 * Returns the definition with the record of the UEFI variables updated after a change of the
 * firmware.
 *
 * Variables from another template do not fit: with the keys of Secure Boot, the new firmware would
 * reject its boot loader. The next start then makes the variables again. If the firmware changes
 * back before a start, or while the machine boots by BIOS, the variables stay, with everything that
 * the installed system has written there.
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

/** Returns the record of a machine whose variables fit its definition again. */
export function withVariablesMade(record: MachineRecord): MachineRecord {
  if (!record.resetNvram) return record;
  const settings = record.settings && settingsOrNull({ ...record.settings, variables: null });
  return { ...record, settings, resetNvram: false };
}

/** Removes a pending firmware setting, because an immediate change replaces it. */
function withoutPendingFirmware(xml: string): string {
  const record = readMetadata(xml);
  if (record.settings?.pending.firmware === undefined) return xml;
  const pending = without(record.settings.pending, 'firmware');
  return withMetadata(xml, { ...record, settings: settingsOrNull({ ...record.settings, pending }) });
}

/**
 * Applies an edit to the definition without the order of an override, and applies the override
 * again.
 */
export function editOwnDefinition(xml: string, edit: (own: string) => string): string {
  const record = readMetadata(xml);
  const { boot } = record;
  if (!boot?.saved) return edit(xml);
  const own = withMetadata(restoreBootOrder(xml, boot.saved), { ...record, boot: { ...boot, saved: null } });
  return withContinuousOrder(edit(own));
}

/** Returns the definition after a boot: a once override is disabled. */
export function withOverrideUsed(xml: string): string {
  const record = readMetadata(xml);
  return record.boot === null ? xml : withMetadata(xml, { ...record, boot: bootRecordAfterBoot(record.boot) });
}

/** Returns the record of an override after a boot. It still has the order of the user. */
export function bootRecordAfterBoot(boot: BootRecord): BootRecord {
  return { ...afterBoot(boot), saved: boot.saved };
}

/** Returns the device of a pending once override, or null. */
export function onceDevice(xml: string): BootChoice | null {
  const { boot } = readMetadata(xml);
  if (boot?.enabled !== 'once') return null;
  return overrideDevice(boot) ?? null;
}

/** Applies a continuous override that was stored before the machine had such a device. */
export function withContinuousOrder(xml: string): string {
  const record = readMetadata(xml);
  const { boot } = record;
  if (boot?.enabled !== 'continuous' || boot.saved !== null) return xml;
  const device = overrideDevice(boot);
  if (device === undefined || !hasDevice(xml, device)) return xml;
  const ordered = withBootOrder(xml, device);
  return withMetadata(ordered.xml, { ...record, boot: { ...boot, saved: ordered.saved } });
}

/**
 * Returns the boot order of a transient machine. It has no definition to change, so only its QEMU
 * has a continuous override.
 */
export function transientOrder(running: Domain, xml: string): readonly BootStep[] {
  const { boot } = readMetadata(xml);
  const device = boot?.enabled === 'continuous' ? overrideDevice(boot) : undefined;
  return device === undefined ? effectiveBootOrder(running) : orderWithFirst(running, device);
}

/** Returns whether a definition has a device of that kind, or that device. */
export function hasDevice(xml: string, choice: BootChoice): boolean {
  return hasChoice(readDomain(xml).devices, choice);
}
