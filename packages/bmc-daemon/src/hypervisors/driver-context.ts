/** The inputs of the functions that create drivers. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { Environment } from '../config/environment.js';
import type { SettingKey, Settings } from '../config/settings.js';
import type { ImageServerLimits } from '../media/image-client.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import type { LibvirtUris } from '../drivers/libvirt/host-list.js';
import type { MachineFile } from './fake-machines/machine-file.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';

/** A driver, and the function that changes its hosts while it runs. */
export interface OpenedDriver {
  readonly driver: HypervisorDriver;
  /** Replaces the hosts; absent if new hosts need a restart. Resolves when the removed hosts are closed. */
  readonly setHosts?: (hosts: LibvirtUris) => Promise<void>;
}

/** Inputs for the driver of a hypervisor. */
export interface DriverContext {
  readonly settings: Settings;
  /** Environment variables. Some of them name the files of OpenStack's clients. */
  readonly environment: Environment;
  /** Limits for downloads of images. */
  readonly images: ImageServerLimits;
  /** The state that all replicas share; null: there are no other replicas. */
  readonly store: SharedStore | null;
  readonly log: Log;
  /** The contents of the file that EMULATOR_FAKE_MACHINES names; null: no file, or the driver reads it itself. */
  readonly machineFile: MachineFile | null;
  /** Returns the error for a setting that cannot be used. */
  readonly settingError: (key: SettingKey, sentence: string, cause: unknown) => Error;
}
