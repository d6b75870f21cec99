/**
 * Targets of disks, for example `vda`, and the places on their bus that libvirt derives from them.
 */
import { DriverError } from '../../../driver-error.js';
import type { Disk } from './device.js';
import type { Domain } from '../domain.js';

/**
 * For each bus: the prefix of its targets, and its number of places. Disks can be added only to
 * these buses.
 */
const buses: Readonly<Record<string, { readonly prefix: string; readonly places: number }>> = {
  virtio: { prefix: 'vd', places: 26 },
  sata: { prefix: 'sd', places: 26 },
  scsi: { prefix: 'sd', places: 26 },
  usb: { prefix: 'sd', places: 26 },
  ide: { prefix: 'hd', places: 4 },
};

/**
 * Returns the first target of a bus that no disk has, and whose place on the bus is free, too. libvirt
 * derives the place from the target.
 * @param domains the definition, and the running machine if it runs.
 * @throws {DriverError} unsupported, if disks cannot be added to this bus; noPlace, if the bus is full.
 */
export function freeDiskTarget(domains: readonly Domain[], bus: string): string {
  const kind = buses[bus];
  const disks = domains.flatMap(({ devices }) => devices.disks);
  const names = new Set(disks.map(({ target }) => target));
  const places = new Set(disks.flatMap((disk) => (disk.bus === bus ? placeOf(disk) : [])));
  const doing = `adding a disk to ${domains[0]?.name ?? 'the machine'}`;
  if (kind === undefined) throw new DriverError('unsupported', `${doing}: no disk can be added to bus ${bus}`);
  for (let index = 0; index < kind.places; index += 1) {
    const name = `${kind.prefix}${String.fromCharCode('a'.charCodeAt(0) + index)}`;
    if (!names.has(name) && !places.has(derivedPlace(bus, index))) return name;
  }
  throw new DriverError('noPlace', `${doing}: bus ${bus} has no free place`);
}

function placeOf({ address }: Disk): readonly string[] {
  return address?.type === 'drive' ? [[address.controller, address.bus, address.target, address.unit].join('/')] : [];
}

/**
 * Returns controller, bus, target and unit, as virDomainDiskDefAssignAddress does. Disks on VirtIO
 * and USB have no such places.
 */
function derivedPlace(bus: string, index: number): string {
  if (bus === 'ide') return [0, Math.floor(index / 2), 0, index % 2].join('/');
  if (bus === 'sata') return [Math.floor(index / 6), 0, 0, index % 6].join('/');
  if (bus !== 'scsi') return '';
  // A bus has 15 units, because the controller uses unit 7.
  const unit = index % 15;
  return [Math.floor(index / 15), 0, 0, unit < 7 ? unit : unit + 1].join('/');
}
