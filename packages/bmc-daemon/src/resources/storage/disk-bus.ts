/** Groups the disks of a machine by bus, for SimpleStorage and Storage. */
import type { DiskSnapshot } from '../../drivers/snapshot/hardware-snapshot.js';
import type { SystemWith } from '../details.js';
import { redfishError } from '../../redfish/messages/errors.js';

/** A bus of a machine and its disks. */
export interface DiskBus {
  /** libvirt's name, for example `virtio`; also the id of the SimpleStorage and the Storage. */
  readonly id: string;
  readonly disks: readonly DiskSnapshot[];
}

/** Display names of the buses. */
const names: Readonly<Record<string, string>> = {
  virtio: 'VirtIO',
  sata: 'SATA',
  scsi: 'SCSI',
  ide: 'IDE',
  usb: 'USB',
  nvme: 'NVMe',
  // The driver of OpenStack uses this name, because Nova does not report the bus of a disk.
  local: 'Local',
  volume: 'Cinder',
};

/** Returns the display name of a bus. Unknown buses show their libvirt name. */
export function busName(id: string): string {
  return names[id] ?? id;
}

/**
 * Returns DMTF's Protocol of a bus; `OEM` if DMTF has no value for it.
 * @see DSP2046, Protocol; https://libvirt.org/formatdomain.html#hard-drives-floppy-disks-cdroms
 */
export function busProtocol(id: string): string {
  return protocols[id] ?? 'OEM';
}

const protocols: Readonly<Record<string, string>> = { sata: 'SATA', usb: 'USB', nvme: 'NVMe' };

/** Bus for the first disk of a machine. All common machine types of QEMU support it. */
export const defaultBus = 'virtio';

/**
 * Returns the buses with at least one disk, in the order of the definition. Ignores drives with
 * removable media, because Ironic would select a large ISO image as its installation disk.
 */
export function diskBuses(disks: readonly DiskSnapshot[]): readonly DiskBus[] {
  const fixed = disks.filter(({ device }) => device === 'disk' || device === 'lun');
  return [...new Set(fixed.map(({ bus }) => bus))].map((id) => ({ id, disks: fixed.filter(({ bus }) => bus === id) }));
}

/** Returns a bus of a machine. @throws {RedfishError} 404 if the machine has no disk on the bus. */
export function findBus({ disks }: SystemWith<'disks'>, id: string): DiskBus {
  const bus = diskBuses(disks).find((candidate) => candidate.id === id);
  if (bus === undefined) throw redfishError('ResourceNotFound', 'SimpleStorage', id);
  return bus;
}
