/**
 * The complete images in the storage pool. Machines share them, except private copies. A sweep removes the
 * images that no machine uses. The name of a volume identifies its URL and content (media/image-key.ts), so no
 * record is needed.
 */
import { storedImagePrefix, isPartImageName } from '../../../media/image-key.js';
import type { ImageDownload } from '../../../media/image-download.js';
import { DriverError } from '../../driver-error.js';
import { attempt } from '../failure.js';
import { PoolContents, SharedPools, type PoolUser } from './shared-pools.js';
import type { ImagePlace, ImageVolumes } from './image-volumes.js';

/** Dependencies of {@link StoredImages}. */
export interface StoredImagesOptions {
  /**
   * Opens the pool; null if there is none and `create` is false. The store calls it again after a
   * failure and after a new connection.
   */
  readonly openImageVolumes: (options: { readonly create: boolean }) => Promise<ImageVolumes | null>;
  /** Returns `DiskSource.name` of every disk and drive of every machine: running, defined or saved. */
  readonly sourcesInUse: () => Promise<ReadonlySet<string>>;
  readonly warn: (message: string, error: unknown) => void;
  /** The pools of all hosts. Default: there is only one host. */
  readonly pools?: SharedPools | undefined;
}

/**
 * An image that the store does not remove before its release. After the release, the next removal of
 * unused images removes it, unless a machine uses it.
 */
export interface ImageLease extends ImagePlace {
  /** Ends the lease. A second call does nothing. */
  release(): void;
}

/** The images in the pool of one host. */
export class StoredImages {
  readonly #options: StoredImagesOptions;
  readonly #pools: SharedPools;
  readonly #user: PoolUser;
  #contents: PoolContents;
  /** Whether leftovers must be removed as soon as the pools of all hosts are known. */
  #needsTidying = false;
  #images: Promise<ImageVolumes | null> | undefined;
  #lastSweep: Promise<void> = Promise.resolve();
  #nextSweep: Promise<void> | undefined;

  constructor(options: StoredImagesOptions) {
    this.#options = options;
    this.#pools = options.pools ?? new SharedPools();
    this.#user = { sourcesInUse: options.sourcesInUse, onPoolsKnown: () => void this.#tidyLater() };
    this.#contents = new PoolContents();
    this.#pools.add(this.#user);
  }

  /** The downloads into the pool, also those of other hosts that have it. */
  get downloads(): PoolContents['downloads'] {
    return this.#contents.downloads;
  }

  /**
   * Opens the pool. The first call, and the first one after {@link reopen}, removes partial downloads that no
   * longer run, and images that no machine uses. If several hosts may share the pool, the removal follows
   * later, in the background.
   * @returns null if there is no pool and `create` is false.
   * @throws {DriverError} if the pool cannot be opened, for example because the host does not answer; the next
   *   call retries.
   */
  async open(options: { readonly create: boolean }): Promise<ImageVolumes | null> {
    for (;;) {
      // Only one call at a time opens the pool. Two calls would both create the pool and remove the
      // same volumes.
      const opening = (this.#images ??= this.#openAnew(options));
      const images = await opening;
      if (images !== null || !options.create) return images;
      // There was no pool, and the earlier call did not create one. So this call opens the pool again.
      if (this.#images === opening) this.#images = undefined;
    }
  }

  /**
   * Makes the next {@link open} open the pool anew, which also retries failed removals. Call this after a
   * new connection.
   */
  reopen(): void {
    this.#images = undefined;
    // If other hosts also use the list of complete images, it stays: `isComplete` checks each image before its use.
    if (this.#contents.users.size < 2) this.#contents.complete.clear();
  }

  /** Returns whether there is a complete image of a URL, of any content. */
  hasImageOf(url: string): boolean {
    return [...this.#contents.complete].some((name) => name.startsWith(storedImagePrefix(url)));
  }

  /**
   * Returns whether a complete image is in the pool. If its removal is running, waits for the end
   * of the removal.
   */
  async isComplete(name: string, images: ImageVolumes): Promise<boolean> {
    await this.#contents.removals.get(name);
    if (!this.#contents.complete.has(name)) return false;
    if ((await images.find(name)) !== null) return true;
    this.#contents.complete.delete(name);
    return false;
  }

  /** Returns the running download into a volume; undefined if there is none. */
  filling(name: string): Promise<void> | undefined {
    return this.#contents.filling.get(name);
  }

  /** Stores a download as a complete image. @throws the errors of {@link ImageVolumes.put}. */
  async fill(
    name: string,
    { body, validator }: ImageDownload,
    images: ImageVolumes,
    signal: AbortSignal,
  ): Promise<void> {
    const filling = images.put(name, body, validator.sizeBytes, signal).then(() => {
      this.#contents.complete.add(name);
    });
    this.#contents.filling.set(name, filling);
    try {
      await filling;
    } finally {
      this.#contents.filling.delete(name);
    }
  }

  /**
   * Returns an image that is not removed until its release.
   * @throws {DriverError} internal, if it is gone.
   * @throws {unknown} the errors of {@link ImageVolumes.find}.
   */
  async lease(name: string, images: ImageVolumes): Promise<ImageLease> {
    this.#contents.leases.set(name, (this.#contents.leases.get(name) ?? 0) + 1);
    let isReleased = false;
    const release = (): void => {
      if (isReleased) return;
      isReleased = true;
      const remaining = (this.#contents.leases.get(name) ?? 1) - 1;
      if (remaining === 0) this.#contents.leases.delete(name);
      else this.#contents.leases.set(name, remaining);
    };
    try {
      await this.#contents.removals.get(name);
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
    // One sweep runs at a time. Callers during a sweep share one further sweep, because the running
    // sweep may have read their images as used.
    this.#nextSweep ??= this.#lastSweep.then(() => {
      this.#nextSweep = undefined;
      return this.#removeUnused();
    });
    this.#lastSweep = this.#nextSweep;
    return this.#nextSweep;
  }

  /** Waits for running removals, and leaves the pool. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#contents.removals.values());
    this.#pools.remove(this.#user);
  }

  async #removeUnused(): Promise<void> {
    try {
      const images = await this.open({ create: false });
      if (images !== null) await this.#sweep(images, (name) => this.#contents.complete.has(name));
    } catch (error) {
      this.#options.warn('removing unused images failed', error);
    }
  }

  #openAnew(options: { readonly create: boolean }): Promise<ImageVolumes | null> {
    const opening = attempt('opening the image store', async () => {
      const images = await this.#options.openImageVolumes(options);
      this.#contents = this.#pools.join(this.#user, images?.identity ?? null, this.#contents);
      if (images === null) return null;
      const isBeingFilled = (name: string): boolean => this.#isBeingFilled(name);
      for (const name of await images.list())
        if (!isPartImageName(name) && !isBeingFilled(name)) this.#contents.complete.add(name);
      // Other hosts may take long to answer, so the removal of leftovers then runs in the background.
      this.#needsTidying = this.#contents.users.size > 1 || !this.#pools.areKnown;
      if (this.#needsTidying) void this.#tidyLater();
      else await this.#sweep(images, (name) => !isBeingFilled(name));
      return images;
    });
    opening.catch(() => {
      if (this.#images === opening) this.#images = undefined;
    });
    return opening;
  }

  #isBeingFilled(name: string): boolean {
    return this.#contents.filling.has(name.replace(/\.part$/, ''));
  }

  /** Removes leftovers if this is due and the pools of all hosts are known; otherwise does nothing. Logs failures. */
  async #tidyLater(): Promise<void> {
    if (!this.#needsTidying || !this.#pools.areKnown) return;
    this.#needsTidying = false;
    try {
      const images = await this.open({ create: false });
      if (images !== null) await this.#sweep(images, (name) => !this.#isBeingFilled(name));
    } catch (error) {
      this.#options.warn('removing unused images failed', error);
    }
  }

  /**
   * Removes the images that no machine uses and no caller has leased. Removes nothing while another
   * host that may have the same pool does not answer. Logs a failed removal.
   * @param eligible returns false for an image that must stay in any case.
   * @throws {DriverError} if this host's machines cannot be read.
   * @throws {unknown} the errors of {@link ImageVolumes.list} and {@link ImageVolumes.find}.
   */
  async #sweep(images: ImageVolumes, eligible: (name: string) => boolean): Promise<void> {
    const candidates = (await images.list()).filter((name) => eligible(name) && !this.#contents.leases.has(name));
    if (candidates.length === 0) return;
    if ((images.identity ?? null) !== null && !this.#pools.areKnown) {
      this.#needsTidying = true;
      return;
    }
    const used = await this.#options.sourcesInUse();
    const elsewhere = await this.#contents.usedElsewhere(this.#user).catch(() => null);
    if (elsewhere === null) return;
    for (const name of candidates) {
      const place = await images.find(name);
      // Checks the leases again: a caller may have leased the image while the machines were read.
      if (place === null || used.has(place.name) || elsewhere.has(name) || this.#contents.leases.has(name)) continue;
      this.#contents.complete.delete(name);
      const removal = images
        .remove(name)
        .catch((error: unknown) => this.#options.warn(`removing image ${name} failed`, error))
        .finally(() => this.#contents.removals.delete(name));
      this.#contents.removals.set(name, removal);
      await removal;
    }
  }
}
