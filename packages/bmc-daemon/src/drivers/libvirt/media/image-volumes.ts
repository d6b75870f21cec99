/**
 * Stores images in a storage pool: as files if libvirt sees the files that this process writes to the pool's
 * directory, otherwise through libvirt's streams.
 */
import { createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorCode } from '@rackless/daemon/error-code.js';
import { isLibvirtError, StorageVolType, type StoragePool, type StorageVolume } from '@rackless/libvirt';
import { ImageError } from '../../../media/image-error.js';
import { isStoredImageName, partImageName } from '../../../media/image-key.js';
import type { ActivePool } from './open-pool.js';
import type { MediaSource } from '../xml/devices/disk-source.js';

/** The source of an image for a guest. */
export interface ImagePlace {
  readonly source: MediaSource;
  /** `DiskSource.name` of a drive with this image. */
  readonly name: string;
}

/** The images of the daemon in one pool, complete or partial. Does not contain volumes of users. */
export interface ImageVolumes {
  /**
   * A text that identifies the pool: hosts that share a pool have equal texts. Null or absent: no host is
   * known to share it.
   */
  readonly identity?: string | null;
  /** Returns the names of all images. */
  list(): Promise<readonly string[]>;
  /** Returns the source of an image; null if there is no image with this name. */
  find(name: string): Promise<ImagePlace | null>;
  /**
   * Stores `body` under `name`. After a failure, tries to remove the incomplete volume.
   * @param sizeBytes null if it is not known in advance.
   * @throws {ImageError} storageFull.
   * @throws {unknown} the error of `body`, of libvirt or of the file system; an error of the abort.
   */
  put(name: string, body: Readable, sizeBytes: number | null, signal: AbortSignal): Promise<void>;
  /** Removes an image. Ignores a missing one. */
  remove(name: string): Promise<void>;
}

/**
 * Returns the images of a pool, as files or through libvirt's streams.
 * @param timeoutMs timeout of each libvirt call, except of streams.
 */
export function openImageVolumes({ pool, directory, identity }: ActivePool, timeoutMs: number): ImageVolumes {
  if (directory !== null) return new DirectoryVolumes(pool, directory, identity, timeoutMs);
  return new StreamedVolumes(pool, identity, timeoutMs);
}

class DirectoryVolumes implements ImageVolumes {
  constructor(
    private readonly pool: StoragePool,
    private readonly directory: string,
    readonly identity: string | null,
    private readonly timeoutMs: number,
  ) {}

  async list(): Promise<readonly string[]> {
    return (await readdir(this.directory)).filter(isStoredImageName);
  }

  async find(name: string): Promise<ImagePlace | null> {
    const path = join(this.directory, name);
    try {
      await stat(path);
      return filePlace(path);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return null;
      throw error;
    }
  }

  async put(name: string, body: Readable, sizeBytes: number | null, signal: AbortSignal): Promise<void> {
    const path = join(this.directory, name);
    const part = join(this.directory, partImageName(name));
    try {
      const { bavail, bsize } = await statfs(this.directory);
      checkFreeSpace(sizeBytes, bavail * bsize);
      // QEMU runs as another user, which needs only read access.
      await pipeline(body, createWriteStream(part, { mode: 0o644, highWaterMark: 1_048_576 }), { signal });
      await rename(part, path);
    } catch (error) {
      body.destroy();
      await rm(part, { force: true });
      throw errorCode(error) === 'ENOSPC' || errorCode(error) === 'EDQUOT' ? poolFull(error) : error;
    }
    await this.#refresh();
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.directory, name), { force: true });
    await this.#refresh();
  }

  /**
   * Refreshes the pool, so that its list in libvirt shows a new image, and no longer a removed one. Ignores an
   * error, for example of a busy pool, because guests use the path of the image.
   */
  async #refresh(): Promise<void> {
    await this.pool.refresh({ timeoutMs: this.timeoutMs }).catch(() => undefined);
  }
}

class StreamedVolumes implements ImageVolumes {
  constructor(
    private readonly pool: StoragePool,
    readonly identity: string | null,
    private readonly timeoutMs: number,
  ) {}

  async list(): Promise<readonly string[]> {
    const volumes = await this.pool.listAllVolumes({ timeoutMs: this.timeoutMs });
    return volumes.map(({ name }) => name).filter(isStoredImageName);
  }

  async find(name: string): Promise<ImagePlace | null> {
    const found = await this.#lookUp(name);
    if (found !== null || this.identity === null) return found;
    // Another host may have stored the image. libvirt then finds it only after a refresh.
    await this.pool.refresh({ timeoutMs: this.timeoutMs }).catch(() => undefined);
    return await this.#lookUp(name);
  }

  async put(name: string, body: Readable, sizeBytes: number | null, signal: AbortSignal): Promise<void> {
    const options = { timeoutMs: this.timeoutMs };
    let volume: StorageVolume | undefined;
    try {
      const { availableBytes } = await this.pool.getInfo(options);
      checkFreeSpace(sizeBytes, availableBytes);
      volume = await this.pool.storageVolCreateXml(volumeXml(name, sizeBytes ?? 0), 0, options);
      const stream = await volume.upload({}, { ...options, signal });
      await pipeline(body, stream, { signal });
      // Only a refresh tells libvirt the real size of a volume that was created with size 0.
      if (sizeBytes === null) await this.pool.refresh(options);
    } catch (error) {
      body.destroy();
      await volume?.delete(0, options).catch(() => undefined);
      throw isLibvirtError(error) && /No space left on device/i.test(error.message) ? poolFull(error) : error;
    }
  }

  async remove(name: string): Promise<void> {
    const options = { timeoutMs: this.timeoutMs };
    try {
      const volume = await this.pool.storageVolLookupByName(name, options);
      await volume.delete(0, options);
    } catch (error) {
      if (!isLibvirtError(error, 'NO_STORAGE_VOL')) throw error;
    }
  }

  async #lookUp(name: string): Promise<ImagePlace | null> {
    try {
      return await this.#place(await this.pool.storageVolLookupByName(name, { timeoutMs: this.timeoutMs }));
    } catch (error) {
      if (isLibvirtError(error, 'NO_STORAGE_VOL')) return null;
      throw error;
    }
  }

  async #place(volume: StorageVolume): Promise<ImagePlace> {
    const options = { timeoutMs: this.timeoutMs };
    const { type } = await volume.getInfo(options);
    if (type === StorageVolType.FILE) return filePlace(await volume.getPath(options));
    // The volume is no file, but for example a logical volume or a Ceph image. So the definition names the volume by
    // its pool, and libvirt finds it for QEMU.
    const { pool, name } = volume;
    return { source: { type: 'volume', pool, volume: name }, name: `${pool}/${name}` };
  }
}

const filePlace = (path: string): ImagePlace => ({ source: { type: 'file', path }, name: path });

/** Returns the XML of a sparse volume. So an upload uses only the space of the data that has arrived. */
function volumeXml(name: string, sizeBytes: number): string {
  return (
    `<volume><name>${name}</name><capacity unit='bytes'>${sizeBytes}</capacity><allocation>0</allocation>` +
    `<target><format type='raw'/><permissions><mode>0644</mode></permissions></target></volume>`
  );
}

function checkFreeSpace(sizeBytes: number | null, availableBytes: number): void {
  if (sizeBytes !== null && sizeBytes > availableBytes) throw poolFull(undefined);
}

function poolFull(cause: unknown): ImageError {
  return new ImageError('storageFull', 'storing the image: the storage pool is full', { cause });
}
