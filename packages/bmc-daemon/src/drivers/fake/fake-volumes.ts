/** Disks of machines in memory. */
import { setImmediate } from 'node:timers/promises';
import { DriverError } from '../driver-error.js';
import type { DiskSnapshot, IndicatorState } from '../snapshot/hardware-snapshot.js';
import type { OperationOptions } from '../operation-options.js';
import type { CompleteSnapshot } from '../snapshot/system-snapshot.js';
import type { NewVolume, PoolVolume, VolumeControl } from '../volume-control.js';

interface FakeVolumesOptions {
  /** @throws {DriverError} notFound. */
  readonly find: (id: string) => CompleteSnapshot;
  readonly update: (uuid: string, change: Pick<CompleteSnapshot, 'disks'>) => void;
}

/** Folder of the sample machines' disks. */
const FOLDER = '/var/lib/libvirt/images';

const PREFIXES: Readonly<Record<string, string>> = { virtio: 'vd', sata: 'sd', scsi: 'sd', usb: 'sd', ide: 'hd' };

/** A {@link VolumeControl} with one storage pool: {@link FOLDER}. */
export class FakeVolumes implements VolumeControl {
  readonly #options: FakeVolumesOptions;
  /** Volumes that no machine has, as `pool/name`. */
  readonly #unattached = new Set<string>();

  constructor(options: FakeVolumesOptions) {
    this.#options = options;
  }

  async createVolume(id: string, volume: NewVolume, { signal }: OperationOptions = {}): Promise<string> {
    await setImmediate();
    signal?.throwIfAborted();
    const { uuid, name, disks, state } = this.#options.find(id);
    const { bus, capacityBytes, provisioning, storage } = volume;
    const prefix = PREFIXES[bus];
    const target = Array.from({ length: 26 }, (_, index) => `${prefix ?? ''}${String.fromCharCode(97 + index)}`).find(
      (candidate) => !disks.some((disk) => disk.target === candidate),
    );
    if (prefix === undefined) {
      throw new DriverError('unsupported', `adding a disk to ${name}: no disk can be added to bus ${bus}`);
    }
    if (target === undefined)
      throw new DriverError('noPlace', `adding a disk to ${name}: bus ${bus} has no free place`);
    const added: DiskSnapshot = {
      target,
      device: 'disk',
      bus,
      source: `${FOLDER}/${name}-${target}.${provisioning === 'thin' ? 'qcow2' : 'img'}`,
      serial: null,
      readonly: false,
      capacityBytes,
      indicator: null,
      label: volume.name,
      storage,
      // As with QEMU, sata and ide have no hot-plug: the guest gets the disk at its next start.
      pending: state !== 'shutoff' && (bus === 'sata' || bus === 'ide'),
    };
    this.#options.update(uuid, { disks: [...disks, added] });
    return target;
  }

  async removeVolume(id: string, target: string): Promise<void> {
    await setImmediate();
    const { uuid, name, disks } = this.#options.find(id);
    const disk = this.#disk(id, target);
    if (disk.source?.startsWith(`${FOLDER}/`) !== true) {
      const why = `no storage pool of the host has ${disk.source ?? 'it'}`;
      throw new DriverError('unsupported', `removing disk ${target} of machine ${name}: ${why}`);
    }
    this.#options.update(uuid, { disks: disks.filter((candidate) => candidate !== disk) });
  }

  async setDriveIndicator(id: string, target: string, indicator: IndicatorState): Promise<void> {
    await setImmediate();
    const { uuid, disks } = this.#options.find(id);
    const disk = this.#disk(id, target);
    this.#options.update(uuid, { disks: disks.map((each) => (each === disk ? { ...each, indicator } : each)) });
  }

  async provideVolume(_id: string, { pool, name }: PoolVolume): Promise<void> {
    await setImmediate();
    this.#unattached.add(`${pool ?? ''}/${name}`);
  }

  /** Volumes from {@link provideVolume}, as `pool/name`. No machine has them. */
  get unattached(): readonly string[] {
    return [...this.#unattached];
  }

  #disk(id: string, target: string): DiskSnapshot {
    const { name, disks } = this.#options.find(id);
    const disk = disks.find((candidate) => candidate.target === target);
    if (disk === undefined)
      throw new DriverError('notFound', `looking up disk ${target} of machine ${name}: no such disk`);
    return disk;
  }
}
