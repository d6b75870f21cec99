/** Images in the drives of real machines, of those that run at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { storedUrl, type ImageRequest } from '../../media/image.js';
import { DriverError, type InsertOptions, type OperationOptions } from '../driver.js';
import type { MediaChange, MediaDevice } from '../media-drive.js';
import type { Turns } from '../turns.js';
import type { BootControl } from './boot-control.js';
import { readDefinition, saveDefinition, saveRecord, type Definition } from './definition.js';
import type { Host } from './host.js';
import type { ImagePlace } from './image-shelf.js';
import type { ImageLease, ImageStore } from './image-store.js';
import type { ImageStreams } from './image-stream.js';
import type { Machine } from './inventory.js';
import { changeDrive, takeImageOut, plugIn } from './live-drive.js';
import { driveOf } from './machine-drive.js';
import { withEjection, withInsertion, type Insertion } from './media-edit.js';
import type { Disk } from './xml/device.js';
import { readDomain } from './xml/domain.js';
import { canHaveDrive, FLOPPY_BYTES, isStick, stickTarget } from './xml/media-drive.js';
import { mediaRecord } from './xml/media-record.js';
import { mediaSettings, withMediaSettings } from './xml/media-settings-record.js';
import { readMetadata } from './xml/metadata.js';

/** What images are inserted by. */
export interface MediaControlOptions {
  readonly host: Host;
  readonly boot: BootControl;
  readonly store: ImageStore;
  readonly streams: ImageStreams;
  /** As for power: an insert holds the machine's turn from the download on. */
  readonly turns: Turns;
}

const MAX_ATTEMPTS = 4;

/** Images of the drives of one host's machines. */
export class MediaControl {
  readonly #options: MediaControlOptions;
  readonly #host: Host;

  constructor(options: MediaControlOptions) {
    this.#options = options;
    this.#host = options.host;
  }

  /** @throws {DriverError} mediaInUse, insertFailed, the media kinds, storageFull, unsupported, unavailable; the signal's reason. */
  async insert(machine: Machine, device: MediaDevice, image: ImageRequest, options: InsertOptions): Promise<void> {
    const insert = async (signal: AbortSignal): Promise<void> => {
      const definition = await readDefinition(machine, this.#host.timeoutMs);
      if (!canHaveDrive(readDomain(definition.xml), device)) {
        throw new DriverError(
          'unsupported',
          `inserting an image into machine ${machine.name}: it can have no ${device}`,
        );
      }
      if (this.#holds(machine, device, definition, image)) return;
      const lease = await this.acquire(device, image, { ...options, signal });
      try {
        await this.#host.edits.run(machine.uuid, () => again(() => this.#insert(machine, device, image, lease)));
      } catch (error) {
        throw image.stream === true ? this.#options.streams.translate(error) : error;
      } finally {
        lease.release();
      }
    };
    await this.#options.turns.insert(machine, device, insert, options);
  }

  /** @throws {DriverError} unavailable, unsupported; the signal's reason while it waits. */
  async eject(machine: Machine, device: MediaDevice, options: OperationOptions): Promise<void> {
    const { store, turns } = this.#options;
    const eject = async (): Promise<void> => {
      await this.#host.edits.run(machine.uuid, () => again(() => this.#eject(machine, device)));
      await store.removeUnused();
    };
    await turns.eject(machine, device, eject, options);
  }

  /** @see HypervisorDriver.setMedia */
  async set(machine: Machine, device: MediaDevice, change: MediaChange): Promise<void> {
    const { hypervisor, edits, timeoutMs } = this.#host;
    await edits.run(machine.uuid, async () => {
      const { xml } = await readDefinition(machine, timeoutMs);
      const record = readMetadata(xml);
      const settings = change(mediaSettings(record.mediaSettings, device));
      const changed = { ...record, mediaSettings: withMediaSettings(record.mediaSettings, device, settings) };
      await saveRecord(hypervisor, machine, xml, changed, timeoutMs);
    });
  }

  /**
   * Fetches an image. A guest that can write gets a copy of its own, which its eject drops. Floppy disks are never shared, because a
   * running floppy drive cannot be told to protect its disk.
   * @returns the image's place; the caller releases it.
   */
  async acquire(
    device: MediaDevice,
    image: ImageRequest,
    options: InsertOptions & { readonly signal: AbortSignal },
  ): Promise<ImageLease> {
    const { store, streams } = this.#options;
    if (image.stream === true) {
      if (device === 'floppy' || (device === 'usb' && !image.writeProtected)) {
        const message = 'streaming the image: what a guest can write to comes by Upload';
        throw new DriverError('unsupported', message, { field: 'transferMethod' });
      }
      return await streams.open(image, options.signal);
    }
    if (device === 'floppy') return await store.acquire(image, { ...options, own: true, maxBytes: FLOPPY_BYTES });
    return await store.acquire(image, { ...options, own: device === 'usb' && !image.writeProtected });
  }

  /** True where this very image is in the drive already. @throws {DriverError} mediaInUse where another is. */
  #holds({ name }: Machine, device: MediaDevice, definition: Definition, image: ImageRequest): boolean {
    const media = mediaRecord(readMetadata(definition.xml).media, device);
    const { source } = driveOf(definition, device, media);
    if (source === null) return false;
    const isOurs = media?.source === source && media.image === storedUrl(image.url);
    // A CD is read-only either way.
    if (isOurs && (device === 'cdrom' || media.writeProtected === image.writeProtected)) return true;
    throw new DriverError('mediaInUse', `inserting an image into machine ${name}: its drive holds another one`);
  }

  async #insert(machine: Machine, device: MediaDevice, image: ImageRequest, place: ImagePlace): Promise<void> {
    const definition = await readDefinition(machine, this.#host.timeoutMs);
    // Somebody with virsh may have been there while the image was on its way.
    if (this.#holds(machine, device, definition, image)) return;
    const { xml, instance } = definition;
    const domains = [readDomain(xml), ...(instance === null ? [] : [instance.domain])];
    const stick = device === 'usb' ? stickTarget(domains) : '';
    const insertion: Insertion = { device, image, place, stick };
    const { target } = withInsertion(machine, definition, insertion);
    const plugged = await this.#give(machine, definition, target, insertion);
    try {
      await this.#keep(machine, insertion);
    } catch (error) {
      if (plugged !== null) await takeImageOut(this.#host, machine, plugged).catch(() => undefined);
      throw error;
    }
    await this.#options.boot.tell(machine);
  }

  /**
   * Gives the image to the running guest.
   * @param target name of the definition's drive, which one that is plugged in gets too.
   * @returns name of the guest's drive; null where there is no guest, or none that a drive can be plugged into.
   */
  async #give(
    machine: Machine,
    definition: Definition,
    target: string,
    { device, image, place }: Insertion,
  ): Promise<string | null> {
    const { instance } = definition;
    if (instance === null) return null;
    const { running } = driveOf(definition, device, undefined);
    if (running === null) {
      const drive = { device, target, readonly: image.writeProtected };
      return await plugIn(this.#host, machine, instance, drive, place.source);
    }
    await changeDrive(this.#host, machine, running.target, place.source);
    return running.target;
  }

  /** Puts the image, and where it came from, into the definition. */
  async #keep(machine: Machine, insertion: Insertion): Promise<void> {
    const { hypervisor, timeoutMs } = this.#host;
    const definition = await readDefinition(machine, timeoutMs);
    const { xml: to } = withInsertion(machine, definition, insertion);
    await saveDefinition(hypervisor, machine, { from: definition.xml, to }, timeoutMs);
  }

  async #eject(machine: Machine, device: MediaDevice): Promise<void> {
    const { hypervisor, timeoutMs } = this.#host;
    const { xml, instance } = await readDefinition(machine, timeoutMs);
    const media = mediaRecord(readMetadata(xml).media, device);
    const { running } = driveOf({ xml, instance }, device, media);
    const full = (instance?.domain.devices.disks ?? []).filter(
      (disk) =>
        isStick(disk, device === 'cdrom' ? undefined : media) ||
        (disk.device === device && isFull(disk) && (disk.key === running?.key || disk.source.name === media?.source)),
    );
    for (const { target } of full) await takeImageOut(this.#host, machine, target);
    // Read again: the guest may have taken its time.
    const { xml: from } = await readDefinition(machine, timeoutMs);
    const to = withEjection(machine, from, device);
    await saveDefinition(hypervisor, machine, { from, to }, timeoutMs);
  }
}

/**
 * A change of a machine that may go off, come on or be reset between the look at it and the change: a reset closes the tray that
 * libvirt has just opened. It is looked at anew then.
 */
async function again(change: () => Promise<void>): Promise<void> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      await change();
      return;
    } catch (error) {
      const passing =
        error instanceof DriverError && (error.kind === 'conflict' || /[Tt]ray of .* is not open/.test(error.message));
      if (!passing || attempts === MAX_ATTEMPTS) throw error;
      await sleep(attempts * 100);
    }
  }
}

function isFull(drive: Disk): boolean {
  return drive.source.name !== null;
}
