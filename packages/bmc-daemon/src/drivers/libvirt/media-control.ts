/** Images in the CD drives of real machines, of those that run at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainDeviceModifyFlags } from '@rackless/libvirt';
import { imageName, storedUrl, type ImageRequest } from '../../media/image.js';
import { DriverError, type InsertOptions, type OperationOptions } from '../driver.js';
import type { Turns } from '../turns.js';
import type { BootControl } from './boot-control.js';
import { readDefinition, saveDefinition, type Definition } from './definition.js';
import { attempt } from './failure.js';
import type { Host } from './host.js';
import type { ImagePlace } from './image-shelf.js';
import type { ImageStore } from './image-store.js';
import type { Instance } from './instance.js';
import type { Machine } from './inventory.js';
import { withContinuousOrder } from './kept-override.js';
import {
  cdromMarkup,
  firstCdrom,
  isHotplugged,
  newCdromMarkup,
  withCdrom,
  withCdromMedia,
  type MediaSource,
} from './xml/cdrom.js';
import type { Disk } from './xml/device.js';
import { readDomain } from './xml/domain.js';
import { readMetadata, withMetadata } from './xml/metadata.js';

export interface MediaControlOptions {
  readonly host: Host;
  readonly boot: BootControl;
  readonly store: ImageStore;
  /** As for power: an insert holds the machine's turn from the download on. */
  readonly turns: Turns;
}

/** What a machine has in its drive: in the running guest where it runs, in the definition where not. */
interface Drive {
  readonly defined: Disk | null;
  readonly running: Disk | null;
  /** Name of what is in it; null when it is empty. */
  readonly source: string | null;
}

const MAX_ATTEMPTS = 4;

/** libvirt waits 5 s for QEMU to let go of a device, and answers as if all were well where it has not: the rest is waited here. */
const UNPLUG_TIMEOUT_MS = 10_000;
const UNPLUG_POLL_MS = 50;

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
        await this.#host.edits.run(machine.uuid, () => again(() => this.#insert(machine, image, lease)));
      } finally {
        lease.release();
      }
    };
    await turns.insert(machine, insert, options);
  }

  /** @throws {DriverError} unavailable, unsupported; the signal's reason while it waits. */
  async eject(machine: Machine, options: OperationOptions): Promise<void> {
    const { store, turns } = this.#options;
    const eject = async (): Promise<void> => {
      await this.#host.edits.run(machine.uuid, () => again(() => this.#eject(machine)));
      await store.removeUnused();
    };
    await turns.eject(machine, eject, options);
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
    const definition = await readDefinition(machine, this.#host.timeoutMs);
    // Somebody with virsh may have been there while the image was on its way.
    if (this.#holds(machine, definition, image)) return;
    const { target } = withMedia(machine, definition, place.source);
    const plugged = await this.#plugIn(machine, definition, target, place.source);
    try {
      await this.#keep(machine, image, place);
    } catch (error) {
      if (plugged !== null) await this.#empty(machine, plugged).catch(() => undefined);
      throw error;
    }
    await this.#options.boot.tell(machine);
  }

  /** Puts the image, and where it came from, into the definition. */
  async #keep(machine: Machine, image: ImageRequest, place: ImagePlace): Promise<void> {
    const { hypervisor, timeoutMs } = this.#host;
    const definition = await readDefinition(machine, timeoutMs);
    const { target, xml } = withMedia(machine, definition, place.source);
    const media = {
      drive: target,
      image: storedUrl(image.url),
      imageName: imageName(image.url),
      source: place.name,
      writeProtected: image.writeProtected,
    };
    const kept = withMetadata(xml, { ...readMetadata(xml), media });
    // "Boot from CD" may have waited for a drive.
    const to = machine.persistent ? withContinuousOrder(kept) : kept;
    await saveDefinition(hypervisor, machine, { from: definition.xml, to }, timeoutMs);
  }

  async #eject(machine: Machine): Promise<void> {
    const { hypervisor, timeoutMs } = this.#host;
    const { xml, instance } = await readDefinition(machine, timeoutMs);
    const { running } = driveOf({ xml, instance });
    const ours = readMetadata(xml).media?.source;
    const full = (instance?.domain.devices.disks ?? []).filter(
      (disk) => disk.device === 'cdrom' && isFull(disk) && (disk.key === running?.key || disk.source.name === ours),
    );
    for (const { target } of full) await this.#empty(machine, target);
    // Read again: the guest may have taken its time.
    const { xml: from } = await readDefinition(machine, timeoutMs);
    const defined = firstCdrom(readDomain(from));
    const empty = isFull(defined) && machine.persistent ? withCdromMedia(from, defined.target, null) : from;
    const to = withMetadata(empty, { ...readMetadata(from), media: null });
    await saveDefinition(hypervisor, machine, { from, to }, timeoutMs);
  }

  /**
   * Gives the image to the running guest.
   * @param target name of the definition's drive, which one that is plugged in gets too.
   * @returns name of the guest's drive; null where there is no guest, or none that a drive can be plugged into.
   */
  async #plugIn(machine: Machine, definition: Definition, target: string, media: MediaSource): Promise<string | null> {
    const { instance } = definition;
    if (instance === null) return null;
    const running = driveOf(definition).running;
    if (running === null) return await this.#hotplug(machine, instance, target, media);
    await this.#change(machine, running.target, media);
    return running.target;
  }

  async #hotplug(machine: Machine, instance: Instance, target: string, media: MediaSource): Promise<string | null> {
    const { log, timeoutMs } = this.#host;
    try {
      const { markup } = newCdromMarkup(instance.domain, 'hotplug', media, target);
      await attempt(`adding a drive to machine ${machine.name}`, () =>
        machine.domain.attachDeviceFlags(markup, DomainDeviceModifyFlags.LIVE, { timeoutMs }),
      );
      return target;
    } catch (error) {
      if (!machine.persistent || !(error instanceof DriverError) || error.kind === 'unavailable') throw error;
      log.info(
        `machine ${machine.name} can not be given a drive while it runs: the image is there from its next start`,
        {
          error,
        },
      );
      return null;
    }
  }

  /** Takes the image from the running guest. */
  async #empty(machine: Machine, target: string): Promise<void> {
    const { timeoutMs } = this.#host;
    const { xml, instance } = await readDefinition(machine, timeoutMs);
    const drive = instance?.domain.devices.disks.find((disk) => disk.target === target);
    if (instance === null || drive === undefined) return;
    if (!isHotplugged(drive, readDomain(xml))) {
      await this.#change(machine, target, null);
      return;
    }
    await this.#unplug(machine, instance, drive);
  }

  /**
   * Returns when the drive is gone: until then the guest has the image, and no other drive can get its name.
   * @throws {DriverError} unavailable, where the guest keeps it.
   */
  async #unplug(machine: Machine, instance: Instance, { target, element }: Disk): Promise<void> {
    const doing = `unplugging the drive of machine ${machine.name}`;
    const markup = instance.xml.slice(element.start, element.end);
    const deadline = performance.now() + UNPLUG_TIMEOUT_MS;
    await attempt(doing, () =>
      machine.domain.detachDeviceFlags(markup, DomainDeviceModifyFlags.LIVE, { timeoutMs: UNPLUG_TIMEOUT_MS }),
    );
    const isPlugged = async (): Promise<boolean> => {
      const { instance: present } = await readDefinition(machine, this.#host.timeoutMs);
      return present?.id === instance.id && present.domain.devices.disks.some((disk) => disk.target === target);
    };
    while (await isPlugged()) {
      if (performance.now() > deadline)
        throw new DriverError('unavailable', `${doing}: its guest has not let go of it`);
      await sleep(UNPLUG_POLL_MS);
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

/** The definition with the image in its drive; one is added where there is none. */
function withMedia(
  { persistent }: Machine,
  { xml, instance }: Definition,
  media: MediaSource,
): { readonly target: string; readonly xml: string } {
  const drive = firstCdrom(readDomain(xml)) ?? (persistent || instance === null ? null : firstCdrom(instance.domain));
  if (persistent) {
    if (drive === null) return withCdrom(xml, media);
    return { target: drive.target, xml: withCdromMedia(xml, drive.target, media) };
  }
  // A transient machine has nothing but its running instance.
  return { target: drive?.target ?? newCdromMarkup(readDomain(xml), 'hotplug', media).target, xml };
}
