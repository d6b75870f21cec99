/** Inserts images into the drives of libvirt's machines, running or not, and ejects them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { storedUrl, type ImageRequest } from '../../../media/image.js';
import { DriverError } from '../../driver-error.js';
import type { InsertOptions, OperationOptions } from '../../operation-options.js';
import type { MediaChange, MediaDevice } from '../../snapshot/media-snapshot.js';
import type { BootControl } from '../boot/boot-control.js';
import {
  editRecord,
  readDefinition,
  readForChange,
  readInactiveXml,
  saveDefinition,
  type Definition,
} from '../machine/definition.js';
import type { Host } from '../machine/host.js';
import type { ImagePlace } from './image-volumes.js';
import type { ImageStore } from './image-store.js';
import type { ImageLease } from './stored-images.js';
import type { ImageStreams } from './image-stream.js';
import type { Instance } from '../machine/instance.js';
import type { Machine } from '../machine/inventory.js';
import { changeDrive, ejectFromGuest, needsUnplug, plugIn } from './drive-hotplug.js';
import { driveState } from './drive-state.js';
import { checkEarly } from './early-check.js';
import { ejectMedia, insertMedia, type Insertion } from './media-definition.js';
import type { SystemReader } from '../read/system-reader.js';
import type { Disk } from '../xml/devices/device.js';
import { DefinitionEdit } from '../xml/definition-edit.js';
import { readDomain } from '../xml/domain.js';
import { canHaveDrive, FLOPPY_BYTES, isStick, stickTarget } from '../xml/devices/removable-drive.js';
import { mediaRecord } from '../xml/metadata/media-record.js';
import { mediaSettings, withMediaSettings } from '../xml/metadata/media-settings-record.js';
import { withIntent, withoutIntent } from '../xml/metadata/intent-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';

/** Dependencies of {@link LibvirtMedia}. */
interface LibvirtMediaOptions {
  readonly host: Host;
  readonly reader: Pick<SystemReader, 'lastReading'>;
  readonly boot: BootControl;
  readonly store: ImageStore;
  readonly streams: ImageStreams;
}

/** A change of a drive, in the definition and in the running guest. */
interface GuestChange {
  readonly definition: Definition;
  readonly edit: DefinitionEdit;
  readonly device: MediaDevice;
  /** Whether the guest gets or loses a drive, and not only an image. */
  readonly plugs: boolean;
}

/** Maximum number of attempts of a change that conflicts with a start, a stop or a reset. */
const MAX_ATTEMPTS = 4;

/** Images of the drives of one host's machines. */
export class LibvirtMedia {
  readonly #options: LibvirtMediaOptions;
  readonly #host: Host;

  constructor(options: LibvirtMediaOptions) {
    this.#options = options;
    this.#host = options.host;
  }

  /**
   * Inserts an image. Does nothing if the same image is already in the drive.
   * @throws {DriverError} mediaInUse, insertFailed, a media kind, storageFull, noPlace, unsupported, invalid,
   *   conflict, notFound, unavailable; the kind of libvirt's error; the signal's reason.
   */
  async insert(machine: Machine, device: MediaDevice, image: ImageRequest, options: InsertOptions): Promise<void> {
    const insert = async (signal: AbortSignal): Promise<void> => {
      if (!(await checkEarly(this.#options, machine, (definition) => this.#lacks(machine, device, definition, image))))
        return;
      const lease = await this.acquire(device, image, { ...options, signal });
      try {
        await this.#host.queue.edit(machine.uuid, () =>
          retryOnConflict(() => this.#insert(machine, device, image, lease)),
        );
      } catch (error) {
        lease.release();
        // The insert has failed, so the store removes its image, unless another machine uses it.
        await this.#options.store.removeUnused();
        throw image.stream === true ? this.#options.streams.translate(error) : error;
      }
      lease.release();
    };
    await this.#host.queue.insert(machine, device, insert, options);
  }

  /**
   * Ejects an image.
   * @throws {DriverError} unavailable, unsupported, conflict, notFound; the kind of libvirt's error; the
   *   signal's reason, if it aborts while the eject waits in the queue.
   */
  async eject(machine: Machine, device: MediaDevice, options: OperationOptions): Promise<void> {
    const { store } = this.#options;
    const eject = async (): Promise<void> => {
      await this.#host.queue.edit(machine.uuid, () => retryOnConflict(() => this.#eject(machine, device)));
      await store.removeUnused();
    };
    await this.#host.queue.eject(machine, device, eject, options);
  }

  /** @see MediaControl.set */
  async set(machine: Machine, device: MediaDevice, change: MediaChange): Promise<void> {
    await this.#host.queue.edit(machine.uuid, () =>
      editRecord(this.#host, machine, (record) => {
        const settings = change(mediaSettings(record.mediaSettings, device));
        return { ...record, mediaSettings: withMediaSettings(record.mediaSettings, device, settings) };
      }),
    );
  }

  /**
   * Fetches an image, or opens it as a stream. A guest that can write to the image gets a private copy,
   * which the eject removes. Floppy images are always private, because a drive of a running guest cannot
   * become read-only.
   * @returns the image; the caller releases it.
   * @throws {DriverError} unsupported, if the guest could write to a stream; the errors of
   *   {@link ImageStore.acquire} and {@link ImageStreams.open}.
   */
  async acquire(
    device: MediaDevice,
    image: ImageRequest,
    options: InsertOptions & { readonly signal: AbortSignal },
  ): Promise<ImageLease> {
    const { store, streams } = this.#options;
    if (image.stream === true) {
      if (device === 'floppy' || (device === 'usb' && !image.writeProtected)) {
        const message = 'streaming the image: a guest can write to this drive, which requires Upload';
        throw new DriverError('unsupported', message, { field: 'transferMethod' });
      }
      return await streams.open(image, options.signal);
    }
    if (device === 'floppy') return await store.acquire(image, { ...options, own: true, maxBytes: FLOPPY_BYTES });
    return await store.acquire(image, { ...options, own: device === 'usb' && !image.writeProtected });
  }

  /**
   * Returns whether the drive does not contain this image yet.
   * @throws {DriverError} unsupported, if the machine cannot have the drive; mediaInUse.
   */
  #lacks(machine: Machine, device: MediaDevice, definition: Definition, image: ImageRequest): boolean {
    if (canHaveDrive(readDomain(definition.xml), device)) return !this.#holds(machine, device, definition, image);
    const what = `inserting an image into machine ${machine.name}`;
    throw new DriverError('unsupported', `${what}: it cannot have a ${device} drive`);
  }

  /**
   * Returns whether this image is already in the drive.
   * @throws {DriverError} mediaInUse, if another image is in the drive, or the same image with
   *   another write protection.
   */
  #holds({ name }: Machine, device: MediaDevice, definition: Definition, image: ImageRequest): boolean {
    const media = mediaRecord(readMetadata(definition.xml).media, device);
    const { source } = driveState(definition, device, media);
    if (source === null) return false;
    const isSameImage = media?.source === source && media.image === storedUrl(image.url);
    // A CD is always read-only, so a request with another write protection asks for the same image.
    if (isSameImage && (device === 'cdrom' || media.writeProtected === image.writeProtected)) return true;
    const held = isSameImage ? 'this image with another write protection' : 'another image';
    throw new DriverError('mediaInUse', `inserting an image into machine ${name}: its drive holds ${held}`);
  }

  /**
   * Reads the machine without the cached state, because the event of a start may not have arrived
   * yet.
   */
  async #read(machine: Machine): Promise<Definition> {
    this.#host.inventory.forgetState(machine.uuid);
    return await readForChange(this.#host, machine);
  }

  async #insert(machine: Machine, device: MediaDevice, image: ImageRequest, place: ImagePlace): Promise<void> {
    const definition = await this.#read(machine);
    // Another libvirt client may have inserted an image during the download.
    if (this.#holds(machine, device, definition, image)) return;
    const { xml, instance } = definition;
    const domains = [readDomain(xml), ...(instance === null ? [] : [instance.domain])];
    const stick = device === 'usb' ? stickTarget(domains) : '';
    const insertion: Insertion = { device, image, place, stick };
    const edit = new DefinitionEdit(xml);
    const target = insertMedia(machine, edit, instance, insertion);
    const plugs = driveState(definition, device, undefined).running === null;
    await this.#carryOut(machine, { definition, edit, device, plugs }, async () => {
      if (instance !== null) await this.#putIntoGuest(machine, { ...definition, instance }, target, insertion);
    });
  }

  async #eject(machine: Machine, device: MediaDevice): Promise<void> {
    const definition = await this.#read(machine);
    const { xml, instance } = definition;
    const media = mediaRecord(readMetadata(xml).media, device);
    const { running } = driveState(definition, device, media);
    const fullDrives = (instance?.domain.devices.disks ?? []).filter(
      (disk) =>
        isStick(disk, device === 'cdrom' ? undefined : media) ||
        (disk.device === device && hasImage(disk) && (disk.key === running?.key || disk.source.name === media?.source)),
    );
    const plugs = fullDrives.some((drive) => needsUnplug(drive, readDomain(xml)));
    const edit = new DefinitionEdit(xml);
    ejectMedia(machine, edit, device);
    await this.#carryOut(machine, { definition, edit, device, plugs }, async () => {
      for (const { target } of fullDrives) await ejectFromGuest(this.#host, machine, definition, target);
    });
  }

  /**
   * Changes the definition and then the running guest. Until the guest is changed, the definition
   * contains an intent, so that the daemon can complete the change after a restart. If the change of the guest
   * fails, restores the definition. A machine that is off needs no intent. Changes a transient machine in
   * another order: the guest first, then the record.
   */
  async #carryOut(
    machine: Machine,
    { definition, edit, device, plugs }: GuestChange,
    changeGuest: () => Promise<void>,
  ): Promise<void> {
    const { timeoutMs } = this.#host;
    const { xml: from, instance } = definition;
    const save = (change: { readonly from: string; readonly to: string }): Promise<void> =>
      saveDefinition(this.#host, machine, change);
    if (instance === null || !machine.persistent) {
      await changeGuest();
      await save({ from, to: edit.text() });
      if (instance !== null) await this.#options.boot.applyOrder(machine);
      return;
    }
    const intent = { kind: 'drive', device } as const;
    edit.editRecord((record) => ({ ...record, intents: withIntent(record.intents, intent) }));
    const to = edit.text();
    await save({ from, to });
    try {
      await changeGuest();
    } catch (error) {
      await save({ from: to, to: from }).catch((reason: unknown) => {
        this.#host.log.warn(`restoring the definition of machine ${machine.name} failed`, { error: reason });
      });
      throw error;
    }
    // Reads the definition again, because another client may have changed it during the change of the guest.
    // After a plug, also reads the instance, because its boot order may contain the new drive.
    const current = plugs
      ? await readDefinition(machine, timeoutMs)
      : { xml: await readInactiveXml(machine, timeoutMs), instance };
    const done = new DefinitionEdit(current.xml);
    done.editRecord((record) => ({ ...record, intents: withoutIntent(record.intents, intent) }));
    await save({ from: current.xml, to: done.text() }).catch((error: unknown) => {
      this.#host.log.warn(`removing a complete change from the record of machine ${machine.name} failed`, { error });
    });
    if (current.instance !== null) await this.#options.boot.applyOrderIfRunning(machine, current.instance, done);
  }

  /**
   * Puts the image into the running guest.
   * @param target the target of the drive in the definition. A CD drive or USB stick that is plugged in gets the
   *   same target.
   */
  async #putIntoGuest(
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
 * Repeats a change if the machine stops, starts or is reset after its definition was read. A reset
 * closes the tray that libvirt has just opened. Makes at most 4 attempts, with short pauses.
 * @throws the error of the last attempt.
 */
async function retryOnConflict(change: () => Promise<void>): Promise<void> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      await change();
      return;
    } catch (error) {
      const isTemporary =
        error instanceof DriverError && (error.kind === 'conflict' || /[Tt]ray of .* is not open/.test(error.message));
      if (!isTemporary || attempts === MAX_ATTEMPTS) throw error;
      await sleep(attempts * 100);
    }
  }
}

function hasImage(drive: Disk): boolean {
  return drive.source.name !== null;
}
