/** The disks of a machine by the bus that they are on: what SimpleStorage and Storage both show. */
import type { DiskSnapshot, SystemSnapshot } from '../drivers/driver.js';
import { refuse } from '../redfish/errors.js';

export interface DiskBus {
  /** libvirt's name, `virtio`, which is the id of the SimpleStorage and the Storage. */
  readonly id: string;
  readonly disks: readonly DiskSnapshot[];
}

/** How people spell the buses. */
const names: Readonly<Record<string, string>> = {
  virtio: 'VirtIO',
  sata: 'SATA',
  scsi: 'SCSI',
  ide: 'IDE',
  usb: 'USB',
  nvme: 'NVMe',
};

export function busName(id: string): string {
  return names[id] ?? id;
}

/** DMTF's protocol of a bus; OEM is its word for what it has no word for. */
export function busProtocol(id: string): string {
  return protocols[id] ?? 'OEM';
}

const protocols: Readonly<Record<string, string>> = { sata: 'SATA', usb: 'USB', nvme: 'NVMe' };

/** Where the first disk of a machine goes: every machine type of QEMU that is in use has it. */
export const defaultBus = 'virtio';

/**
 * Buses with at least one disk, in the order of the definition. Drives with removable media stay out: Ironic would take a large
 * ISO image for a disk that it can install to.
 */
export function diskBuses(disks: readonly DiskSnapshot[]): readonly DiskBus[] {
  const fixed = disks.filter(({ device }) => device === 'disk' || device === 'lun');
  return [...new Set(fixed.map(({ bus }) => bus))].map((id) => ({ id, disks: fixed.filter(({ bus }) => bus === id) }));
}

/** @throws {RedfishError} 404 where the machine has no disk on such a bus. */
export function findBus(system: SystemSnapshot, id: string): DiskBus {
  const bus = diskBuses(system.disks).find((candidate) => candidate.id === id);
  if (bus === undefined) throw refuse('ResourceNotFound', 'SimpleStorage', id);
  return bus;
}
