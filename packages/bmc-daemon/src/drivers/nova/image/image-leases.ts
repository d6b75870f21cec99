/**
 * Marks images that a daemon is about to use, so that no other daemon deletes them. A mark is a
 * property of the image with the time. A daemon that was killed leaves marks, which expire. After its
 * restart it ignores its own ones at once.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import type { CloudImage, ImageApi } from './image-api.js';

/** A mark of this age is left over from a daemon that was killed. */
const LEASE_MS = 600_000;
/** Period in which a daemon renews its marks. */
const RENEW_MS = 60_000;
const PREFIX = 'rackless_lease_';

/** The leases of one daemon; closed with the driver. */
export class ImageLeases {
  readonly #api: Pick<ImageApi, 'setProperty'>;
  readonly #name: string;
  readonly #log: Log;
  /** Number of leases by the id of the image. */
  readonly #held = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param daemon identifies the daemon: the same after a restart, and different for every other one. */
  constructor(api: Pick<ImageApi, 'setProperty'>, { daemon, log }: { readonly daemon: string; readonly log: Log }) {
    this.#api = api;
    this.#name = PREFIX + daemon;
    this.#log = log;
  }

  /** Returns the property of a new image that {@link hold} then takes over. */
  get property(): Readonly<Record<string, string>> {
    return { [this.#name]: new Date().toISOString() };
  }

  /** Marks an image. @throws {DriverError} if it is gone. */
  async mark(id: string): Promise<void> {
    await this.#api.setProperty(id, this.#name, new Date().toISOString());
  }

  /** Holds an image that is marked. @returns the function that releases it. */
  hold(id: string): () => void {
    this.#held.set(id, (this.#held.get(id) ?? 0) + 1);
    this.#timer ??= setInterval(() => this.#renew(), RENEW_MS).unref();
    let isHeld = true;
    return () => {
      if (isHeld) this.#release(id);
      isHeld = false;
    };
  }

  /** Returns until when another daemon, or this one, may use an image; undefined if none does. */
  leasedUntil(image: Pick<CloudImage, 'id' | 'properties'>, now: number): number | undefined {
    if (this.#held.has(image.id)) return now + LEASE_MS;
    const ends = [...image.properties]
      .filter(([name]) => name.startsWith(PREFIX) && name !== this.#name)
      // A time in the future would never expire.
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
    this.#api.setProperty(id, this.#name, null).catch((error: unknown) => {
      this.#log.debug('a mark of an image stays until it expires', { image: id, error });
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
