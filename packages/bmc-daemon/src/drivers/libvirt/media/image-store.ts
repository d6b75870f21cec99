/**
 * Stores the images in the drives of machines. All machines share one download, and the store
 * removes an image after its last use. The name of a volume contains URL and content
 * (media/image-key.ts), so the store needs no record.
 */
import type { ImageRequest } from '../../../media/image.js';
import { storedUrl } from '../../../media/image.js';
import {
  imageVolumeName,
  imageVolumePrefix,
  isPartVolume,
  privateVolumeName,
  identifiesContent,
} from '../../../media/image-key.js';
import { withDeadline } from '../../../media/image-deadline.js';
import {
  downloadDeadline,
  inspectImage,
  openImage,
  type ImageDownload,
  type ImageServerLimits,
} from '../../../media/image-server.js';
import { DriverError } from '../../driver-error.js';
import { attempt, driverError } from '../failure.js';
import type { ImagePlace, ImageVolumes } from './image-volumes.js';

/** Dependencies of {@link ImageStore}. */
interface ImageStoreOptions {
  /**
   * Opens the pool; null if there is none and `create` is false. The store calls it again after a
   * failure and after a new connection.
   */
  readonly openImageVolumes: (options: { readonly create: boolean }) => Promise<ImageVolumes | null>;
  /** Returns `DiskSource.name` of every drive of every machine, running or defined. */
  readonly sourcesInUse: () => Promise<ReadonlySet<string>>;
  readonly limits: ImageServerLimits;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * An image that the store does not remove before its release. After that, only a machine's use
 * protects it.
 */
export interface ImageLease extends ImagePlace {
  release(): void;
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
interface Wanted {
  readonly image: ImageRequest;
  readonly images: ImageVolumes;
  readonly limits: ImageServerLimits;
  readonly progress: ReadonlySet<(percent: number) => void>;
  readonly signal: AbortSignal;
}

/** The images of one host; closed with the driver. */
export class ImageStore {
  readonly #options: ImageStoreOptions;
  readonly #fetches = new Map<string, Fetch>();
  /** Downloads by target volume: requests with different passwords may have the same content. */
  readonly #filling = new Map<string, Promise<void>>();
  readonly #leases = new Map<string, number>();
  readonly #removals = new Map<string, Promise<void>>();
  /** Complete images. */
  readonly #whole = new Set<string>();
  readonly #closing = new AbortController();
  #images: Promise<ImageVolumes | null> | undefined;
  #lastSweep: Promise<void> = Promise.resolve();
  #nextSweep: Promise<void> | undefined;

  constructor(options: ImageStoreOptions) {
    this.#options = options;
  }

  /**
   * Removes partial downloads of an earlier process, and images that no machine uses. Does not
   * create the pool.
   * @throws {DriverError} if the host does not answer; the next request for an image repeats the
   *   cleanup.
   */
  async tidy(): Promise<void> {
    await this.#open({ create: false });
  }

  /** Opens the pool again after a new connection, and retries failed removals. */
  reopen(): void {
    this.#images = undefined;
    this.#whole.clear();
  }

  /**
   * Returns the image, and downloads it unless this content is stored already. Concurrent callers
   * share one download.
   * @throws {DriverError} with a media kind (mediaUnreachable also if the download takes too long),
   *   storageFull, unavailable; the signal's reason if it aborts.
   */
  async acquire(image: ImageRequest, options: AcquireOptions = {}): Promise<ImageLease> {
    options.signal?.throwIfAborted();
    const images = await this.#open({ create: true });
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
      return await this.#lease(name, images);
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
    // One sweep runs at a time. Callers during a sweep share one more, because the running sweep
    // may have read their images as used.
    this.#nextSweep ??= this.#lastSweep.then(() => {
      this.#nextSweep = undefined;
      return this.#removeUnused();
    });
    this.#lastSweep = this.#nextSweep;
    return this.#nextSweep;
  }

  /** Aborts all downloads and removes their partial volumes. */
  async close(): Promise<void> {
    this.#closing.abort(new DriverError('unavailable', 'fetching the image: the service is shutting down'));
    await Promise.allSettled([...this.#filling.values(), ...this.#removals.values()]);
    await Promise.allSettled([...this.#fetches.values()].map(({ result }) => result));
  }

  async #removeUnused(): Promise<void> {
    try {
      const images = await this.#open({ create: false });
      if (images !== null) await this.#sweep(images, (name) => this.#whole.has(name));
    } catch (error) {
      this.#options.warn('removing unused images', error);
    }
  }

  async #open(options: { readonly create: boolean }): Promise<ImageVolumes | null> {
    for (;;) {
      // One at a time: two would both create the pool, and remove the same volumes.
      const opening = (this.#images ??= this.#openAnew(options));
      const images = await opening;
      if (images !== null || !options.create) return images;
      // The earlier call did not need a pool, and there was none.
      if (this.#images === opening) this.#images = undefined;
    }
  }

  #openAnew(options: { readonly create: boolean }): Promise<ImageVolumes | null> {
    const opening = attempt('opening the image store', async () => {
      const images = await this.#options.openImageVolumes(options);
      if (images === null) return null;
      const isBeingFilled = (name: string): boolean => this.#filling.has(name.replace(/\.part$/, ''));
      for (const name of await images.list()) if (!isPartVolume(name) && !isBeingFilled(name)) this.#whole.add(name);
      await this.#sweep(images, (name) => !isBeingFilled(name));
      return images;
    });
    opening.catch(() => {
      if (this.#images === opening) this.#images = undefined;
    });
    return opening;
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
    const wanted: Wanted = { image, images, limits, progress, signal };
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
  async #fetch(wanted: Wanted): Promise<string> {
    const { image, images, limits, signal } = wanted;
    const url = storedUrl(image.url);
    const known = [...this.#whole].some((name) => name.startsWith(imageVolumePrefix(url)));
    if (known) {
      const validator = await inspectImage(image, limits, signal);
      if (validator !== null && identifiesContent(validator)) {
        const name = imageVolumeName(url, validator);
        if (await this.#isHere(name, images)) return name;
      }
    }
    const download = await open(wanted);
    if (!identifiesContent(download.validator)) {
      // The stored image of this URL may be an older content of the same size.
      const name = privateVolumeName(url);
      await this.#fill(name, download, images, signal);
      return name;
    }
    const name = imageVolumeName(url, download.validator);
    const isHere = await this.#isHere(name, images);
    // Read and set in the same tick, so that two downloads never fill the same volume.
    const filling = this.#filling.get(name);
    if (!isHere && filling === undefined) {
      await this.#fill(name, download, images, signal);
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

  async #fetchOwn(name: string, wanted: Wanted): Promise<string> {
    await this.#fill(name, await open(wanted), wanted.images, wanted.signal);
    return name;
  }

  async #fill(
    name: string,
    { body, validator }: ImageDownload,
    images: ImageVolumes,
    signal: AbortSignal,
  ): Promise<void> {
    const filling = images.put(name, body, validator.sizeBytes, signal).then(() => {
      this.#whole.add(name);
    });
    this.#filling.set(name, filling);
    try {
      await filling;
    } finally {
      this.#filling.delete(name);
    }
  }

  async #isHere(name: string, images: ImageVolumes): Promise<boolean> {
    await this.#removals.get(name);
    if (!this.#whole.has(name)) return false;
    if ((await images.find(name)) !== null) return true;
    this.#whole.delete(name);
    return false;
  }

  async #lease(name: string, images: ImageVolumes): Promise<ImageLease> {
    this.#leases.set(name, (this.#leases.get(name) ?? 0) + 1);
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      const left = (this.#leases.get(name) ?? 1) - 1;
      if (left === 0) this.#leases.delete(name);
      else this.#leases.set(name, left);
    };
    try {
      await this.#removals.get(name);
      const place = await images.find(name);
      if (place === null) throw new DriverError('internal', 'fetching the image: it was removed from its storage pool');
      return { ...place, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #sweep(images: ImageVolumes, eligible: (name: string) => boolean): Promise<void> {
    const candidates = (await images.list()).filter((name) => eligible(name) && !this.#leases.has(name));
    if (candidates.length === 0) return;
    const used = await this.#options.sourcesInUse();
    for (const name of candidates) {
      const place = await images.find(name);
      // Leased while the machines were read: the next sweep decides.
      if (place === null || used.has(place.name) || this.#leases.has(name)) continue;
      this.#whole.delete(name);
      const removal = images
        .remove(name)
        .catch((error: unknown) => this.#options.warn(`removing image ${name}`, error))
        .finally(() => this.#removals.delete(name));
      this.#removals.set(name, removal);
      await removal;
    }
  }
}

async function open({ image, limits, progress, signal }: Wanted): Promise<ImageDownload> {
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
