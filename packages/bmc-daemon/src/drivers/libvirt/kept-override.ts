/** What a definition says about the boot override that is kept with it. Pure. */
import { afterBoot, mergeBootOverride, overrideDevice, untouchedOverride } from '../boot-override.js';
import type { BootChange, BootDevice, FirmwareType } from '../driver.js';
import type { Machine } from './inventory.js';
import {
  availableBootDevices,
  effectiveBootOrder,
  firstBootDevice,
  orderWithFirst,
  restoreBootOrder,
  withBootOrder,
  type BootStep,
} from './xml/boot-order.js';
import { withCdrom } from './xml/cdrom.js';
import { readDomain, type Domain } from './xml/domain.js';
import { withFirmware, type FirmwareChoice } from './xml/firmware.js';
import { readMetadata, withMetadata } from './xml/metadata.js';

/** A boot mode and the files that it means on this host. */
export interface WantedFirmware {
  readonly type: FirmwareType;
  readonly choice: FirmwareChoice;
}

/** The definition with a client's change in it. @param change with its firmware looked up; null: it stays as it is. */
export function withBootChange(
  { persistent }: Pick<Machine, 'persistent'>,
  xml: string,
  change: Pick<BootChange, 'enabled' | 'target'> & { readonly firmware: WantedFirmware | null },
): string {
  const { firmware } = change;
  const record = readMetadata(xml);
  let result = firmware === null ? xml : withFirmware(xml, firmware.type, firmware.choice);
  // The old firmware's variables: with Secure Boot in them, the new one would refuse what it was chosen to boot.
  const resetNvram = result === xml ? record.resetNvram : firmware?.type === 'efi';
  if (change.enabled === undefined && change.target === undefined) {
    return withMetadata(result, { ...record, resetNvram });
  }
  const override = mergeBootOverride(record.boot ?? untouchedOverride(firstBootDevice(readDomain(result))), change);
  // As on a server whose drive is part of its controller: there is always one to boot from.
  if (override.target === 'cdrom' && persistent && !hasDevice(result, 'cdrom')) result = withCdrom(result, null).xml;
  const saved = record.boot?.saved ?? null;
  if (saved !== null) result = restoreBootOrder(result, saved);
  result = withMetadata(result, { ...record, resetNvram, boot: { ...override, saved: null } });
  return persistent ? withContinuousOrder(result) : result;
}

/** The definition after a boot: a one-time override in it reads as disabled. */
export function withOverrideUsed(xml: string): string {
  const record = readMetadata(xml);
  return record.boot === null
    ? xml
    : withMetadata(xml, { ...record, boot: { ...record.boot, ...afterBoot(record.boot) } });
}

/** The device of a once-order that is pending in a definition. */
export function onceDevice(xml: string): BootDevice | null {
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

/** Whether a definition has a device of that kind. */
export function hasDevice(xml: string, kind: BootDevice): boolean {
  const { devices } = readDomain(xml);
  return availableBootDevices(devices).includes(kind);
}
