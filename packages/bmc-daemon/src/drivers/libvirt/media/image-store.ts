/** Provides the images for the drives of machines. Concurrent callers share one download. */
import type { ImageRequest } from '../../../media/image.js';
import { storedUrl } from '../../../media/image.js';
import { storedImageName, uniqueImageName, identifiesContent } from '../../../media/image-key.js';
import type { ImageDownload } from '../../../media/image-download.js';
import { downloadDeadline, inspectImage, openImage, type ImageServerLimits } from '../../../media/image-server.js';
import { downloadKey, type DownloadContext } from '../../../media/shared-downloads.js';
import { DriverError } from '../../driver-error.js';
import { driverError, isUnavailable } from '../failure.js';
import type { ImageVolumes } from './image-volumes.js';
import { StoredImages, type ImageLease, type StoredImagesOptions } from './stored-images.js';

/** Dependencies of {@link ImageStore}. */
interface ImageStoreOptions extends StoredImagesOptions {
  readonly limits: ImageServerLimits;
}

/** Options of {@link ImageStore.acquire}. */
interface AcquireOptions {
  readonly signal?: AbortSignal | undefined;
  /** Receives 0 to 100 during the download; never called if the size is unknown. */
  readonly onProgress?: ((percent: number) => void) | undefined;
  /** Requests a private copy, for a guest that writes to it. Default: the shared image. */
  readonly own?: boolean;
  /** A smaller size limit than the general one. */
  readonly maxBytes?: number;
}

/** The parameters of one download. */
interface DownloadRequest {
  readonly image: ImageRequest;
  readonly images: ImageVolumes;
  readonly limits: ImageServerLimits;
  readonly context: DownloadContext;
}

/** The images of one host. Close it with the driver. */
export class ImageStore {
  readonly #options: ImageStoreOptions;
  readonly #stored: StoredImages;
  readonly #closing = new AbortController();
  /** Running downloads that this store has begun. */
  readonly #begun = new Set<Promise<string>>();

  constructor(options: ImageStoreOptions) {
    this.#options = options;
    this.#stored = new StoredImages(options);
  }

  /**
   * Removes partial downloads of an earlier run of the daemon, and images that no machine uses.
   * Does not create the pool.
   * @throws {DriverError} if the host does not answer; the next request for an image repeats the
   *   cleanup.
   */
  async tidy(): Promise<void> {
    await this.#stored.open({ create: false });
  }

  /** Opens the pool again after a new connection, and retries failed removals. */
  reopen(): void {
    this.#stored.reopen();
  }

  /**
   * Returns the image. Downloads it first, unless the same content is stored already. Concurrent
   * callers share one download.
   * @throws {DriverError} with a media kind (mediaUnreachable also if the download takes too long),
   *   storageFull, unavailable; the signal's reason if it aborts.
   */
  async acquire(image: ImageRequest, options: AcquireOptions = {}): Promise<ImageLease> {
    options.signal?.throwIfAborted();
    const images = await this.#stored.open({ create: true });
    if (images === null) throw new DriverError('internal', 'fetching the image: there is no storage pool');
    const { own = false, maxBytes, onProgress, signal } = options;
    const unique = own ? uniqueImageName(storedUrl(image.url)) : null;
    const limits = { ...this.#options.limits };
    limits.maxBytes = Math.min(limits.maxBytes, maxBytes ?? Infinity);
    const download = { begun: false };
    const begin = (context: DownloadContext): Promise<string> => {
      download.begun = true;
      const signals = AbortSignal.any([context.signal, this.#closing.signal]);
      const wanted: DownloadRequest = { image, images, limits, context: { ...context, signal: signals } };
      return this.#begin(unique === null ? this.#fetch(wanted) : this.#fetchOwn(unique, wanted));
    };
    try {
      return await this.#stored.downloads.join(downloadKey(image, maxBytes, unique), begin, {
        deadline: downloadDeadline(image.url, this.#options.limits),
        signal,
        onProgress,
        take: (name) => this.#stored.lease(name, images),
      });
    } catch (error) {
      signal?.throwIfAborted();
      const failure = driverError('fetching the image', error);
      // Another host that has the same pool had begun the download, and was removed or lost.
      if (!download.begun && isUnavailable(failure) && !this.#closing.signal.aborted) {
        return await this.acquire(image, options);
      }
      throw failure;
    }
  }

  #begin(download: Promise<string>): Promise<string> {
    this.#begun.add(download);
    const forget = (): void => void this.#begun.delete(download);
    download.then(forget, forget);
    return download;
  }

  /**
   * Removes stored images that no machine uses and no caller has leased. Logs failures; the next
   * call retries.
   */
  removeUnused(): Promise<void> {
    return this.#stored.removeUnused();
  }

  /** Aborts all downloads and removes their partial volumes. */
  async close(): Promise<void> {
    this.#closing.abort(new DriverError('unavailable', 'fetching the image: the service is shutting down'));
    await Promise.allSettled([...this.#begun]);
    await this.#stored.close();
  }

  /** Downloads the image if needed. @returns the name of the complete image. */
  async #fetch(wanted: DownloadRequest): Promise<string> {
    const { image, images, limits, context } = wanted;
    const { signal } = context;
    const url = storedUrl(image.url);
    if (this.#stored.hasImageOf(url)) {
      const validator = await inspectImage(image, limits, signal);
      if (validator !== null && identifiesContent(validator)) {
        const name = storedImageName(url, validator);
        if (await this.#stored.isComplete(name, images)) return name;
      }
    }
    const download = await open(wanted);
    if (!identifiesContent(download.validator)) {
      // The stored image of this URL may have older content of the same size.
      const name = uniqueImageName(url);
      await this.#stored.fill(name, download, images, signal);
      return name;
    }
    const name = storedImageName(url, download.validator);
    const isStored = await this.#stored.isComplete(name, images);
    // Reads and sets the entry in the same tick, so that two downloads never write to the same
    // volume.
    const filling = this.#stored.filling(name);
    if (!isStored && filling === undefined) {
      await this.#stored.fill(name, download, images, signal);
      return name;
    }
    download.body.once('error', () => undefined).destroy();
    try {
      await filling;
      return name;
    } catch {
      // The other download of this content was aborted, or its credentials are not valid anymore.
      signal.throwIfAborted();
      return await this.#fetch(wanted);
    }
  }

  async #fetchOwn(name: string, wanted: DownloadRequest): Promise<string> {
    await this.#stored.fill(name, await open(wanted), wanted.images, wanted.context.signal);
    return name;
  }
}

async function open({ image, limits, context: { signal, meter } }: DownloadRequest): Promise<ImageDownload> {
  const download = await openImage(image, limits, signal, (bytes) => meter.received(bytes));
  meter.sizeBytes = download.validator.sizeBytes;
  return download;
}
