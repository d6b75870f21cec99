import type { Hypervisor } from '@rackless/libvirt';
import type { Log } from '@rackless/daemon/log/log.js';
import type { MachineQueue } from '../../queue/machine-queue.js';
import type { HostFiles } from '../host-files.js';
import type { Inventory } from './inventory.js';

/** The libvirt host that the modules of the driver share. */
export interface Host {
  readonly hypervisor: Hypervisor;
  readonly inventory: Inventory;
  /**
   * The queue of each machine. Code that reads a definition and writes it back runs in
   * `queue.edit`. Downloads never run in `queue.edit`.
   */
  readonly queue: MachineQueue;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
  /** Maximum time of a read, and of a change that libvirt makes immediately. */
  readonly timeoutMs: number;
  /** Files of the host on which libvirt runs. */
  readonly files: HostFiles;
}

/** Time limit of a start: libvirt allocates memory, opens images and copies firmware. */
export const START_TIMEOUT_MS = 60_000;

/** Time limit of a destroy. libvirt kills a hung QEMU after 12 s (measured). */
export const DESTROY_TIMEOUT_MS = 30_000;
