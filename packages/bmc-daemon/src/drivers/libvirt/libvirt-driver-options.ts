/** Options of the driver of one libvirt host. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { ImageServerLimits } from '../../media/image-client.js';
import type { BackgroundWork } from '../queue/background-work.js';
import type { SystemRef, SystemSnapshot } from '../snapshot/system-snapshot.js';
import type { SecureBootTemplates } from './firmware-catalog.js';
import type { BootLoaderMap } from './firmware/firmware-choice.js';
import type { SharedPools } from './media/shared-pools.js';

/** Options of the driver: settings, and objects of the daemon. Times are in milliseconds. */
export interface LibvirtDriverOptions {
  /** Connection URI, for example `qemu:///system`. */
  readonly uri: string;
  /** Name of the host in {@link HostsControl}. Default: the host of the URI, `localhost` without one. */
  readonly hostName?: string;
  readonly bootLoaderMap: BootLoaderMap;
  /**
   * Templates of UEFI variables with and without Secure Boot keys, for firmware images of `bootLoaderMap`.
   * Default: the templates that belong to these firmware images.
   */
  readonly secureBootTemplates?: SecureBootTemplates;
  /** libvirt storage pool for images; null: a directory pool that the daemon creates. */
  readonly storagePool: string | null;
  /** Time that a graceful restart gives the guest before a hard restart. */
  readonly gracefulRestartWaitMs: number;
  /** Maximum time of a read, and of a change that libvirt makes immediately. */
  readonly timeoutMs: number;
  readonly images: ImageServerLimits;
  /** The pools of all hosts, which their drivers share. Default: this is the only host. */
  readonly pools?: SharedPools;
  /** Limits the background work of all hosts. Default: this is the only host. */
  readonly backgroundWork?: BackgroundWork;
  /**
   * Returns whether clients see a machine. The driver does not read the other machines in advance. Default: clients
   * see all machines.
   */
  readonly isServed?: (machine: SystemRef) => boolean;
  /** Called with each machine that the driver has read in advance, after a new connection. */
  readonly onReadAhead?: (snapshot: SystemSnapshot) => void;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
  /**
   * Maximum time that the first reader of a machine waits for the sizes of its disks. If they arrive later,
   * this reader gets null. Default: 1 s.
   */
  readonly diskSizeWaitMs?: number;
}
