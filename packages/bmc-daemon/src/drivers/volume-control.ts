/**
 * Disks of machines: creates and removes volumes in storage pools, and stores the indicators of
 * disks. A driver without storage pools has no `volumes`. Clients then see a volume for each known disk,
 * but cannot create or remove one.
 */
import type { IndicatorState } from './snapshot/hardware-snapshot.js';
import type { OperationOptions } from './operation-options.js';

/** `thin`: qcow2, which grows on writes; `fixed`: raw, fully allocated. */
export type Provisioning = 'thin' | 'fixed';

/** A volume to create for a machine. */
export interface NewVolume {
  /** Bus of the disk, such as `virtio` or `sata`. */
  readonly bus: string;
  /** Name for users; null: none. */
  readonly name: string | null;
  /** Size of the volume, a multiple of 512. */
  readonly capacityBytes: number;
  readonly provisioning: Provisioning;
  /** Id of the configured storage that shows the disk; null: the storage of the disk's bus. */
  readonly storage: string | null;
}

/** A volume by its name. */
export interface PoolVolume {
  /** Null: the pool for new volumes. */
  readonly pool: string | null;
  readonly name: string;
}

/**
 * Volumes of machines. An id is a UUID or a name. If a method fails, it rejects with a {@link
 * DriverError}.
 */
export interface VolumeControl {
  /**
   * Creates a volume and attaches it to the definition, and to the running guest if its bus
   * supports hot-plug. Otherwise the disk is `pending` until a power cycle. If a step fails, removes the
   * volume. If libvirt does not answer, the next connection completes or reverts the operation.
   * @returns the disk's target, such as `vdb`.
   * @throws the signal's reason, if it aborts before the disk is attached.
   * @throws {DriverError} storageFull, noPlace, unsupported (no such bus), unavailable.
   */
  createVolume(id: string, volume: NewVolume, options?: OperationOptions): Promise<string>;
  /**
   * Detaches a disk, waits until a running guest has released it, and deletes its volume.
   * @throws {DriverError} unsupported, if the disk is not a volume of a pool; conflict, if another
   *   machine, another volume or the saved state of this machine uses the volume; unavailable, if the
   *   guest does not release the disk; notFound.
   */
  removeVolume(id: string, target: string, options?: OperationOptions): Promise<void>;
  /** Stores the state of a disk's indicator. @throws {DriverError} notFound, if there is no such disk. */
  setDriveIndicator(id: string, target: string, state: IndicatorState): Promise<void>;

  /**
   * Creates a sparse raw volume on the host of the machine, if there is none with that name.
   * @throws {DriverError} unsupported, if there is no such pool.
   */
  provideVolume(id: string, volume: PoolVolume, capacityBytes: number): Promise<void>;
}
