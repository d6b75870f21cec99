/**
 * What a hypervisor can do about a machine's disks: make and remove volumes of its storage pools, and keep what people say of a disk.
 * A driver without it has no `volumes`, and nothing of it is served.
 */
import type { IndicatorState, OperationOptions } from './driver.js';

/** `thin`: qcow2, which grows as it is written to; `fixed`: raw, with all its space from the start. */
export type Provisioning = 'thin' | 'fixed';

/** A volume to be made for a machine. */
export interface NewVolume {
  /** That it is attached to: `virtio`, `sata`. */
  readonly bus: string;
  /** For people; null: it has none. */
  readonly name: string | null;
  /** A multiple of 512. */
  readonly capacityBytes: number;
  readonly provisioning: Provisioning;
  /** Id of the configured storage that it is shown in; null: that of its bus. */
  readonly storage: string | null;
}

/** A volume by its name. */
export interface PoolVolume {
  /** Null: the pool that new volumes are made in. */
  readonly pool: string | null;
  readonly name: string;
}

/** Every method that takes an id takes it as those of the driver do; every method rejects with a {@link DriverError}. */
export interface VolumeControl {
  /**
   * Makes a volume and attaches it: to the definition, and to the guest where it runs and its bus can be plugged into; where it
   * can not, the disk is `pending` until the machine is switched off and on. Nothing is left of it where a step fails.
   * @returns the disk's target, `vdb`.
   * @throws the signal's reason, where it is aborted before the disk is attached. @throws {DriverError} storageFull, noPlace, unsupported (no such bus), unavailable.
   */
  createVolume(id: string, volume: NewVolume, options?: OperationOptions): Promise<string>;
  /**
   * Detaches a disk, waits until a running guest has let go of it, and deletes its volume.
   * @throws {DriverError} unsupported where its source is no volume of a pool; conflict where another machine uses it, or the state that this one was saved with;
   * unavailable where the guest keeps it; notFound.
   */
  removeVolume(id: string, target: string, options?: OperationOptions): Promise<void>;
  setDriveIndicator(id: string, target: string, state: IndicatorState): Promise<void>;

  /** Makes a thin raw volume where there is none of that name. @throws {DriverError} unsupported where there is no such pool. */
  provideVolume(volume: PoolVolume, capacityBytes: number): Promise<void>;
}
