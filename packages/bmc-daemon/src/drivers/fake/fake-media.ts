/** Virtual media of machines in memory. */
import { setImmediate } from 'node:timers/promises';
import { imageName, storedUrl, type ImageRequest } from '../../media/image.js';
import { DriverError } from '../driver-error.js';
import type { MediaControl } from '../media-control.js';
import type { InsertOptions, OperationOptions } from '../operation-options.js';
import type { MachineQueue } from '../queue/machine-queue.js';
import type { BootSnapshot } from '../snapshot/boot-snapshot.js';
import type { MediaSnapshot, MediaChange, MediaDevice } from '../snapshot/media-snapshot.js';
import type { CompleteSnapshot, SystemRef } from '../snapshot/system-snapshot.js';
import { emptyDrive } from './sample-machines.js';

interface FakeMediaOptions {
  /** @throws {DriverError} notFound. */
  readonly find: (id: string) => CompleteSnapshot;
  readonly update: (uuid: string, change: Partial<CompleteSnapshot>) => void;
  readonly queue: MachineQueue;
  /** Waits for the planned delay, or rejects with the planned failure. Undefined if nothing is planned. */
  readonly before: (
    operation: 'insert' | 'eject' | 'change',
    machine: SystemRef,
    signal?: AbortSignal,
  ) => Promise<void> | undefined;
  /** Fetches an image, or rejects. */
  readonly fetchImage: (image: ImageRequest, options: InsertOptions) => Promise<void>;
}

/** A {@link MediaControl} whose drives are members of the snapshots. */
export class FakeMedia implements MediaControl {
  readonly #options: FakeMediaOptions;

  constructor(options: FakeMediaOptions) {
    this.#options = options;
  }

  async insert(id: string, device: MediaDevice, image: ImageRequest, options: InsertOptions = {}): Promise<void> {
    const machine = this.#options.find(id);
    const { uuid } = machine;
    const insert = async (signal: AbortSignal): Promise<void> => {
      const current = this.drive(uuid, device);
      if (current.inserted) {
        const wanted = withImage(current, image);
        if (current.image === wanted.image && current.writeProtected === wanted.writeProtected) return;
        throw new DriverError('mediaInUse', 'inserting an image: the drive holds another image');
      }
      await this.#options.before('insert', machine, signal);
      await this.#options.fetchImage(image, { ...options, signal });
      this.#setDrive(uuid, withImage(this.drive(uuid, device), image));
    };
    await this.#options.queue.insert(machine, device, insert, options);
  }

  async eject(id: string, device: MediaDevice, options: OperationOptions = {}): Promise<void> {
    const machine = this.#options.find(id);
    const { uuid } = machine;
    const eject = async (): Promise<void> => {
      await (this.#options.before('eject', machine, options.signal) ?? setImmediate());
      this.#setDrive(uuid, withoutImage(this.drive(uuid, device)));
    };
    await this.#options.queue.eject(machine, device, eject, options);
  }

  async set(id: string, device: MediaDevice, change: MediaChange): Promise<void> {
    await setImmediate();
    const machine = this.#options.find(id);
    await this.#options.before('change', machine);
    const { uuid } = machine;
    const drive = this.drive(uuid, device);
    this.#setDrive(uuid, { ...drive, ...change(drive) });
  }

  /** Returns a drive of a machine. @throws {DriverError} notFound; unsupported, if it has no such drive. */
  drive(uuid: string, device: MediaDevice): MediaSnapshot {
    const drive = this.#options.find(uuid).media.find((candidate) => candidate.device === device);
    if (drive === undefined) {
      throw new DriverError('unsupported', `looking up the drive ${device}: the machine has no such drive`);
    }
    return drive;
  }

  #setDrive(uuid: string, drive: MediaSnapshot): void {
    const { media, boot } = this.#options.find(uuid);
    this.#options.update(uuid, {
      media: media.map((current) => (current.device === drive.device ? drive : current)),
      ...(drive.device === 'cdrom' ? {} : { boot: withDrive(boot, drive) }),
    });
  }
}

/** Returns a drive with an image. */
export function withImage(drive: MediaSnapshot, image: ImageRequest): MediaSnapshot {
  return {
    ...drive,
    inserted: true,
    image: storedUrl(image.url),
    imageName: imageName(image.url),
    // A CD is always read-only.
    writeProtected: drive.device === 'cdrom' || image.writeProtected,
    viaUri: true,
    transferMethod: image.stream === true ? 'stream' : 'upload',
  };
}

/** Returns the drive after an eject: empty, with its stored download settings. */
export function withoutImage({ device, verifyCertificate, certificates }: MediaSnapshot): MediaSnapshot {
  return { ...emptyDrive(device), verifyCertificate, certificates };
}

/**
 * Returns the boot settings after a change of a floppy drive or a USB stick. As with libvirt, a floppy
 * drive appears with its first disk, and is never removed. A USB stick exists only with its image.
 */
function withDrive(boot: BootSnapshot, { device, inserted }: MediaSnapshot): BootSnapshot {
  const [kind, name] = device === 'floppy' ? (['fd', 'fda'] as const) : (['usb', 'sdu'] as const);
  const stays = device === 'floppy' && boot.available.includes(kind);
  const others = boot.options.filter((option) => option.name !== name);
  if (!inserted && !stays) {
    const order = boot.order.filter((key) => key !== `disk:${name}`);
    return { ...boot, available: boot.available.filter((known) => known !== kind), options: others, order };
  }
  return {
    ...boot,
    available: [...boot.available.filter((known) => known !== kind), kind],
    options: [...others, { key: `disk:${name}`, kind, name, path: null }],
  };
}
