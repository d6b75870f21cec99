/**
 * Evidence that a guest has used a one-time order: firmware that boots from a drive reads this
 * drive. The daemon cannot distinguish this from an operating system that reads the drive.
 */
import type { BootChoice } from '../../rules/boot-override.js';
import type { Instance } from '../machine/instance.js';
import type { Machine } from '../machine/inventory.js';
import type { Armed } from '../machine/process-record.js';
import { orderWithFirst } from '../xml/os/boot-order.js';
import { readsOf } from './reset-watch.js';

/** Counts the reads of the drive that the override boots from; null for a network boot, or without a count. */
export async function countReads(
  machine: Machine,
  { domain }: Instance,
  target: BootChoice,
  timeoutMs: number,
): Promise<Armed['evidence']> {
  const [first] = orderWithFirst(domain, target);
  if (first?.device.kind !== 'disk') return null;
  const drive = first.device.target;
  const reads = await readsOf(machine.domain, drive, timeoutMs);
  return reads === null ? null : { drive, reads };
}

/**
 * Returns whether the guest has used the one-time order while the daemon did not run: the drive has
 * new reads. Without evidence, returns false, and the override stays pending.
 */
export async function hasBooted(machine: Machine, { evidence }: Armed, timeoutMs: number): Promise<boolean> {
  if (evidence === null) return false;
  const reads = await readsOf(machine.domain, evidence.drive, timeoutMs);
  return reads !== null && reads !== evidence.reads;
}
