import type { CallOptions, Link } from '../link/link.js';
import type { StoragePoolRef, StorageVolumeRef } from '../protocol/object.js';
import type { Procedure } from '../protocol/procedure.js';
import { storagePoolProcedures, storageVolumeProcedures } from '../protocol/storage.js';
import { StorageVolume } from './storage-volume.js';

/** State and sizes in bytes, at the time of the last refresh. @see virStoragePoolInfo */
export interface StoragePoolInfo {
  /** One of `StoragePoolState`. */
  readonly state: number;
  readonly capacityBytes: number;
  readonly allocationBytes: number;
  readonly availableBytes: number;
}

/**
 * A storage pool. The object is a value, so there is nothing to close. If the pool no longer
 * exists, methods reject with `NO_STORAGE_POOL`. Methods have the names of libvirt's functions
 * without `virStoragePool`. Changes and `refresh` use the work connection.
 * @see https://libvirt.org/html/libvirt-libvirt-storage.html
 */
export class StoragePool implements StoragePoolRef {
  readonly #link: Link;
  readonly name: string;
  /** Canonical, lower case. */
  readonly uuid: string;

  constructor(link: Link, { name, uuid }: StoragePoolRef) {
    this.#link = link;
    this.name = name;
    this.uuid = uuid;
  }

  /** Returns the state and the sizes. */
  async getInfo(options?: CallOptions): Promise<StoragePoolInfo> {
    const info = await this.#link.call(storagePoolProcedures.getInfo, { pool: this }, options);
    return {
      state: info.state,
      capacityBytes: info.capacity,
      allocationBytes: info.allocation,
      availableBytes: info.available,
    };
  }

  /** Returns the XML. @param flags `StorageXmlFlags`. */
  getXmlDesc(flags = 0, options?: CallOptions): Promise<string> {
    return this.#link.call(storagePoolProcedures.getXmlDesc, { pool: this, flags }, options);
  }

  /** Returns true if the pool is active. */
  isActive(options?: CallOptions): Promise<boolean> {
    return this.#link.call(storagePoolProcedures.isActive, { pool: this }, options);
  }

  /** Returns true if the pool has a definition, which remains after a stop. */
  isPersistent(options?: CallOptions): Promise<boolean> {
    return this.#link.call(storagePoolProcedures.isPersistent, { pool: this }, options);
  }

  /** Returns true if the pool starts with libvirtd. */
  getAutostart(options?: CallOptions): Promise<boolean> {
    return this.#link.call(storagePoolProcedures.getAutostart, { pool: this }, options);
  }

  /** Sets whether the pool starts with libvirtd. */
  setAutostart(autostart: boolean, options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.setAutostart, { pool: this, autostart }, options);
  }

  /**
   * Creates the storage of the pool, for example its directory.
   * @param flags `StoragePoolBuildFlags`.
   */
  build(flags = 0, options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.build, { pool: this, flags }, options);
  }

  /** Starts the pool. @param flags `StoragePoolCreateFlags`. */
  create(flags = 0, options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.create, { pool: this, flags }, options);
  }

  /** Stops the pool. Its data remains. */
  destroy(options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.destroy, { pool: this }, options);
  }

  /** Reads the list of volumes and their sizes again. */
  refresh(options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.refresh, { pool: this, flags: 0 }, options);
  }

  /** Removes the definition of a stopped pool. Its data remains. */
  undefine(options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.undefine, { pool: this }, options);
  }

  /** Returns the volumes at the time of the last refresh. */
  async listAllVolumes(options?: CallOptions): Promise<readonly StorageVolume[]> {
    const args = { pool: this, needResults: 1, flags: 0 };
    const { volumes } = await this.#link.call(storagePoolProcedures.listAllVolumes, args, options);
    return volumes.map((volume) => new StorageVolume(this.#link, volume));
  }

  /** Returns the volume with the given name. @throws {LibvirtError} NO_STORAGE_VOL. */
  async storageVolLookupByName(name: string, options?: CallOptions): Promise<StorageVolume> {
    const volume = await this.#link.call(storageVolumeProcedures.lookupByName, { pool: this, name }, options);
    return new StorageVolume(this.#link, volume);
  }

  /**
   * Creates a volume. Set `timeoutMs` for a large volume with full allocation, which may take longer
   * than the default timeout (`workTimeoutMs`).
   * @param flags `StorageVolCreateFlags`.
   * @throws {LibvirtError} STORAGE_VOL_EXIST if the name is in use.
   */
  async storageVolCreateXml(xml: string, flags = 0, options?: CallOptions): Promise<StorageVolume> {
    const volume = await this.#work(storageVolumeProcedures.createXml, { pool: this, xml, flags }, options);
    return new StorageVolume(this.#link, volume);
  }

  /**
   * Creates a volume with the content of another one, which may be in another pool. libvirt
   * converts between formats, and resolves backing files. Set `timeoutMs` for large volumes.
   * libvirtd continues to copy after a call that timed out or was aborted.
   * @param xml name, capacity and format of the new volume. A smaller capacity is ignored.
   * @param flags `StorageVolCreateFlags`.
   * @throws {LibvirtError} INTERNAL_ERROR if the name is in use.
   */
  async storageVolCreateXmlFrom(
    xml: string,
    source: StorageVolumeRef,
    flags = 0,
    options?: CallOptions,
  ): Promise<StorageVolume> {
    const args = { pool: this, xml, source, flags };
    const volume = await this.#work(storageVolumeProcedures.createXmlFrom, args, options);
    return new StorageVolume(this.#link, volume);
  }

  #work<A, R>(procedure: Procedure<A, R>, args: A, options: CallOptions | undefined): Promise<R> {
    return this.#link.work(null, procedure, args, options);
  }
}
