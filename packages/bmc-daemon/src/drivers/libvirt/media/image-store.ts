/** Provides the images for the drives of machines. Concurrent callers share one download. */
import type { ImageRequest } from '../../../media/image.js';
import { storedUrl } from '../../../media/image.js';
import { imageVolumeName, privateVolumeName, identifiesContent } from '../../../media/image-key.js';
import { withDeadline } from '../../../media/image-deadline.js';
import {
  downloadDeadline,
  inspectImage,
  openImage,
  type ImageDownload,
  type ImageServerLimits,
} from '../../../media/image-server.js';
import { DriverError } from '../../driver-error.js';
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
  /** A limit below the general one. */
  readonly maxBytes?: number;
}

/** One download and the number of its waiting callers. */
interface Fetch {
  readonly result: Promise<string>;
  readonly progress: Set<(percent: number) => void>;
  readonly controller: AbortController;
  waiting: number;
}

/** The parameters of one download. */
interface DownloadRequest {
  readonly image: ImageRequest;
  readonly images: ImageVolumes;
  readonly limits: ImageServerLimits;
  readonly progress: ReadonlySet<(percent: number) => void>;
  readonly signal: AbortSignal;
}

/** The images of one host; closed with the driver. */
export class ImageStore {
  readonly #options: ImageStoreOptions;
  readonly #stored: StoredImages;
  readonly #fetches = new Map<string, Fetch>();
  readonly #closing = new AbortController();

  constructor(options: ImageStoreOptions) {
    this.#options = options;
    this.#stored = new StoredImages(options);
  }

  /**
   * Removes partial downloads of an earlier process, and images that no machine uses. Does not
   * create the pool.
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
   * Returns the image, and downloads it unless this content is stored already. Concurrent callers
   * share one download.
   * @throws {DriverError} with a media kind (mediaUnreachable also if the download takes too long),
   *   storageFull, unavailable; the signal's reason if it aborts.
   */
  async acquire(image: ImageRequest, options: AcquireOptions = {}): Promise<ImageLease> {
    options.signal?.throwIfAborted();
    const images = await this.#stored.open({ create: true });
    if (images === null) throw new DriverError('internal', 'fetching the image: there is no storage pool');
    const fetch = this.#join(image, images, options);
    const { onProgress, signal } = options;
    if (onProgress !== undefined) fetch.progress.add(onProgress);
    try {
      const deadline = downloadDeadline(image.url, this.#options.limits);
      // Each caller has its own deadline: a shared download may end and restart several times.
      const name = await withDeadline(deadline, signal, (within) => abortable(fetch.result, within));
      // The lease starts in the same tick in which the download ends, so that no sweep can remove
      // the image in between.
      return await this.#stored.lease(name, images);
    } catch (error) {
      signal?.throwIfAborted();
      throw driverError('fetching the image', error);
    } finally {
      if (onProgress !== undefined) fetch.progress.delete(onProgress);
      fetch.waiting -= 1;
      // No caller waits any more: abort the download.
      if (fetch.waiting === 0) fetch.controller.abort();
    }
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
    await this.#stored.settled();
    await Promise.allSettled([...this.#fetches.values()].map(({ result }) => result));
  }

  #join(image: ImageRequest, images: ImageVolumes, { own = false, maxBytes }: AcquireOptions): Fetch {
    // The key contains the credentials, so that a client without access to the server does not get
    // the image.
    const { userName, password, verifyCertificate, authorities = [] } = image;
    const url = storedUrl(image.url);
    const unique = own ? privateVolumeName(url) : null;
    const key = JSON.stringify([url, userName, password, verifyCertificate, authorities, maxBytes, unique]);
    const running = this.#fetches.get(key);
    if (running !== undefined && !running.controller.signal.aborted) {
      running.waiting += 1;
      return running;
    }
    const controller = new AbortController();
    const progress = new Set<(percent: number) => void>();
    const signal = AbortSignal.any([controller.signal, this.#closing.signal]);
    const limits = { ...this.#options.limits };
    limits.maxBytes = Math.min(limits.maxBytes, maxBytes ?? Infinity);
    const wanted: DownloadRequest = { image, images, limits, progress, signal };
    const result = unique === null ? this.#fetch(wanted) : this.#fetchOwn(unique, wanted);
    const fetch: Fetch = { result, progress, controller, waiting: 1 };
    this.#fetches.set(key, fetch);
    const forget = (): void => {
      if (this.#fetches.get(key) === fetch) this.#fetches.delete(key);
    };
    result.then(forget, forget);
    return fetch;
  }

  /** Downloads the image if needed. @returns the name of the complete image. */
  async #fetch(wanted: DownloadRequest): Promise<string> {
    const { image, images, limits, signal } = wanted;
    const url = storedUrl(image.url);
    if (this.#stored.hasImageOf(url)) {
      const validator = await inspectImage(image, limits, signal);
      if (validator !== null && identifiesContent(validator)) {
        const name = imageVolumeName(url, validator);
        if (await this.#stored.isComplete(name, images)) return name;
      }
    }
    const download = await open(wanted);
    if (!identifiesContent(download.validator)) {
      // The stored image of this URL may be an older content of the same size.
      const name = privateVolumeName(url);
      await this.#stored.fill(name, download, images, signal);
      return name;
    }
    const name = imageVolumeName(url, download.validator);
    const isStored = await this.#stored.isComplete(name, images);
    // Read and set in the same tick, so that two downloads never fill the same volume.
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
      // The other download of this content was aborted, or lost its access.
      signal.throwIfAborted();
      return await this.#fetch(wanted);
    }
  }

  async #fetchOwn(name: string, wanted: DownloadRequest): Promise<string> {
    await this.#stored.fill(name, await open(wanted), wanted.images, wanted.signal);
    return name;
  }
}

async function open({ image, limits, progress, signal }: DownloadRequest): Promise<ImageDownload> {
  const meter = progressMeter(progress);
  const download = await openImage(image, limits, signal, (bytes) => meter.received(bytes));
  meter.sizeBytes = download.validator.sizeBytes;
  return download;
}

interface ProgressMeter {
  sizeBytes: number | null;
  received(bytes: number): void;
}

function progressMeter(listeners: ReadonlySet<(percent: number) => void>): ProgressMeter {
  let reported = -1;
  return {
    sizeBytes: null,
    received(bytes) {
      if (this.sizeBytes === null || this.sizeBytes === 0) return;
      const percent = Math.floor((bytes * 100) / this.sizeBytes);
      if (percent !== reported) for (const listener of listeners) listener(percent);
      reported = percent;
    },
  };
}

/** Returns what the promise gives, or throws the signal's reason if that comes first. */
async function abortable<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  return await new Promise<Value>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
