/**
 * Stores images in Glance for the CD drives of servers. Servers share an image if they use the same URL and the same
 * content. The store deletes an image as soon as no server uses it.
 */
import { pipeline } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Log } from '@rackless/daemon/log/log.js';
import { tooLargeError } from '../../../media/image-body.js';
import { anyHost, imageHosts } from '../../../media/image-hosts.js';
import { identifiesContent, storedImageName, isStoredImageName, uniqueImageName } from '../../../media/image-key.js';
import { downloadTimeLimit, inspectImage, openImage, type ImageServerLimits } from '../../../media/image-client.js';
import { storedUrl, type ImageRequest } from '../../../media/image.js';
import { downloadKey, SharedDownloads, type DownloadContext } from '../../../media/shared-downloads.js';
import { DriverError } from '../../driver-error.js';
import type { InsertOptions } from '../../operation-options.js';
import type { CloudImage, ImageApi } from './image-api.js';
import type { ImageLeases } from './image-leases.js';
import { HEAD_BYTES, isIsoHead, isoCheck, notIsoError } from './iso-check.js';
import { SweepSchedule, type SweepResult } from './sweep-schedule.js';

/** Dependencies of {@link CloudImageStore}. */
interface CloudImageStoreOptions {
  readonly api: ImageApi;
  readonly leases: ImageLeases;
  readonly limits: ImageServerLimits;
  /** Bus of the CD drive from which Nova boots the images. */
  readonly bus: string;
  /** Whether Glance fetches images itself, instead of this daemon. */
  readonly fetchedByGlance: boolean;
  /** The region of the servers. Several regions may share one Glance. */
  readonly region: string;
  /** Returns the ids of those images that servers of the cloud use. Requests them from Nova. */
  readonly imagesInUse: (images: readonly CloudImage[]) => Promise<ReadonlySet<string>>;
  readonly log: Log;
}

/** An image with a lease: no daemon deletes it before the caller calls `release`. */
interface LeasedImage {
  readonly id: string;
  release(): void;
}

/** The property of an image that contains the region of its servers. */
export const REGION_PROPERTY = 'rackless_region';
const FIRST_POLL_MS = 200;
const LAST_POLL_MS = 5000;

/** The images of one cloud. Close it with the driver. */
export class CloudImageStore {
  readonly #options: CloudImageStoreOptions;
  /** Running downloads. The result of each is the id of an active image. */
  readonly #downloads = new SharedDownloads<string>();
  readonly #sweeps: SweepSchedule;

  constructor(options: CloudImageStoreOptions) {
    this.#options = options;
    this.#sweeps = new SweepSchedule(() => this.#sweep(), options.log);
  }

  /**
   * Stores the image in Glance, unless Glance has the same content already, and returns it with a lease.
   * @throws {ImageError}; {DriverError} of Glance; {CloudFailure}; the signal's reason.
   */
  async acquire(image: ImageRequest, { signal, onProgress }: InsertOptions): Promise<LeasedImage> {
    const { limits, leases } = this.#options;
    return await this.#downloads.join(downloadKey(image), (context) => this.#provide(image, context), {
      timeLimit: downloadTimeLimit(image.url, limits),
      signal,
      onProgress,
      take: (id) => Promise.resolve({ id, release: leases.hold(id) }),
    });
  }

  /**
   * Deletes images that no server uses and no daemon is about to use. The sweep sees all changes that were made before
   * this call. It logs a failure, and runs again later.
   */
  async sweep(): Promise<void> {
    await this.#sweeps.run();
  }

  /** Runs a {@link sweep} soon, unless another one begins earlier. */
  sweepSoon(): void {
    this.#sweeps.soon();
  }

  /** Aborts all downloads, and deletes their partial images. */
  async close(): Promise<void> {
    this.#downloads.abort(new DriverError('unavailable', 'storing the image: the service is shutting down'));
    await this.#downloads.whenSettled();
    this.#sweeps.close();
  }

  /** Returns the id of an active image. Its lease lasts until every caller has its own lease. */
  async #provide(image: ImageRequest, context: DownloadContext): Promise<string> {
    const url = storedUrl(image.url);
    const stored = (await this.#options.api.list()).filter(
      (known) => known.url === url && known.status === 'active' && this.#isOwn(known),
    );
    if (stored.length > 0) {
      const validator = await inspectImage(image, this.#options.limits, context.signal);
      const name = validator !== null && identifiesContent(validator) ? storedImageName(url, validator) : undefined;
      const found = await this.#reuse(stored, name);
      if (found !== undefined) return found;
    }
    // Glance cannot send a user name and a password to the image server.
    const isPublic = image.upload === undefined && image.userName === undefined && image.password === undefined;
    if (this.#options.fetchedByGlance && isPublic) return await this.#letGlanceFetch(image, context);
    return await this.#upload(image, stored, context);
  }

  /**
   * Finds the stored image with the given name, takes a lease of it, and returns its id. Returns undefined if there is
   * none, or if Glance rejects the mark, for example because another daemon has just deleted the image.
   */
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
      // Releases this lease after the callers have taken theirs, which they do in the tick in which the download ends.
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
      const name = identifiesContent(validator) ? storedImageName(url, validator) : undefined;
      const found = await this.#reuse(stored, name);
      if (found !== undefined) return found;
      return await this.#create(name ?? uniqueImageName(url), url, async (id) => {
        // `pipeline` forwards an error of `body` to `checked`, so `api.upload` sees it.
        const checked = pipeline(body, isoCheck(image.url), () => undefined);
        await api.upload(id, checked, signal);
      });
    } finally {
      body.once('error', () => undefined).destroy();
    }
  }

  async #letGlanceFetch(image: ImageRequest, { signal }: DownloadContext): Promise<string> {
    const { limits, api } = this.#options;
    // Glance resolves the host name itself. So this check can reject a URL with a forbidden IP address, but not a host
    // name that resolves to one.
    imageHosts(limits.hosts ?? anyHost).check(image.url);
    const url = storedUrl(image.url);
    const validator = await inspectImage(image, limits, signal);
    if ((validator?.sizeBytes ?? 0) > limits.maxBytes) throw tooLargeError(image.url, limits.maxBytes);
    const isShareable = validator !== null && identifiesContent(validator);
    return await this.#create(uniqueImageName(url), url, async (id) => {
      await api.fetch(id, url);
      let pause = FIRST_POLL_MS;
      for (;;) {
        const known = await api.get(id);
        if (known === undefined) throw unreadableImageError(url, 'the image was deleted meanwhile');
        if (known.status === 'active') {
          await this.#checkFetched(image, known);
          // The image gets its final name only after the checks, because other inserts reuse any image with this name.
          // After a crash before this point, no insert finds the unchecked image.
          if (isShareable) await api.setProperty(id, 'name', storedImageName(url, validator));
          return;
        }
        // Glance reports no reason for a failed import. It only sets the status back to `queued`.
        if (known.hasImportFailed || known.status === 'killed')
          throw unreadableImageError(url, 'Glance could not fetch it');
        await delay(pause, undefined, { signal }).catch((error: unknown) => {
          signal.throwIfAborted();
          throw error;
        });
        pause = Math.min(LAST_POLL_MS, pause * 1.5);
      }
    });
  }

  /**
   * Makes the checks of {@link #upload} for an image that Glance has fetched.
   * @throws {ImageError}; {DriverError}.
   */
  async #checkFetched({ url }: ImageRequest, { id, sizeBytes }: CloudImage): Promise<void> {
    const { api, limits } = this.#options;
    // The image server may not have sent the size, so the check before the import is not enough.
    if (sizeBytes === undefined) throw unreadableImageError(storedUrl(url), 'Glance does not report its size');
    if (sizeBytes > limits.maxBytes) throw tooLargeError(url, limits.maxBytes);
    if (!isIsoHead(await api.readHead(id, HEAD_BYTES))) throw notIsoError(url);
  }

  /** Creates an image, and runs `fill` to add its content. Deletes the image if `fill` fails. */
  async #create(name: string, url: string, fill: (id: string) => Promise<void>): Promise<string> {
    const { api, leases, bus, region } = this.#options;
    const create = async (mark: Readonly<Record<string, string>>): Promise<string> => {
      const properties = { ...mark, [REGION_PROPERTY]: region };
      return (await api.create({ name, url, bus, properties })).id;
    };
    const { id, release } = await leases.create(create).catch((error: unknown) => {
      // Glance may have created the image, unless it has rejected the request.
      if (!(error instanceof DriverError)) this.sweepSoon();
      throw error;
    });
    try {
      await fill(id);
      return id;
    } catch (error) {
      await this.#remove(id);
      throw error;
    } finally {
      // Releases this lease after the callers have taken theirs, which they do in the tick in which the download ends.
      setImmediate(release);
    }
  }

  async #remove(id: string): Promise<void> {
    await this.#options.api.remove(id).catch((error: unknown) => {
      this.#options.log.warn('deleting a partial image of the cloud failed', { image: id, error });
      this.sweepSoon();
    });
  }

  async #sweep(): Promise<SweepResult> {
    const { api, leases, imagesInUse } = this.#options;
    // Lists the images before the servers. If a server begins to use an image after this listing, the daemon that
    // inserts the image has taken its lease before, and `#removeUnused` sees it.
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
        // Continues with the other images, because a failure may concern only this image: a user may have protected it.
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    return { isDisturbed, leasedForMs };
  }

  /**
   * Deletes an image, unless it has a lease now or has changed since the listing.
   * @returns false if the image has changed and has no lease, so that it stays: a daemon may have
   *   inserted it meanwhile. True if it was deleted, is gone or has a lease.
   */
  async #removeUnused(image: CloudImage): Promise<boolean> {
    const { api, log } = this.#options;
    const current = await api.get(image.id);
    if (current === undefined || !this.#isFree(current)) return true;
    if (wasChanged(image, current)) return false;
    await api.remove(image.id);
    log.info('deleted an image of the cloud that no server uses', { image: image.id, name: image.name });
    return true;
  }

  #isFree(image: CloudImage): boolean {
    return this.#options.leases.leasedUntil(image, Date.now()) === undefined;
  }

  /**
   * Returns whether a daemon of the configured region created the image: this one or another replica. The name of the
   * image and its region show this.
   */
  #isOwn({ name, properties }: CloudImage): boolean {
    return isStoredImageName(name) && properties.get(REGION_PROPERTY) === this.#options.region;
  }
}

/**
 * Returns whether `updated_at` or a `rackless_` property differs. `updated_at` alone is not enough: it has whole
 * seconds, so two changes within a second can have the same time.
 */
function wasChanged(before: CloudImage, after: CloudImage): boolean {
  const changingProperties = ({ properties }: CloudImage): ReadonlyMap<string, string> =>
    new Map([...properties].filter(([name]) => name === 'updated_at' || name.startsWith('rackless_')));
  return !isDeepStrictEqual(changingProperties(before), changingProperties(after));
}

function unreadableImageError(url: string, why: string): DriverError {
  const { origin, pathname } = new URL(url);
  return new DriverError('mediaUnreachable', `reading image ${origin}${pathname}: ${why}`, { field: 'image' });
}
