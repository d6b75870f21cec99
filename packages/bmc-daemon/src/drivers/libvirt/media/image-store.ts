/** Provides the images for the drives of machines. Concurrent callers share one download. */
import type { ImageRequest } from '../../../media/image.js';
import { storedUrl } from '../../../media/image.js';
import { storedImageName, uniqueImageName, identifiesContent } from '../../../media/image-key.js';
import type { ImageDownload } from '../../../media/image-download.js';
import { downloadTimeLimit, inspectImage, openImage, type ImageServerLimits } from '../../../media/image-client.js';
import { downloadKey, type DownloadContext } from '../../../media/shared-downloads.js';
import { DriverError, isDriverError } from '../../driver-error.js';
import { driverError } from '../failure.js';
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
  /** Maximum size of this image. A smaller general limit has precedence. */
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
  /** Running downloads that this store has started. */
  readonly #running = new Set<Promise<string>>();

  constructor(options: ImageStoreOptions) {
    this.#options = options;
    this.#stored = new StoredImages(options);
  }

  /**
   * Opens the pool, if it exists. The first call after a new connection removes partial downloads that no longer
   * run, and images that no machine uses. If several hosts may share pools, the removal follows when the pools of
   * all hosts are known.
   * @throws {DriverError} if the pool cannot be opened, for example because the host does not answer. The next
   *   request for an image opens the pool again.
   */
  async tidy(): Promise<void> {
    await this.#stored.open({ create: false });
  }

  /** @see StoredImages.reopen */
  reopen(): void {
    this.#stored.reopen();
  }

  /**
   * Returns the image; the caller releases it. Downloads it first, unless the same content is stored already.
   * Concurrent callers share one download. For a private copy, always starts a download.
   * @throws {DriverError} with a media kind (mediaUnreachable also if the download takes too long),
   *   storageFull, unavailable; the signal's reason if it aborts.
   */
  async acquire(image: ImageRequest, options: AcquireOptions = {}): Promise<ImageLease> {
    options.signal?.throwIfAborted();
    const images = await this.#stored.open({ create: true });
    if (images === null) throw new DriverError('internal', 'fetching the image: there is no storage pool');
    const { own = false, maxBytes, onProgress, signal } = options;
    const ownName = own ? uniqueImageName(storedUrl(image.url)) : null;
    const limits = { ...this.#options.limits };
    limits.maxBytes = Math.min(limits.maxBytes, maxBytes ?? Infinity);
    const download = { isOurs: false };
    const start = (context: DownloadContext): Promise<string> => {
      download.isOurs = true;
      const signals = AbortSignal.any([context.signal, this.#closing.signal]);
      const wanted: DownloadRequest = { image, images, limits, context: { ...context, signal: signals } };
      return this.#track(ownName === null ? this.#fetch(wanted) : this.#fetchOwn(ownName, wanted));
    };
    try {
      return await this.#stored.downloads.join(downloadKey(image, maxBytes, ownName), start, {
        timeLimit: downloadTimeLimit(image.url, this.#options.limits),
        signal,
        onProgress,
        take: (name) => this.#stored.lease(name, images),
      });
    } catch (error) {
      signal?.throwIfAborted();
      const failure = driverError('fetching the image', error);
      // Another caller ran the download, and its host is gone. That host may be another one with the same pool, so
      // this caller tries to download the image itself.
      if (!download.isOurs && isDriverError(failure, 'unavailable') && !this.#closing.signal.aborted) {
        return await this.acquire(image, options);
      }
      throw failure;
    }
  }

  /** Remembers a running download until it ends, for {@link close}. */
  #track(download: Promise<string>): Promise<string> {
    this.#running.add(download);
    const forget = (): void => void this.#running.delete(download);
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

  /** Aborts the downloads that this store has started, and resolves when their partial volumes are removed. */
  async close(): Promise<void> {
    this.#closing.abort(new DriverError('unavailable', 'fetching the image: the service is shutting down'));
    await Promise.allSettled([...this.#running]);
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
      // The server does not identify the content, so a stored image of this URL may have older
      // content. The new image gets a new name.
      const name = uniqueImageName(url);
      await this.#stored.fill(name, download, images, signal);
      return name;
    }
    const name = storedImageName(url, download.validator);
    const isStored = await this.#stored.isComplete(name, images);
    // Calls `filling` and `fill` in the same tick: `fill` registers the download, so two downloads
    // never write to the same volume.
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
      // The other download of this content failed, for example because it was aborted, or because its credentials
      // are not valid anymore. So this request downloads the image itself.
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
