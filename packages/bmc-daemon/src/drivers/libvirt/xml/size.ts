/** Sizes with a unit, as libvirt's XML gives them. */
import { DriverError } from '../../driver.js';
import { attribute, textOf } from './parse.js';
import type { XmlElement } from './parse.js';

/** Bytes of each unit that libvirt reads (virScaleInteger); the names are not case-sensitive there. */
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
 * `<memory unit='MiB'>512</memory>` in KiB, rounded up as libvirt does; without a unit the number is KiB. 0 where absent.
 * @throws {DriverError} internal, for a unit or a number that libvirt would not accept either.
 */
export function readMemoryKiB(element: XmlElement | undefined): number {
  const text = textOf(element);
  if (text === null) return 0;
  const unit = attribute(element, 'unit') ?? 'KiB';
  const bytes = UNIT_BYTES[unit.toLowerCase()];
  if (bytes === undefined || !/^\d+$/.test(text)) {
    throw new DriverError('internal', `reading domain xml: memory size ${text} ${unit} is not one`);
  }
  return Math.ceil((Number(text) * bytes) / 1024);
}
