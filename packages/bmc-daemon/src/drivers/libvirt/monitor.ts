/** The few words of QMP that the boot override and consoles need, through libvirt's pass-through to a machine's own QEMU. */
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
 * Gives QEMU another boot order. It rebuilds the firmware's list at its next machine reset only: a guest that
 * was started paused still boots by the order that it was started with. Nothing is changed where it has that order already.
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
    await setBootOrder(domain, indexes, timeoutMs);
    return true;
  } catch (error) {
    if (error instanceof DriverError && isLibvirtError(error.cause, ...noMonitor)) return false;
    throw error;
  }
}

async function setBootOrder(domain: Domain, indexes: readonly BootIndex[], timeoutMs: number): Promise<void> {
  const present = new Map<string, number>();
  for (const { qomPath } of indexes) {
    const value = await execute(domain, 'qom-get', { path: qomPath, property: 'bootindex' }, timeoutMs, {
      optional: true,
    });
    if (typeof value === 'number' && value >= 0) present.set(qomPath, value);
  }
  const wanted = indexes.filter(({ bootIndex }) => bootIndex > 0).toSorted((a, b) => a.bootIndex - b.bootIndex);
  const order = [...present].toSorted(([, a], [, b]) => a - b).map(([path]) => path);
  if (order.length === wanted.length && wanted.every(({ qomPath }, place) => qomPath === order[place])) return;
  const set = (path: string, value: number): Promise<unknown> =>
    execute(domain, 'qom-set', { path, property: 'bootindex', value }, timeoutMs, { optional: value < 0 });
  if (wanted.some(({ bootIndex }, place) => bootIndex !== place + 1)) {
    // A number in between is taken by a floppy drive, whose own can not be changed: the numbers matter then, and as only one
    // device may have one at any moment, all are unset first.
    for (const { qomPath } of indexes) await set(qomPath, -1);
    for (const { qomPath, bootIndex } of wanted) await set(qomPath, bootIndex);
    return;
  }
  // From the last to the first, each behind every number in use: a guest that restarts in the middle of it finds all of its
  // devices, the last of them in their new order already.
  const base = Math.max(0, ...present.values());
  for (const [place, { qomPath }] of [...wanted.entries()].toReversed()) await set(qomPath, base + place + 1);
  for (const { qomPath, bootIndex } of indexes) if (bootIndex < 0 && present.has(qomPath)) await set(qomPath, -1);
}

/**
 * Sends a break over a serial port, as a terminal with such a key does.
 * @param alias libvirt's name of the port, `serial0`.
 * @returns false where there is no monitor to tell, or not for us.
 * @throws {DriverError} as {@link tellBootOrder}.
 */
export async function sendBreak(domain: Domain, alias: string, timeoutMs: number): Promise<boolean> {
  try {
    // libvirt calls QEMU's end of a device `char` and its alias.
    await execute(domain, 'chardev-send-break', { id: `char${alias}` }, timeoutMs, { optional: false });
    return true;
  } catch (error) {
    if (error instanceof DriverError && isLibvirtError(error.cause, ...noMonitor)) return false;
    throw error;
  }
}

/** @returns what QEMU answers; undefined for an error of an optional command: a floppy has no such property of its own. */
async function execute(
  domain: Domain,
  command: 'qom-get' | 'qom-set' | 'chardev-send-break',
  parameters: Readonly<Record<string, string | number>>,
  timeoutMs: number,
  { optional }: { readonly optional: boolean },
): Promise<unknown> {
  const doing = `asking QEMU of machine ${domain.name} for ${command} of ${parameters['path'] ?? parameters['id']}`;
  const text = await attempt(doing, () =>
    domain.qemuMonitorCommand(JSON.stringify({ execute: command, arguments: parameters }), 0, { timeoutMs }),
  );
  // An error of QEMU is an answer to libvirt, and not an error.
  const { error, return: result } = answer.parse(JSON.parse(text));
  if (error === undefined || optional) return result;
  throw new DriverError('internal', `${doing}: ${error.desc}`);
}
