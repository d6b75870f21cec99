/**
 * Provides the images for the CD drives of servers. Glance stores one image for each content of a URL,
 * and all servers that use it share it. An image that no server uses is deleted.
 */
import { pipeline } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Log } from '@rackless/daemon/log/log.js';
import { tooLarge } from '../../../media/image-body.js';
import { anyHost, imageHosts } from '../../../media/image-hosts.js';
import { identifiesContent, imageVolumeName, isImageVolume, privateVolumeName } from '../../../media/image-key.js';
import { downloadDeadline, inspectImage, openImage, type ImageServerLimits } from '../../../media/image-server.js';
import { storedUrl, type ImageRequest } from '../../../media/image.js';
import { downloadKey, SharedDownloads, type DownloadContext } from '../../../media/shared-downloads.js';
import { DriverError } from '../../driver-error.js';
import type { InsertOptions } from '../../operation-options.js';
import type { CloudImage, ImageApi } from './image-api.js';
import type { ImageLeases } from './image-leases.js';
import { HEAD_BYTES, isIsoHead, isoCheck, notIso } from './iso-check.js';
import { SweepSchedule, type SweepResult } from './sweep-schedule.js';

/** Dependencies of {@link CloudImageStore}. */
interface CloudImageStoreOptions {
  readonly api: ImageApi;
  readonly leases: ImageLeases;
  readonly limits: ImageServerLimits;
  /** Bus of the CD drive in which Nova boots the images. */
  readonly bus: string;
  /** Whether Glance fetches images itself, instead of this daemon. */
  readonly fetchedByGlance: boolean;
  /** The region, because several regions may share one Glance. */
  readonly region: string;
  /** Returns the ids of the images that servers use, from the cloud. */
  readonly imagesInUse: (images: readonly CloudImage[]) => Promise<ReadonlySet<string>>;
  readonly log: Log;
}

/** An image that no daemon deletes until it is released. */
interface LeasedImage {
  readonly id: string;
  release(): void;
}

/** The property with the region of an image. */
export const REGION_PROPERTY = 'rackless_region';
const FIRST_POLL_MS = 200;
const LAST_POLL_MS = 5000;

/** The images of one cloud; closed with the driver. */
export class CloudImageStore {
  readonly #options: CloudImageStoreOptions;
  /** Their results are the ids of active images. */
  readonly #downloads = new SharedDownloads<string>();
  readonly #sweeps: SweepSchedule;

  constructor(options: CloudImageStoreOptions) {
    this.#options = options;
    this.#sweeps = new SweepSchedule(() => this.#sweep(), options.log);
  }

  /**
   * Returns the image, and stores it in Glance unless this content is there already.
   * @throws {ImageError}; {DriverError} of Glance; {CloudFailure}; the signal's reason.
   */
  async acquire(image: ImageRequest, { signal, onProgress }: InsertOptions): Promise<LeasedImage> {
    const { limits, leases } = this.#options;
    return await this.#downloads.join(downloadKey(image), (context) => this.#provide(image, context), {
      deadline: downloadDeadline(image.url, limits),
      signal,
      onProgress,
      take: (id) => Promise.resolve({ id, release: leases.hold(id) }),
    });
  }

  /**
   * Deletes images that no server uses and no daemon is about to use. It sees all changes before this call. It
   * logs failures, and repeats a sweep that failed.
   */
  async sweep(): Promise<void> {
    await this.#sweeps.run();
  }

  /** Begins a {@link sweep} soon, unless a caller begins one before. */
  sweepSoon(): void {
    this.#sweeps.soon();
  }

  /** Aborts all downloads, and deletes their partial images. */
  async close(): Promise<void> {
    this.#downloads.abort(new DriverError('unavailable', 'storing the image: the service is shutting down'));
    await this.#downloads.settled();
    this.#sweeps.close();
  }

  /** Returns the id of an active image, which is held until all callers have taken it. */
  async #provide(image: ImageRequest, context: DownloadContext): Promise<string> {
    const url = storedUrl(image.url);
    const stored = (await this.#options.api.list()).filter(
      (known) => known.url === url && known.status === 'active' && this.#isOwn(known),
    );
    if (stored.length > 0) {
      const validator = await inspectImage(image, this.#options.limits, context.signal);
      const name = validator !== null && identifiesContent(validator) ? imageVolumeName(url, validator) : undefined;
      const found = await this.#reuse(stored, name);
      if (found !== undefined) return found;
    }
    // Glance cannot send a user name.
    const isOpen = image.userName === undefined && image.password === undefined;
    if (this.#options.fetchedByGlance && isOpen) return await this.#letGlanceFetch(image, context);
    return await this.#upload(image, stored, context);
  }

  /** Marks a stored image; undefined if there is none, or if it was deleted meanwhile. */
  async #reuse(stored: readonly CloudImage[], name: string | undefined): Promise<string | undefined> {
    const found = name === undefined ? undefined : stored.find((known) => known.name === name);
    if (found === undefined) return undefined;
    const release = this.#options.leases.hold(found.id);
    try {
      await this.#options.leases.mark(found.id);
      return found.id;
    } catch (error) {
      if (error instanceof DriverError) return undefined;
      throw error;
    } finally {
      // Callers take the image in the tick in which the download ends.
      setImmediate(release);
    }
  }

  async #upload(image: ImageRequest, stored: readonly CloudImage[], context: DownloadContext): Promise<string> {
    const { limits, api } = this.#options;
    const { signal, meter } = context;
    const download = await openImage(image, limits, signal, (bytes) => meter.received(bytes));
    const { validator, body } = download;
    meter.sizeBytes = validator.sizeBytes;
    const url = storedUrl(image.url);
    try {
      const name = identifiesContent(validator) ? imageVolumeName(url, validator) : undefined;
      const found = await this.#reuse(stored, name);
      if (found !== undefined) return found;
      return await this.#create(name ?? privateVolumeName(url), url, async (id) => {
        // `pipeline` passes an error of the body on to the reader of the last stream.
        const checked = pipeline(body, isoCheck(image.url), () => undefined);
        await api.upload(id, checked, signal);
      });
    } finally {
      body.once('error', () => undefined).destroy();
    }
  }

  async #letGlanceFetch(image: ImageRequest, { signal }: DownloadContext): Promise<string> {
    const { limits, api } = this.#options;
    // Glance looks the name up itself, so only an address can be checked here.
    imageHosts(limits.hosts ?? anyHost).check(image.url);
    const url = storedUrl(image.url);
    const validator = await inspectImage(image, limits, signal);
    if ((validator?.sizeBytes ?? 0) > limits.maxBytes) throw tooLarge(image.url, limits.maxBytes);
    const isNamed = validator !== null && identifiesContent(validator);
    return await this.#create(privateVolumeName(url), url, async (id) => {
      await api.fetch(id, url);
      let pause = FIRST_POLL_MS;
      for (;;) {
        const known = await api.get(id);
        if (known === undefined) throw unreadable(url, 'the image was deleted meanwhile');
        if (known.status === 'active') {
          await this.#checkFetched(image, known);
          // Other inserts use an image by this name, so it must be a checked one, also after a crash.
          if (isNamed) await api.setProperty(id, 'name', imageVolumeName(url, validator));
          return;
        }
        // Glance reports no reason. It sets the image back to `queued`.
        if (known.importFailed || known.status === 'killed') throw unreadable(url, 'Glance could not fetch it');
        await delay(pause, undefined, { signal }).catch((error: unknown) => {
          signal.throwIfAborted();
          throw error;
        });
        pause = Math.min(LAST_POLL_MS, pause * 1.5);
      }
    });
  }

  /** Checks an image that Glance has fetched, as an upload is checked. @throws {ImageError}; {DriverError}. */
  async #checkFetched({ url }: ImageRequest, { id, sizeBytes }: CloudImage): Promise<void> {
    const { api, limits } = this.#options;
    // Its server may not have told the size before.
    if (sizeBytes === undefined) throw unreadable(storedUrl(url), 'Glance does not report its size');
    if (sizeBytes > limits.maxBytes) throw tooLarge(url, limits.maxBytes);
    if (!isIsoHead(await api.readHead(id, HEAD_BYTES))) throw notIso(url);
  }

  /** Creates an image, and deletes it if it cannot be filled. */
  async #create(name: string, url: string, fill: (id: string) => Promise<void>): Promise<string> {
    const { api, leases, bus, region } = this.#options;
    const properties = { ...leases.property, [REGION_PROPERTY]: region };
    const { id } = await api.create({ name, url, bus, properties });
    const release = leases.hold(id);
    try {
      await fill(id);
      return id;
    } catch (error) {
      await this.#remove(id);
      throw error;
    } finally {
      // Callers take the image in the tick in which the download ends.
      setImmediate(release);
    }
  }

  async #remove(id: string): Promise<void> {
    await this.#options.api.remove(id).catch((error: unknown) => {
      this.#options.log.warn('deleting a partial image of the cloud failed', { image: id, error });
    });
  }

  async #sweep(): Promise<SweepResult> {
    const { api, leases, imagesInUse } = this.#options;
    // The images first: a server that begins to use one later has marked it before.
    const images = (await api.list()).filter((image) => this.#isOwn(image));
    const expiries = images.flatMap((image) => leases.leasedUntil(image, Date.now()) ?? []);
    const leasedForMs = expiries.length === 0 ? undefined : Math.min(...expiries) - Date.now();
    const free = images.filter((image) => this.#isFree(image));
    const used = free.length === 0 ? new Set() : await imagesInUse(images);
    let isDisturbed = false;
    const failures: unknown[] = [];
    for (const image of free.filter(({ id }) => !used.has(id))) {
      try {
        if (!(await this.#removeUnused(image))) isDisturbed = true;
      } catch (error) {
        // A user may protect an image. The others are deleted.
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return { isDisturbed, leasedForMs };
  }

  /** Deletes an image. @returns false if a daemon may have inserted it after the servers were read. */
  async #removeUnused(image: CloudImage): Promise<boolean> {
    const { api, log } = this.#options;
    const present = await api.get(image.id);
    if (present === undefined || !this.#isFree(present)) return true;
    if (wasChanged(image, present)) return false;
    await api.remove(image.id);
    log.info('deleted an image of the cloud that no server uses', { image: image.id, name: image.name });
    return true;
  }

  #isFree(image: CloudImage): boolean {
    return this.#options.leases.leasedUntil(image, Date.now()) === undefined;
  }

  /** Returns whether the image belongs to this region, and its name is one that the service gives. */
  #isOwn({ name, properties }: CloudImage): boolean {
    return isImageVolume(name) && properties.get(REGION_PROPERTY) === this.#options.region;
  }
}

/** Returns whether an image was changed between two readings. The time has whole seconds, so marks and states count too. */
function wasChanged(before: CloudImage, after: CloudImage): boolean {
  const changing = ({ properties }: CloudImage): ReadonlyMap<string, string> =>
    new Map([...properties].filter(([name]) => name === 'updated_at' || name.startsWith('rackless_')));
  return !isDeepStrictEqual(changing(before), changing(after));
}

function unreadable(url: string, why: string): DriverError {
  const { origin, pathname } = new URL(url);
  return new DriverError('mediaUnreachable', `reading image ${origin}${pathname}: ${why}`, { field: 'image' });
}
