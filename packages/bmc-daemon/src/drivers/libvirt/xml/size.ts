/** Reads sizes with a unit from libvirt's XML. */
import { DriverError } from '../../driver-error.js';
import { attribute, textOf, type XmlElement } from './tree.js';

/** Bytes by unit (virScaleInteger). libvirt ignores the case of the names. */
const UNIT_BYTES: Readonly<Record<string, number>> = {
  b: 1,
  byte: 1,
  bytes: 1,
  kb: 1e3,
  k: 1024,
  kib: 1024,
  mb: 1e6,
  m: 1024 ** 2,
  mib: 1024 ** 2,
  gb: 1e9,
  g: 1024 ** 3,
  gib: 1024 ** 3,
  tb: 1e12,
  t: 1024 ** 4,
  tib: 1024 ** 4,
  pb: 1e15,
  p: 1024 ** 5,
  pib: 1024 ** 5,
  eb: 1e18,
  e: 1024 ** 6,
  eib: 1024 ** 6,
};

/**
 * Reads a memory size, `<memory unit='MiB'>512</memory>`, in KiB, rounded up as libvirt does.
 * Without a unit the number is KiB. Returns 0 for an absent or empty element.
 * @throws {DriverError} internal, for a unit or a number that libvirt would reject too.
 */
export function readMemoryKiB(element: XmlElement | undefined): number {
  const text = textOf(element);
  if (text === null) return 0;
  const unit = attribute(element, 'unit') ?? 'KiB';
  const bytes = UNIT_BYTES[unit.toLowerCase()];
  if (bytes === undefined || !/^\d+$/.test(text)) {
    throw new DriverError('internal', `reading domain xml: ${text} ${unit} is not a memory size`);
  }
  return Math.ceil((Number(text) * bytes) / 1024);
}
