/**
 * Leases of images: they mark images that a daemon is about to use, so that no other daemon deletes
 * them. A mark is a property of the image, and contains the time. The marks of a killed daemon
 * expire. If the killed daemon starts again, it ignores its own old marks at once.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import type { CloudImage, ImageApi } from './image-api.js';

/** Age at which a mark expires. The daemon that made it no longer renews it, so that daemon was killed. */
const LEASE_MS = 600_000;
/** Period in which a daemon renews its marks. */
const RENEW_MS = 60_000;
const PREFIX = 'rackless_lease_';

/** The leases of one daemon. Close it with the driver. */
export class ImageLeases {
  readonly #api: Pick<ImageApi, 'setProperty'>;
  /** The name of the property that is the mark of this daemon. */
  readonly #markName: string;
  readonly #log: Log;
  /** Number of leases by the id of the image. */
  readonly #held = new Map<string, number>();
  /** Number of images that Glance is creating for this daemon. Their ids are not known yet. */
  #creating = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param daemon a text that is unique to this daemon, and the same after a restart.
   */
  constructor(api: Pick<ImageApi, 'setProperty'>, { daemon, log }: { readonly daemon: string; readonly log: Log }) {
    this.#api = api;
    this.#markName = PREFIX + daemon;
    this.#log = log;
  }

  /**
   * Creates an image, and holds it from the beginning. Glance may list the image long before it answers. So
   * until the answer, each image with a young mark of this daemon has a lease.
   * @param create requests the image, with the mark as its property. Returns the id.
   * @returns the id, and the function that releases the image.
   * @throws as `create`.
   */
  async create(
    create: (mark: Readonly<Record<string, string>>) => Promise<string>,
  ): Promise<{ readonly id: string; readonly release: () => void }> {
    this.#creating += 1;
    try {
      const id = await create({ [this.#markName]: new Date().toISOString() });
      return { id, release: this.hold(id) };
    } finally {
      this.#creating -= 1;
    }
  }

  /** Marks an image. @throws {DriverError} if Glance rejects this, for example because the image is gone. */
  async mark(id: string): Promise<void> {
    await this.#api.setProperty(id, this.#markName, new Date().toISOString());
  }

  /**
   * Renews the mark of an image until the release. The first renewal may come {@link RENEW_MS} later. So an image
   * without a mark also needs a call of {@link mark}.
   * @returns the function that releases the image.
   */
  hold(id: string): () => void {
    this.#held.set(id, (this.#held.get(id) ?? 0) + 1);
    this.#timer ??= setInterval(() => this.#renew(), RENEW_MS).unref();
    let isHeld = true;
    return () => {
      if (isHeld) this.#release(id);
      isHeld = false;
    };
  }

  /**
   * Returns the end of the last lease of an image, in milliseconds of {@link Date.now}; undefined
   * if no daemon has a lease.
   */
  leasedUntil(image: Pick<CloudImage, 'id' | 'properties'>, now: number): number | undefined {
    if (this.#held.has(image.id)) return now + LEASE_MS;
    const ends = [...image.properties]
      // If this daemon neither holds nor creates the image, its own mark is from before its last restart.
      .filter(([name]) => name.startsWith(PREFIX) && (name !== this.#markName || this.#creating > 0))
      // A mark with a time far in the future would otherwise stay valid for too long.
      .map(([, time]) => Math.min(Date.parse(time), now) + LEASE_MS)
      .filter((end) => end > now);
    return ends.length === 0 ? undefined : Math.max(...ends);
  }

  /** Ends the renewals. */
  close(): void {
    clearInterval(this.#timer);
  }

  #release(id: string): void {
    const count = (this.#held.get(id) ?? 1) - 1;
    if (count > 0) {
      this.#held.set(id, count);
      return;
    }
    this.#held.delete(id);
    if (this.#held.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    this.#api.setProperty(id, this.#markName, null).catch((error: unknown) => {
      this.#log.debug('removing the mark of an image failed: the mark expires later', { image: id, error });
    });
  }

  #renew(): void {
    for (const id of this.#held.keys()) {
      this.mark(id).catch((error: unknown) => {
        this.#log.debug('renewing the mark of an image failed', { image: id, error });
      });
    }
  }
}
