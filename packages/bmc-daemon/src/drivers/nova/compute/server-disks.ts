/** The disks of a server, as far as Nova knows them. */
import type { DiskSnapshot } from '../../snapshot/hardware-snapshot.js';
import type { Server } from './server.js';

/**
 * The bus of disks on the storage of the compute host. Nova does not report the bus that the
 * guest sees.
 */
const LOCAL_BUS = 'local';
/** The bus of Cinder's volumes. */
export const VOLUME_BUS = 'volume';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** Converts GiB to bytes. Returns null for 0, which means unknown, and for an invalid or too large number. */
export function bytesOfGib(count: number): number | null {
  return sizeOf(count * GIB);
}

/**
 * Returns the disks of the flavor and the attached volumes. A server that boots from a volume has no root disk of
 * its flavor. Nova does not know the sizes of volumes.
 */
export function disksOf({
  flavor,
  imageId,
  volumeIds,
}: Pick<Server, 'flavor' | 'imageId' | 'volumeIds'>): DiskSnapshot[] {
  const { diskGiB, ephemeralGiB, swapMiB } = flavor;
  return [
    // If the disk size of the flavor is 0, the root disk is as large as the image. Nova's answer does
    // not contain this size, so the capacity is null.
    ...(imageId === null ? [] : [disk('root', LOCAL_BUS, bytesOfGib(diskGiB))]),
    ...(ephemeralGiB > 0 ? [disk('ephemeral', LOCAL_BUS, bytesOfGib(ephemeralGiB))] : []),
    ...(swapMiB > 0 ? [disk('swap', LOCAL_BUS, sizeOf(swapMiB * MIB))] : []),
    ...volumeIds.map((id) => ({ ...disk(id, VOLUME_BUS, null), source: id, serial: id })),
  ];
}

const sizeOf = (bytes: number): number | null => (Number.isSafeInteger(bytes) && bytes > 0 ? bytes : null);

function disk(target: string, bus: string, capacityBytes: number | null): DiskSnapshot {
  return {
    target,
    device: 'disk',
    bus,
    source: null,
    serial: null,
    readonly: false,
    capacityBytes,
    indicator: null,
    label: null,
    storage: null,
    pending: false,
  };
}
