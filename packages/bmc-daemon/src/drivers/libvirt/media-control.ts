/** Images in the CD drives of real machines, of those that run at once. */
import { DomainDeviceModifyFlags } from '@rackless/libvirt';
import { imageName, storedUrl, type ImageRequest } from '../../media/image.js';
import { DriverError, type InsertOptions, type OperationOptions } from '../driver.js';
import type { OperationQueue } from '../operation-queue.js';
import type { BootControl } from './boot-control.js';
import { readDefinition, saveDefinition, type Definition } from './definition.js';
import { attempt } from './failure.js';
import type { Host } from './host.js';
import type { ImagePlace } from './image-shelf.js';
import type { ImageStore } from './image-store.js';
import type { Instance } from './instance.js';
import type { Machine } from './inventory.js';
import { cdromMarkup, firstCdrom, newCdromMarkup, withCdrom, withCdromMedia, type MediaSource } from './xml/cdrom.js';
import type { Disk } from './xml/device.js';
import { readDomain } from './xml/domain.js';
import { readMetadata, withMetadata } from './xml/metadata.js';

export interface MediaControlOptions {
  readonly host: Host;
  readonly boot: BootControl;
  readonly store: ImageStore;
  /** As for power: an insert holds the machine's turn from the download on. */
  readonly turns: OperationQueue;
}

/** What a machine has in its drive: in the running guest where it runs, in the definition where not. */
interface Drive {
  readonly defined: Disk | null;
  readonly running: Disk | null;
  /** Name of what is in it; null when it is empty. */
  readonly source: string | null;
}

const MEDIA = 'media';

/** A tray that the guest has locked opens too: the medium of a BMC is pulled like a plug. */
const LIVE = DomainDeviceModifyFlags.LIVE | DomainDeviceModifyFlags.FORCE;

export class MediaControl {
  readonly #options: MediaControlOptions;
  readonly #host: Host;

  constructor(options: MediaControlOptions) {
    this.#options = options;
    this.#host = options.host;
  }

  /** @throws {DriverError} mediaInUse, the media kinds, storageFull, unsupported, unavailable; the signal's reason. */
  async insert(machine: Machine, image: ImageRequest, options: InsertOptions): Promise<void> {
    const { store, turns } = this.#options;
    const insert = async (): Promise<void> => {
      if (this.#holds(machine, await readDefinition(machine, this.#host.timeoutMs), image)) return;
      const lease = await store.acquire(image, options);
      try {
        await this.#host.edits.run(machine.uuid, () => this.#insert(machine, image, lease));
      } finally {
        lease.release();
      }
    };
    await turns.run(machine.uuid, insert, { signal: options.signal, label: MEDIA });
  }

  /** @throws {DriverError} unavailable, unsupported; the signal's reason while it waits. */
  async eject(machine: Machine, { signal }: OperationOptions): Promise<void> {
    const { store, turns } = this.#options;
    const eject = async (): Promise<void> => {
      await this.#host.edits.run(machine.uuid, () => this.#eject(machine));
      await store.removeUnused();
    };
    await turns.run(machine.uuid, eject, { signal, label: MEDIA });
  }

  /** True where this very image is in the drive already. @throws {DriverError} mediaInUse where another is. */
  #holds({ name }: Machine, definition: Definition, image: ImageRequest): boolean {
    const { source } = driveOf(definition);
    if (source === null) return false;
    const { media } = readMetadata(definition.xml);
    if (media?.source === source && media.image === storedUrl(image.url)) return true;
    throw new DriverError('mediaInUse', `inserting an image into machine ${name}: its drive holds another one`);
  }

  async #insert(machine: Machine, image: ImageRequest, place: ImagePlace): Promise<void> {
    const { hypervisor, timeoutMs } = this.#host;
    const definition = await readDefinition(machine, timeoutMs);
    // Somebody with virsh may have been there while the image was on its way.
    if (this.#holds(machine, definition, image)) return;
    const plugged = await this.#plugIn(machine, definition, place.source);
    try {
      // Read again: plugging a new drive in has changed it.
      const { xml: from } = await readDefinition(machine, timeoutMs);
      const { target, xml } = withMedia(from, plugged, place.source);
      const media = {
        drive: target,
        image: storedUrl(image.url),
        imageName: imageName(image.url),
        source: place.name,
        writeProtected: image.writeProtected,
      };
      const to = withMetadata(xml, { ...readMetadata(xml), media });
      await saveDefinition(hypervisor, machine, { from, to }, timeoutMs);
    } catch (error) {
      if (plugged !== null) await this.#change(machine, plugged, null).catch(() => undefined);
      throw error;
    }
  }

  async #eject(machine: Machine): Promise<void> {
    const { hypervisor, timeoutMs } = this.#host;
    const definition = await readDefinition(machine, timeoutMs);
    const { defined, running } = driveOf(definition);
    if (isFull(running)) await this.#change(machine, running.target, null);
    const { xml: from } = await readDefinition(machine, timeoutMs);
    const empty = isFull(defined) ? withCdromMedia(from, defined.target, null) : from;
    const to = withMetadata(empty, { ...readMetadata(from), media: null });
    await saveDefinition(hypervisor, machine, { from, to }, timeoutMs);
  }

  /**
   * Gives the image to the running guest.
   * @returns target name of the drive that it is in; null where there is no guest, or none that a drive can be plugged into.
   */
  async #plugIn(machine: Machine, definition: Definition, media: MediaSource): Promise<string | null> {
    const { instance } = definition;
    if (instance === null) return null;
    const { defined, running } = driveOf(definition);
    if (running !== null) {
      await this.#change(machine, running.target, media);
      return running.target;
    }
    if (defined !== null) {
      this.#host.log.info(
        `machine ${machine.name} has had no drive since it was started: the image is there from its next start`,
      );
      return null;
    }
    return await this.#plugInNew(machine, instance, media);
  }

  async #plugInNew(machine: Machine, instance: Instance, media: MediaSource): Promise<string | null> {
    const { log, timeoutMs } = this.#host;
    try {
      const { target, markup } = newCdromMarkup(instance.domain, 'hotplug', media);
      const config = machine.persistent ? DomainDeviceModifyFlags.CONFIG : 0;
      await attempt(`adding a drive to machine ${machine.name}`, () =>
        machine.domain.attachDeviceFlags(markup, DomainDeviceModifyFlags.LIVE | config, { timeoutMs }),
      );
      await this.#options.boot.deviceAdded(machine);
      return target;
    } catch (error) {
      if (!machine.persistent || !(error instanceof DriverError) || error.kind === 'unavailable') throw error;
      log.info(
        `a drive can not be added to machine ${machine.name} while it runs: the image is there from its next start`,
        {
          error,
        },
      );
      return null;
    }
  }

  /** Changes what the running guest finds in a drive. */
  async #change(machine: Machine, target: string, media: MediaSource | null): Promise<void> {
    const { timeoutMs } = this.#host;
    const doing = media === null ? 'taking the image out of' : 'putting the image into';
    await attempt(`${doing} the drive of machine ${machine.name}`, async () => {
      const xml = await machine.domain.getXmlDesc(0, { timeoutMs });
      await machine.domain.updateDeviceFlags(cdromMarkup(xml, target, media), LIVE, { timeoutMs });
    });
  }
}

function isFull(drive: Disk | null): drive is Disk {
  return drive !== null && drive.source.name !== null;
}

/** The machine's own first drive, and that of the running guest by the same name. */
function driveOf({ xml, instance }: Definition): Drive {
  const defined = firstCdrom(readDomain(xml));
  if (instance === null) return { defined, running: null, source: defined?.source.name ?? null };
  const running =
    defined === null
      ? firstCdrom(instance.domain)
      : (instance.domain.devices.disks.find(({ key, device }) => key === defined.key && device === 'cdrom') ?? null);
  return { defined, running, source: (running ?? defined)?.source.name ?? null };
}

/** The definition with the image in the drive that it is in already, in its first, or in one that is added. */
function withMedia(
  xml: string,
  plugged: string | null,
  media: MediaSource,
): { readonly target: string; readonly xml: string } {
  const { devices } = readDomain(xml);
  const drive =
    devices.disks.find(({ target, device }) => device === 'cdrom' && target === plugged) ?? firstCdrom(readDomain(xml));
  if (drive === null) return withCdrom(xml, media);
  return { target: drive.target, xml: withCdromMedia(xml, drive.target, media) };
}
