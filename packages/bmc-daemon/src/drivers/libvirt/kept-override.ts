/** What a definition says about the boot override that is kept with it. Pure. */
import { overrideDevice } from '../boot-override.js';
import type { BootDevice } from '../driver.js';
import {
  availableBootDevices,
  effectiveBootOrder,
  orderWithFirst,
  withBootOrder,
  type BootStep,
} from './xml/boot-order.js';
import { readDomain, type Domain } from './xml/domain.js';
import { readMetadata, withMetadata } from './xml/metadata.js';

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
