/**
 * QMP commands for the boot override and consoles, through libvirt's pass-through to the QEMU of a
 * machine.
 */
import { isLibvirtError, type Domain } from '@rackless/libvirt';
import { z } from 'zod';
import { DriverError } from '../../driver-error.js';
import { attempt } from '../failure.js';
import type { BootIndex } from '../xml/os/boot-order.js';

const answer = z.object({
  return: z.unknown().optional(),
  error: z.object({ class: z.string(), desc: z.string() }).optional(),
});

/** Errors of libvirt if there is no monitor (test driver), or no access to it (polkit rules). */
const noMonitor = ['NO_SUPPORT', 'OPERATION_DENIED', 'ACCESS_DENIED', 'OPERATION_UNSUPPORTED'] as const;

/**
 * Sets the boot order in QEMU. QEMU builds the firmware's list only at a machine reset, so a guest
 * that was started paused still boots by the order of its start. Changes nothing if QEMU has that
 * order already.
 * @param indexes the result of `bootIndexes`: every bootable device, with -1 for devices that are not in the
 *   order.
 * @returns false without a monitor, without access to it, or for an empty list.
 * @throws {DriverError} unavailable, if QEMU does not answer in time; failed, with QEMU's message; the
 *   kind of another error of libvirt.
 */
export async function setQemuBootOrder(
  domain: Domain,
  indexes: readonly BootIndex[],
  timeoutMs: number,
): Promise<boolean> {
  // libvirt assigns aliases only to running machines, so a machine without QEMU has no indexes.
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
  const properties: BootProperty[] = [];
  for (const index of indexes) {
    const property = await propertyOf(domain, index, timeoutMs);
    if (property !== null) properties.push(property);
  }
  const current = new Map<BootProperty, number>();
  for (const property of properties) {
    const { qomPath: path, name } = property;
    const value = await execute(domain, 'qom-get', { path, property: name }, timeoutMs, { optional: true });
    if (typeof value === 'number' && value >= 0) current.set(property, value);
  }
  const wantedOrder = properties.filter(({ wanted }) => wanted > 0).toSorted((a, b) => a.wanted - b.wanted);
  const currentOrder = [...current].toSorted(([, a], [, b]) => a - b).map(([property]) => property);
  if (
    currentOrder.length === wantedOrder.length &&
    wantedOrder.every((property, place) => property === currentOrder[place])
  )
    return;
  const set = ({ qomPath: path, name }: BootProperty, value: number): Promise<unknown> =>
    execute(domain, 'qom-set', { path, property: name, value }, timeoutMs, { optional: value < 0 });
  // Sets the numbers from the last device to the first. Two devices must not share a number, so
  // each new number is above all current ones. A guest that restarts meanwhile still finds all its
  // devices.
  const base = Math.max(0, ...current.values());
  const changes = [...wantedOrder.entries()]
    .toReversed()
    .map(([place, property]) => [property, base + place + 1] as const);
  const removals = [...current.keys()]
    .filter((property) => property.wanted < 0)
    .map((property) => [property, -1] as const);
  const changed: BootProperty[] = [];
  try {
    for (const [property, value] of [...changes, ...removals]) {
      await set(property, value);
      changed.unshift(property);
    }
  } catch (error) {
    // After an error, restores the old order, because no client requested a partly changed one.
    // Throws the first error.
    for (const property of changed) await set(property, current.get(property) ?? -1).catch(() => undefined);
    throw error;
  }
}

/** The QEMU property that contains the boot number of a device. */
interface BootProperty {
  readonly qomPath: string;
  readonly name: string;
  /** The position in the new order, from 1; -1: not in the order. */
  readonly wanted: number;
}

/**
 * Finds the property of a device. The boot number of a floppy drive is a property of its controller,
 * which has no alias in libvirt. For a CD drive on USB, libvirt 12 creates a second device with this
 * number.
 * @returns null if the controller of a floppy drive is not found.
 */
async function propertyOf(domain: Domain, index: BootIndex, timeoutMs: number): Promise<BootProperty | null> {
  const { qomPath, floppyUnit, isUsbCdrom, bootIndex: wanted } = index;
  if (isUsbCdrom === true) {
    const deviceProperty = { path: `${qomPath}-device`, property: 'bootindex' };
    const isThere = (await execute(domain, 'qom-get', deviceProperty, timeoutMs, { optional: true })) !== undefined;
    return { qomPath: isThere ? deviceProperty.path : qomPath, name: 'bootindex', wanted };
  }
  if (floppyUnit === undefined) return { qomPath, name: 'bootindex', wanted };
  const busProperty = { path: qomPath, property: 'parent_bus' };
  // `/machine/unattached/device[12]/floppy-bus.0`
  const bus = await execute(domain, 'qom-get', busProperty, timeoutMs, { optional: true });
  if (typeof bus !== 'string') return null;
  return { qomPath: bus.replace(/\/[^/]*$/, ''), name: floppyUnit === 0 ? 'bootindexA' : 'bootindexB', wanted };
}

/**
 * Sends a break over a serial port, as the break key of a terminal does.
 * @param alias libvirt's alias of the port, `serial0`.
 * @returns false without a monitor, or without access to it.
 * @throws {DriverError} as {@link setQemuBootOrder}.
 */
export async function sendBreak(domain: Domain, alias: string, timeoutMs: number): Promise<boolean> {
  try {
    // libvirt names the character device in QEMU `char` plus the alias.
    await execute(domain, 'chardev-send-break', { id: `char${alias}` }, timeoutMs, { optional: false });
    return true;
  } catch (error) {
    if (error instanceof DriverError && isLibvirtError(error.cause, ...noMonitor)) return false;
    throw error;
  }
}

/**
 * Runs a QMP command.
 * @returns the result; undefined for an error of an optional command, because not every device has
 *   a boot number.
 * @throws {DriverError} failed, if QEMU rejects a command that is not optional; the kind of an error of
 *   libvirt, also for an optional command.
 */
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
  // libvirt returns an error of QEMU as a normal reply.
  const { error, return: result } = answer.parse(JSON.parse(text));
  if (error === undefined || optional) return result;
  throw new DriverError('failed', `${doing}: ${error.desc}`);
}
