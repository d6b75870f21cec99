/** The few words of QMP that the boot override needs, through libvirt's pass-through to a machine's own QEMU. */
import { isLibvirtError, type Domain } from '@rackless/libvirt';
import { z } from 'zod';
import { DriverError } from '../driver.js';
import { attempt } from './failure.js';
import type { BootIndex } from './xml/boot-order.js';

const answer = z.object({
  return: z.unknown().optional(),
  error: z.object({ class: z.string(), desc: z.string() }).optional(),
});

/** Answers of libvirt that mean "there is no monitor here, or not for you": the test driver, polkit rules. */
const noMonitor = ['NO_SUPPORT', 'OPERATION_DENIED', 'ACCESS_DENIED', 'OPERATION_UNSUPPORTED'] as const;

/**
 * Gives QEMU another boot order. It rebuilds the firmware's list at its next machine reset only (host-facts a): a guest that
 * was started paused still boots by the order that it was started with.
 * @param indexes of `bootIndexes`: every device that can boot, -1 for those that are not to.
 * @returns false where there is no monitor to tell, or not for us.
 * @throws {DriverError} unavailable where QEMU does not answer in time; internal with QEMU's own words.
 */
export async function tellBootOrder(
  domain: Domain,
  indexes: readonly BootIndex[],
  timeoutMs: number,
): Promise<boolean> {
  // Devices without aliases: what runs there is no QEMU.
  if (indexes.length === 0) return false;
  try {
    await setBootIndexes(domain, indexes, timeoutMs);
    return true;
  } catch (error) {
    if (error instanceof DriverError && isLibvirtError(error.cause, ...noMonitor)) return false;
    throw error;
  }
}

async function setBootIndexes(domain: Domain, indexes: readonly BootIndex[], timeoutMs: number): Promise<void> {
  // One number may stand at one device only, at every moment.
  for (const { qomPath } of indexes) await setBootIndex(domain, qomPath, -1, timeoutMs, { optional: true });
  for (const { qomPath, bootIndex } of indexes) {
    if (bootIndex > 0) await setBootIndex(domain, qomPath, bootIndex, timeoutMs, { optional: false });
  }
}

async function setBootIndex(
  domain: Domain,
  path: string,
  value: number,
  timeoutMs: number,
  { optional }: { readonly optional: boolean },
): Promise<void> {
  const doing = `setting the boot index of ${path} of machine ${domain.name}`;
  const text = await attempt(doing, () =>
    domain.qemuMonitorCommand(
      JSON.stringify({ execute: 'qom-set', arguments: { path, property: 'bootindex', value } }),
      0,
      { timeoutMs },
    ),
  );
  // An error of QEMU is an answer to libvirt, and not an error.
  const { error } = answer.parse(JSON.parse(text));
  // A floppy has no such property of its own, and a device that was unplugged since no path.
  if (error === undefined || optional) return;
  throw new DriverError('internal', `${doing}: ${error.desc}`);
}
