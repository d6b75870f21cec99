import type { Hypervisor } from '@rackless/libvirt';
import type { Log } from '@rackless/daemon/log.js';
import type { OperationQueue } from '../operation-queue.js';
import type { Inventory } from './inventory.js';

/** What the parts of the driver share: one libvirt host, and who may change which machine when. */
export interface Host {
  readonly hypervisor: Hypervisor;
  readonly inventory: Inventory;
  /**
   * Short changes of a machine, one after the other: whoever reads a definition to put it back changed does so in here. Never
   * held during a download.
   */
  readonly edits: OperationQueue;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
  /** The longest that a read, or a change that libvirt makes at once, may take. */
  readonly timeoutMs: number;
}

/** Starting takes what it takes: memory is allocated, images are opened, firmware is copied. */
export const START_TIMEOUT_MS = 60_000;

/** A QEMU that hangs is killed after 12 s (measured). */
export const DESTROY_TIMEOUT_MS = 30_000;
