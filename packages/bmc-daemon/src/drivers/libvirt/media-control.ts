/** Images in the drives of real machines, of those that run at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { storedUrl, type ImageRequest } from '../../media/image.js';
import { DriverError, type InsertOptions, type OperationOptions } from '../driver.js';
import type { MediaChange, MediaDevice } from '../media-snapshot.js';
import type { PowerMediaQueue } from '../power-media-queue.js';
import type { BootControl } from './boot-control.js';
import { editRecord, readDefinition, saveDefinition, type Definition } from './definition.js';
import type { Host } from './host.js';
import type { ImagePlace } from './pool-images.js';
import type { ImageLease, ImageStore } from './image-store.js';
import type { ImageStreams } from './image-stream.js';
import type { Instance } from './instance.js';
import type { Machine } from './inventory.js';
import { changeDrive, takeImageOut, plugIn } from './drive-hotplug.js';
import { driveState } from './drive-state.js';
import { withEjection, withInsertion, type Insertion } from './media-definition.js';
import type { Disk } from './xml/device.js';
import { readDomain } from './xml/domain.js';
import { canHaveDrive, FLOPPY_BYTES, isStick, stickTarget } from './xml/removable-drive.js';
import { mediaRecord } from './xml/media-record.js';
import { mediaSettings, withMediaSettings } from './xml/media-settings-record.js';
import { withIntent, withoutIntent } from './xml/intent-record.js';
import { readMetadata, withRecord } from './xml/metadata.js';

/** What images are inserted by. */
export interface MediaControlOptions {
  readonly host: Host;
  readonly boot: BootControl;
  readonly store: ImageStore;
  readonly streams: ImageStreams;
  /** As for power: an insert holds the machine's turn from the download on. */
  readonly queue: PowerMediaQueue;
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
        lease.release();
        // The image that was fetched goes with the insert that failed.
        await this.#options.store.removeUnused();
        throw image.stream === true ? this.#options.streams.translate(error) : error;
      }
      lease.release();
    };
    await this.#options.queue.insert(machine, device, insert, options);
  }

  /** @throws {DriverError} unavailable, unsupported; the signal's reason while it waits. */
  async eject(machine: Machine, device: MediaDevice, options: OperationOptions): Promise<void> {
    const { store, queue } = this.#options;
    const eject = async (): Promise<void> => {
      await this.#host.edits.run(machine.uuid, () => again(() => this.#eject(machine, device)));
      await store.removeUnused();
    };
    await queue.eject(machine, device, eject, options);
  }

  /** @see HypervisorDriver.setMedia */
  async set(machine: Machine, device: MediaDevice, change: MediaChange): Promise<void> {
    await this.#host.edits.run(machine.uuid, () =>
      editRecord(this.#host, machine, (record) => {
        const settings = change(mediaSettings(record.mediaSettings, device));
        return { ...record, mediaSettings: withMediaSettings(record.mediaSettings, device, settings) };
      }),
    );
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
    const { source } = driveState(definition, device, media);
    if (source === null) return false;
    const isOurs = media?.source === source && media.image === storedUrl(image.url);
    // A CD is read-only either way.
    if (isOurs && (device === 'cdrom' || media.writeProtected === image.writeProtected)) return true;
    throw new DriverError('mediaInUse', `inserting an image into machine ${name}: its drive holds another one`);
  }

  async #insert(machine: Machine, device: MediaDevice, image: ImageRequest, place: ImagePlace): Promise<void> {
    const definition = await readDefinition(machine, this.#host.timeoutMs);
    // Another client of libvirt may have filled the drive during the download.
    if (this.#holds(machine, device, definition, image)) return;
    const { xml, instance } = definition;
    const domains = [readDomain(xml), ...(instance === null ? [] : [instance.domain])];
    const stick = device === 'usb' ? stickTarget(domains) : '';
    const insertion: Insertion = { device, image, place, stick };
    const { target, xml: to } = withInsertion(machine, definition, insertion);
    await this.#carryOut(machine, { definition, to, device }, async () => {
      if (instance !== null) await this.#give(machine, { ...definition, instance }, target, insertion);
    });
  }

  async #eject(machine: Machine, device: MediaDevice): Promise<void> {
    const definition = await readDefinition(machine, this.#host.timeoutMs);
    const { xml, instance } = definition;
    const media = mediaRecord(readMetadata(xml).media, device);
    const { running } = driveState(definition, device, media);
    const full = (instance?.domain.devices.disks ?? []).filter(
      (disk) =>
        isStick(disk, device === 'cdrom' ? undefined : media) ||
        (disk.device === device && isFull(disk) && (disk.key === running?.key || disk.source.name === media?.source)),
    );
    await this.#carryOut(machine, { definition, to: withEjection(machine, xml, device), device }, async () => {
      for (const { target } of full) await takeImageOut(this.#host, machine, definition, target);
    });
  }

  /**
   * Changes the definition and then the running guest. The definition names the guest's drive meanwhile, so that the next daemon
   * finishes the change. A failure puts the definition back.
   */
  async #carryOut(
    machine: Machine,
    { definition, to, device }: { readonly definition: Definition; readonly to: string; readonly device: MediaDevice },
    changeGuest: () => Promise<void>,
  ): Promise<void> {
    const { hypervisor, timeoutMs } = this.#host;
    const { xml: from, instance } = definition;
    const save = (change: { readonly from: string; readonly to: string }): Promise<void> =>
      saveDefinition(hypervisor, machine, change, timeoutMs);
    if (instance === null || !machine.persistent) {
      await changeGuest();
      await save({ from, to });
      if (instance !== null) await this.#options.boot.applyOrder(machine);
      return;
    }
    const intent = { kind: 'drive', device } as const;
    const marked = withRecord(to, (record) => ({ ...record, intents: withIntent(record.intents, intent) }));
    await save({ from, to: marked });
    try {
      await changeGuest();
    } catch (error) {
      await save({ from: marked, to: from }).catch((reason: unknown) => {
        this.#host.log.warn(`putting the definition of machine ${machine.name} back failed`, { error: reason });
      });
      throw error;
    }
    // Reads again: the guest may have taken its time, and a drive that was plugged in may be what the machine boots from next.
    const present = await readDefinition(machine, timeoutMs);
    const done = withRecord(present.xml, (record) => ({ ...record, intents: withoutIntent(record.intents, intent) }));
    await save({ from: present.xml, to: done }).catch((error: unknown) => {
      this.#host.log.warn(`the record of machine ${machine.name} still names a change that is done`, { error });
    });
    if (present.instance !== null) await this.#options.boot.applyOrderIfRunning(machine, present.instance, done);
  }

  /** Gives the image to the running guest. @param target name of the definition's drive, which one that is plugged in gets too. */
  async #give(
    machine: Machine,
    definition: Definition & { readonly instance: Instance },
    target: string,
    { device, image, place }: Insertion,
  ): Promise<void> {
    const { instance } = definition;
    const { running } = driveState(definition, device, undefined);
    if (running === null) {
      await plugIn(this.#host, machine, instance, { device, target, readonly: image.writeProtected }, place.source);
      return;
    }
    await changeDrive(this.#host, machine, instance, { target: running.target, media: place.source });
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
