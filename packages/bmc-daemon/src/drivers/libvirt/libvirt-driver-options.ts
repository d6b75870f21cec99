/** What the driver of one libvirt host is told. */
import type { Log } from '@rackless/daemon/log.js';
import type { ImageServerLimits } from '../../media/image-server.js';
import type { SecureBootTemplates } from './firmware-catalogue.js';
import type { BootLoaderMap } from './firmware-choice.js';

/** By the configuration; times in milliseconds. */
export interface LibvirtDriverOptions {
  /** Connection URI, `qemu:///system`. */
  readonly uri: string;
  readonly bootLoaderMap: BootLoaderMap;
  /** Master copies of UEFI variables with and without Secure Boot's keys, for images of the map. Default: those that belong to them. */
  readonly secureBootTemplates?: SecureBootTemplates;
  /** libvirt storage pool for images; null for a directory pool of our own. */
  readonly storagePool: string | null;
  /** How long a graceful restart waits for the guest before it is a hard one. */
  readonly gracefulRestartWaitMs: number;
  /** The longest that a read may wait for libvirt. */
  readonly timeoutMs: number;
  readonly images: ImageServerLimits;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
  /** How long the first reader of a machine waits for the sizes of its disks, which are null until they are known. Default: 1 s. */
  readonly diskSizeWaitMs?: number;
}
