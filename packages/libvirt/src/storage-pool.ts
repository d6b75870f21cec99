import type { CallOptions, Link } from './link.js';
import type { StoragePoolRef } from './protocol/object.js';
import type { Procedure } from './protocol/procedure.js';
import { storagePoolProcedures, storageVolumeProcedures } from './protocol/storage.js';
import { StorageVolume } from './storage-volume.js';

/** Sizes in bytes, as of the last refresh. @see virStoragePoolInfo */
export interface StoragePoolInfo {
  /** One of `StoragePoolState`. */
  readonly state: number;
  readonly capacityBytes: number;
  readonly allocationBytes: number;
  readonly availableBytes: number;
}

/**
 * A storage pool: a value that names it, and methods that speak to its host. When it is gone, methods reject with
 * `NO_STORAGE_POOL`. Methods are libvirt's functions without `virStoragePool`; what may take the host's disks a while goes over
 * the work connection.
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

  /** State and sizes. */
  async getInfo(options?: CallOptions): Promise<StoragePoolInfo> {
    const info = await this.#link.call(storagePoolProcedures.getInfo, { pool: this }, options);
    return {
      state: info.state,
      capacityBytes: info.capacity,
      allocationBytes: info.allocation,
      availableBytes: info.available,
    };
  }

  /** @param flags `StorageXmlFlags`. */
  getXmlDesc(flags = 0, options?: CallOptions): Promise<string> {
    return this.#link.call(storagePoolProcedures.getXmlDesc, { pool: this, flags }, options);
  }

  /** Whether it runs. */
  isActive(options?: CallOptions): Promise<boolean> {
    return this.#link.call(storagePoolProcedures.isActive, { pool: this }, options);
  }

  /** Whether it has a definition that survives a stop. */
  isPersistent(options?: CallOptions): Promise<boolean> {
    return this.#link.call(storagePoolProcedures.isPersistent, { pool: this }, options);
  }

  /** Whether it starts with libvirtd. */
  getAutostart(options?: CallOptions): Promise<boolean> {
    return this.#link.call(storagePoolProcedures.getAutostart, { pool: this }, options);
  }

  /** @param autostart whether it is to start with libvirtd. */
  setAutostart(autostart: boolean, options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.setAutostart, { pool: this, autostart }, options);
  }

  /** Makes what the pool needs, such as its directory. @param flags `StoragePoolBuildFlags`. */
  build(flags = 0, options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.build, { pool: this, flags }, options);
  }

  /** Starts it. @param flags `StoragePoolCreateFlags`. */
  create(flags = 0, options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.create, { pool: this, flags }, options);
  }

  /** Stops it; its data stays. */
  destroy(options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.destroy, { pool: this }, options);
  }

  /** Looks again which volumes there are, and how large. */
  refresh(options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.refresh, { pool: this, flags: 0 }, options);
  }

  /** Removes the definition of a pool that is stopped; its data stays. */
  undefine(options?: CallOptions): Promise<void> {
    return this.#work(storagePoolProcedures.undefine, { pool: this }, options);
  }

  /** The volumes as of the last refresh. */
  async listAllVolumes(options?: CallOptions): Promise<readonly StorageVolume[]> {
    const args = { pool: this, needResults: 1, flags: 0 };
    const { volumes } = await this.#link.call(storagePoolProcedures.listAllVolumes, args, options);
    return volumes.map((volume) => new StorageVolume(this.#link, volume));
  }

  /** @throws {LibvirtError} NO_STORAGE_VOL. */
  async storageVolLookupByName(name: string, options?: CallOptions): Promise<StorageVolume> {
    const volume = await this.#link.call(storageVolumeProcedures.lookupByName, { pool: this, name }, options);
    return new StorageVolume(this.#link, volume);
  }

  /**
   * Makes a volume. Allocating a large one in full takes longer than the default time-out: pass `timeoutMs`.
   * @param flags `StorageVolCreateFlags`.
   * @throws {LibvirtError} STORAGE_VOL_EXIST where the name is taken.
   */
  async storageVolCreateXml(xml: string, flags = 0, options?: CallOptions): Promise<StorageVolume> {
    const volume = await this.#work(storageVolumeProcedures.createXml, { pool: this, xml, flags }, options);
    return new StorageVolume(this.#link, volume);
  }

  #work<A, R>(procedure: Procedure<A, R>, args: A, options: CallOptions | undefined): Promise<R> {
    return this.#link.work(null, procedure, args, options);
  }
}
