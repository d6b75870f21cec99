/**
 * The complete images in the storage pool. All machines share them. A sweep removes the images
 * that no machine uses. The name of a volume identifies its URL and content (media/image-key.ts), so
 * no record is needed.
 */
import { imageVolumePrefix, isPartVolume } from '../../../media/image-key.js';
import type { ImageDownload } from '../../../media/image-server.js';
import { DriverError } from '../../driver-error.js';
import { attempt } from '../failure.js';
import type { ImagePlace, ImageVolumes } from './image-volumes.js';

/** Dependencies of {@link StoredImages}. */
export interface StoredImagesOptions {
  /**
   * Opens the pool; null if there is none and `create` is false. The store calls it again after a
   * failure and after a new connection.
   */
  readonly openImageVolumes: (options: { readonly create: boolean }) => Promise<ImageVolumes | null>;
  /** Returns `DiskSource.name` of every drive of every machine, running or defined. */
  readonly sourcesInUse: () => Promise<ReadonlySet<string>>;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * An image that the store does not remove before its release. After the release, the store removes
 * the image unless a machine uses it.
 */
export interface ImageLease extends ImagePlace {
  release(): void;
}

/** The images in the pool of one host. */
export class StoredImages {
  readonly #options: StoredImagesOptions;
  /** Complete images. */
  readonly #complete = new Set<string>();
  /**
   * Running downloads by target volume, because requests with different passwords may be for the
   * same content.
   */
  readonly #filling = new Map<string, Promise<void>>();
  readonly #leases = new Map<string, number>();
  readonly #removals = new Map<string, Promise<void>>();
  #images: Promise<ImageVolumes | null> | undefined;
  #lastSweep: Promise<void> = Promise.resolve();
  #nextSweep: Promise<void> | undefined;

  constructor(options: StoredImagesOptions) {
    this.#options = options;
  }

  /**
   * Opens the pool. The first call removes partial downloads of an earlier run of the daemon, and
   * images that no machine uses.
   * @returns null if there is no pool and `create` is false.
   * @throws {DriverError} if the host does not answer; the next call tries again.
   */
  async open(options: { readonly create: boolean }): Promise<ImageVolumes | null> {
    for (;;) {
      // Only one call at a time opens the pool. Two calls would both create the pool and remove the
      // same volumes.
      const opening = (this.#images ??= this.#openAnew(options));
      const images = await opening;
      if (images !== null || !options.create) return images;
      // The earlier call did not need a pool, and there was none.
      if (this.#images === opening) this.#images = undefined;
    }
  }

  /** Opens the pool again after a new connection, and retries failed removals. */
  reopen(): void {
    this.#images = undefined;
    this.#complete.clear();
  }

  /** Returns whether there is a complete image of a URL, of any content. */
  hasImageOf(url: string): boolean {
    return [...this.#complete].some((name) => name.startsWith(imageVolumePrefix(url)));
  }

  /**
   * Returns whether a complete image is in the pool. If its removal is running, waits for the end
   * of the removal.
   */
  async isComplete(name: string, images: ImageVolumes): Promise<boolean> {
    await this.#removals.get(name);
    if (!this.#complete.has(name)) return false;
    if ((await images.find(name)) !== null) return true;
    this.#complete.delete(name);
    return false;
  }

  /** Returns the running download into a volume. */
  filling(name: string): Promise<void> | undefined {
    return this.#filling.get(name);
  }

  /** Stores a download as a complete image. */
  async fill(
    name: string,
    { body, validator }: ImageDownload,
    images: ImageVolumes,
    signal: AbortSignal,
  ): Promise<void> {
    const filling = images.put(name, body, validator.sizeBytes, signal).then(() => {
      this.#complete.add(name);
    });
    this.#filling.set(name, filling);
    try {
      await filling;
    } finally {
      this.#filling.delete(name);
    }
  }

  /** Returns an image that is not removed until its release. */
  async lease(name: string, images: ImageVolumes): Promise<ImageLease> {
    this.#leases.set(name, (this.#leases.get(name) ?? 0) + 1);
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      const remaining = (this.#leases.get(name) ?? 1) - 1;
      if (remaining === 0) this.#leases.delete(name);
      else this.#leases.set(name, remaining);
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

  /** Waits for running downloads and removals. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#filling.values(), ...this.#removals.values()]);
  }

  async #removeUnused(): Promise<void> {
    try {
      const images = await this.open({ create: false });
      if (images !== null) await this.#sweep(images, (name) => this.#complete.has(name));
    } catch (error) {
      this.#options.warn('removing unused images', error);
    }
  }

  #openAnew(options: { readonly create: boolean }): Promise<ImageVolumes | null> {
    const opening = attempt('opening the image store', async () => {
      const images = await this.#options.openImageVolumes(options);
      if (images === null) return null;
      const isBeingFilled = (name: string): boolean => this.#filling.has(name.replace(/\.part$/, ''));
      for (const name of await images.list()) if (!isPartVolume(name) && !isBeingFilled(name)) this.#complete.add(name);
      await this.#sweep(images, (name) => !isBeingFilled(name));
      return images;
    });
    opening.catch(() => {
      if (this.#images === opening) this.#images = undefined;
    });
    return opening;
  }

  /** Removes the images that no machine uses and no caller has leased. */
  async #sweep(images: ImageVolumes, eligible: (name: string) => boolean): Promise<void> {
    const candidates = (await images.list()).filter((name) => eligible(name) && !this.#leases.has(name));
    if (candidates.length === 0) return;
    const used = await this.#options.sourcesInUse();
    for (const name of candidates) {
      const place = await images.find(name);
      // A caller has leased the image while the machines were read, so the next sweep decides.
      if (place === null || used.has(place.name) || this.#leases.has(name)) continue;
      this.#complete.delete(name);
      const removal = images
        .remove(name)
        .catch((error: unknown) => this.#options.warn(`removing image ${name}`, error))
        .finally(() => this.#removals.delete(name));
      this.#removals.set(name, removal);
      await removal;
    }
  }
}
