import type { CallOptions, Link } from '../link/link.js';
import type { StorageVolumeRef } from '../protocol/object.js';
import { storageVolumeProcedures } from '../protocol/storage.js';
import type { LibvirtStream } from '../stream.js';

/** Type and sizes of a volume. @see virStorageVolInfo */
export interface StorageVolumeInfo {
  /** One of `StorageVolType`. */
  readonly type: number;
  /** Size that a guest sees. */
  readonly capacityBytes: number;
  /** Disk space on the host. */
  readonly allocationBytes: number;
}

/** Part of a volume that a stream reads or writes. */
export interface StorageVolumeRange {
  /** Start. Default: 0. */
  readonly offsetBytes?: number;
  /** Length. Default: 0, which means the rest of the volume. */
  readonly lengthBytes?: number;
}

/**
 * A volume of a storage pool. The object is a value, so there is nothing to close. If the volume no
 * longer exists, methods reject with `NO_STORAGE_VOL`. Methods have the names of libvirt's
 * functions without `virStorageVol`.
 * @see https://libvirt.org/html/libvirt-libvirt-storage.html
 */
export class StorageVolume implements StorageVolumeRef {
  readonly #link: Link;
  /** Name of the pool that contains the volume. */
  readonly pool: string;
  readonly name: string;
  /** Unique key on the host; for files, the path. */
  readonly key: string;

  constructor(link: Link, { pool, name, key }: StorageVolumeRef) {
    this.#link = link;
    this.pool = pool;
    this.name = name;
    this.key = key;
  }

  /** Returns the type and the sizes. */
  async getInfo(options?: CallOptions): Promise<StorageVolumeInfo> {
    return toInfo(await this.#link.call(storageVolumeProcedures.getInfo, { volume: this }, options));
  }

  /**
   * Returns the type and the sizes.
   * @param flags `StorageVolInfoFlags`; with GET_PHYSICAL, `allocationBytes` is the file size.
   */
  async getInfoFlags(flags: number, options?: CallOptions): Promise<StorageVolumeInfo> {
    return toInfo(await this.#link.call(storageVolumeProcedures.getInfoFlags, { volume: this, flags }, options));
  }

  /** Returns the path for `<source>` in a domain's XML, usually a file or a device. */
  getPath(options?: CallOptions): Promise<string> {
    return this.#link.call(storageVolumeProcedures.getPath, { volume: this }, options);
  }

  /** Returns format, sizes, path and owner as XML. */
  getXmlDesc(options?: CallOptions): Promise<string> {
    return this.#link.call(storageVolumeProcedures.getXmlDesc, { volume: this, flags: 0 }, options);
  }

  /** Deletes the volume. @param flags `StorageVolDeleteFlags`. */
  delete(flags = 0, options?: CallOptions): Promise<void> {
    return this.#link.work(null, storageVolumeProcedures.delete, { volume: this, flags }, options);
  }

  /** Changes the size. @param flags `StorageVolResizeFlags`; use SHRINK for a smaller size. */
  resize(capacityBytes: number, flags = 0, options?: CallOptions): Promise<void> {
    return this.#link.work(
      null,
      storageVolumeProcedures.resize,
      { volume: this, capacity: capacityBytes, flags },
      options,
    );
  }

  /**
   * Opens a stream that writes to the volume. `pipeline(source, stream)` uploads with backpressure.
   * The stream emits `finish` when libvirtd has confirmed the last byte. A write after the end of
   * the range is an `error` of the stream; without `lengthBytes`, a file volume grows. Data
   * that was written before an error remains.
   */
  upload(range: StorageVolumeRange = {}, options?: CallOptions): Promise<LibvirtStream> {
    return this.#link.openStream(storageVolumeProcedures.upload, this.#range(range), options);
  }

  /**
   * Opens a stream that reads the volume. Destroy the stream to stop early. If the range exceeds
   * the volume, the stream ends at the end of the volume. `timeoutMs` limits only the opening: an
   * open stream waits while the storage hangs. If you destroy the stream during that time, libvirtd
   * 9.0 blocks its event loop and answers no client until the storage works again.
   */
  download(range: StorageVolumeRange = {}, options?: CallOptions): Promise<LibvirtStream> {
    return this.#link.openStream(storageVolumeProcedures.download, this.#range(range), options);
  }

  #range({ offsetBytes = 0, lengthBytes = 0 }: StorageVolumeRange) {
    // Sparse streams (flag 1) are not supported: they use further message types.
    return { volume: this, offset: offsetBytes, length: lengthBytes, flags: 0 };
  }
}

function toInfo(info: { type: number; capacity: number; allocation: number }): StorageVolumeInfo {
  return { type: info.type, capacityBytes: info.capacity, allocationBytes: info.allocation };
}
