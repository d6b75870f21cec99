import type { CallOptions, Link } from './link.js';
import type { StorageVolumeRef } from './protocol/object.js';
import { storageVolumeProcedures } from './protocol/storage.js';
import type { LibvirtStream } from './stream.js';

/** Kind and sizes of a volume. @see virStorageVolInfo */
export interface StorageVolumeInfo {
  /** One of `StorageVolType`. */
  readonly type: number;
  /** What a guest sees. */
  readonly capacityBytes: number;
  /** What it takes on the host. */
  readonly allocationBytes: number;
}

/** Which part of a volume a stream carries. */
export interface StorageVolumeRange {
  /** Where it begins; default 0. */
  readonly offsetBytes?: number;
  /** How long it is; default 0, all that follows. */
  readonly lengthBytes?: number;
}

/**
 * A volume of a storage pool: a value that names it, and methods that speak to its host. When it is gone, methods reject with
 * `NO_STORAGE_VOL`. Methods are libvirt's functions without `virStorageVol`.
 * @see https://libvirt.org/html/libvirt-libvirt-storage.html
 */
export class StorageVolume implements StorageVolumeRef {
  readonly #link: Link;
  /** Name of its pool. */
  readonly pool: string;
  readonly name: string;
  /** Unique on the host; for files, the path. */
  readonly key: string;

  constructor(link: Link, { pool, name, key }: StorageVolumeRef) {
    this.#link = link;
    this.pool = pool;
    this.name = name;
    this.key = key;
  }

  /** Kind and sizes. */
  async getInfo(options?: CallOptions): Promise<StorageVolumeInfo> {
    return toInfo(await this.#link.call(storageVolumeProcedures.getInfo, { volume: this }, options));
  }

  /** @param flags `StorageVolInfoFlags`: GET_PHYSICAL gives the file's size as `allocationBytes`. */
  async getInfoFlags(flags: number, options?: CallOptions): Promise<StorageVolumeInfo> {
    return toInfo(await this.#link.call(storageVolumeProcedures.getInfoFlags, { volume: this, flags }, options));
  }

  /** Where a guest's `<source>` finds it, mostly a file or a device. */
  getPath(options?: CallOptions): Promise<string> {
    return this.#link.call(storageVolumeProcedures.getPath, { volume: this }, options);
  }

  /** Format, sizes, path and owner as XML. */
  getXmlDesc(options?: CallOptions): Promise<string> {
    return this.#link.call(storageVolumeProcedures.getXmlDesc, { volume: this, flags: 0 }, options);
  }

  /** @param flags `StorageVolDeleteFlags`. */
  delete(flags = 0, options?: CallOptions): Promise<void> {
    return this.#link.work(null, storageVolumeProcedures.delete, { volume: this, flags }, options);
  }

  /** @param flags `StorageVolResizeFlags`; SHRINK where it becomes smaller. */
  resize(capacityBytes: number, flags = 0, options?: CallOptions): Promise<void> {
    return this.#link.work(
      null,
      storageVolumeProcedures.resize,
      { volume: this, capacity: capacityBytes, flags },
      options,
    );
  }

  /**
   * Opens a stream that writes into the volume. It is a Duplex: `pipeline(source, stream)` uploads with backpressure, and the
   * stream finishes when libvirtd has confirmed the last byte. Writing past the end of the range is an `error` of the stream;
   * without `lengthBytes` a volume that is a file grows instead. What was written before an error stays.
   */
  upload(range: StorageVolumeRange = {}, options?: CallOptions): Promise<LibvirtStream> {
    return this.#link.openStream(storageVolumeProcedures.upload, this.#range(range), options);
  }

  /**
   * Opens a stream that reads the volume; destroy it to stop early. A range that reaches beyond the volume's end gives what is
   * there. Silence has no time-out: where storage hangs, so does the stream, and giving it up makes libvirtd 9.0 wait for that
   * storage with its event loop, which then serves nobody.
   */
  download(range: StorageVolumeRange = {}, options?: CallOptions): Promise<LibvirtStream> {
    return this.#link.openStream(storageVolumeProcedures.download, this.#range(range), options);
  }

  #range({ offsetBytes = 0, lengthBytes = 0 }: StorageVolumeRange) {
    // Sparse streams (flag 1) need a dialect of the stream protocol that this client does not speak.
    return { volume: this, offset: offsetBytes, length: lengthBytes, flags: 0 };
  }
}

function toInfo(info: { type: number; capacity: number; allocation: number }): StorageVolumeInfo {
  return { type: info.type, capacityBytes: info.capacity, allocationBytes: info.allocation };
}
