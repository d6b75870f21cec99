/** Reads and edits the settings of a definition that clients see as BIOS attributes. */
import { DriverError } from '../../../driver-error.js';
import type { FixedSettings } from '../../../snapshot/firmware-snapshot.js';
import type { DefinitionEdit } from '../definition-edit.js';
import type { Domain } from '../domain.js';
import { deviceKeys, effectiveBootOrder } from './boot-order.js';
import { setOwnOrder } from './boot-order-edit.js';
import { attribute, child, textOf, type XmlElement } from '../tree.js';
import { readMemoryKiB } from '../size.js';

/** A change of these settings; absent members do not change. */
interface HardwareChange {
  readonly cpuCount?: number;
  readonly memoryMiB?: number;
  readonly networkBoot?: boolean;
}

/**
 * Reads the maximum values that the definition allows.
 * @throws {DriverError} internal, for a unit or a number that libvirt would reject too.
 */
export function readLimits(root: XmlElement): { readonly cpuCount: number; readonly memoryMiB: number } {
  const maximum = Math.max(readMemoryKiB(child(root, 'maxMemory')), readMemoryKiB(child(root, 'memory')));
  return { cpuCount: Number(textOf(child(root, 'vcpu')) ?? 1), memoryMiB: Math.floor(maximum / 1024) };
}

/**
 * Returns the settings that the definition does not allow a client to change, with the reason; null if there are none.
 */
export function readFixedSettings(root: XmlElement): FixedSettings | null {
  const namesCpus = child(root, 'vcpus') !== undefined;
  // libvirt uses the sum of the cells and ignores <memory>.
  const hasCells = child(root, 'cpu', 'numa') !== undefined;
  if (!namesCpus && !hasCells) return null;
  return {
    ...(namesCpus ? { cpuCount: 'its definition names each vCPU' } : {}),
    ...(hasCells ? { memoryMiB: 'its definition has NUMA cells' } : {}),
  };
}

/**
 * Returns whether the first network interface is in the machine's boot order; null without an
 * interface.
 */
export function bootsFromNetwork(domain: Domain): boolean | null {
  const [first] = domain.devices.interfaces;
  return first === undefined ? null : effectiveBootOrder(domain).some(({ device }) => device.key === first.key);
}

/**
 * Sets these settings.
 * @throws {DriverError} unsupported: for `cpuCount`, if the definition names each vCPU; for `memoryMiB`, if it has
 *   NUMA cells or no memory size; for `networkBoot`, if it has no network interface. Invalid, for more vCPUs than
 *   the definition allows. The caller checks the maximum of the memory.
 */
export function setHardware(edit: DefinitionEdit, { cpuCount, memoryMiB, networkBoot }: HardwareChange): void {
  if (cpuCount !== undefined) setCpuCount(edit, cpuCount);
  if (memoryMiB !== undefined) setMemory(edit, memoryMiB);
  if (networkBoot !== undefined) setNetworkBoot(edit, networkBoot);
}

function setCpuCount({ domain: { name, processors }, xml }: DefinitionEdit, count: number): void {
  if (processors.count === count) return;
  const doing = `setting the number of vCPUs of ${name}`;
  const vcpu = child(xml.root, 'vcpu');
  const maximum = readLimits(xml.root).cpuCount;
  if (vcpu === undefined || count > maximum)
    throw new DriverError('invalid', `${doing}: its definition allows ${maximum}`);
  const why = readFixedSettings(xml.root)?.cpuCount;
  if (why !== undefined) throw new DriverError('unsupported', `${doing}: ${why}`);
  if (count === maximum) xml.removeAttribute(vcpu, 'current');
  else xml.setAttribute(vcpu, 'current', String(count));
}

function setMemory({ domain: { name, memoryKiB }, xml }: DefinitionEdit, memoryMiB: number): void {
  // Clients see whole MiB, so this value changes nothing.
  if (Math.floor(memoryKiB / 1024) === memoryMiB) return;
  const doing = `setting the memory of ${name}`;
  const why = readFixedSettings(xml.root)?.memoryMiB;
  if (why !== undefined) throw new DriverError('unsupported', `${doing}: ${why}`);
  const memory = child(xml.root, 'memory');
  if (memory === undefined) throw new DriverError('unsupported', `${doing}: its definition has no memory size`);
  for (const element of [memory, child(xml.root, 'currentMemory')]) {
    if (element === undefined) continue;
    if (attribute(element, 'unit') !== null) xml.setAttribute(element, 'unit', 'KiB');
    xml.setText(element, String(memoryMiB * 1024));
  }
}

function setNetworkBoot(edit: DefinitionEdit, wanted: boolean): void {
  const { domain } = edit;
  const [first] = domain.devices.interfaces;
  const order = deviceKeys(effectiveBootOrder(domain));
  if (first === undefined) {
    if (!wanted) return;
    throw new DriverError('unsupported', `enabling the network boot of ${domain.name}: it has no network interface`);
  }
  if (order.includes(first.key) === wanted) return;
  setOwnOrder(edit, wanted ? [...order, first.key] : order.filter((key) => key !== first.key));
}
