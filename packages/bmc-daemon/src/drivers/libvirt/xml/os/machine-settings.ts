/** Reads and edits the settings of a definition that clients see as BIOS attributes. */
import { DriverError } from '../../../driver-error.js';
import { effectiveBootOrder, deviceKeys, withOwnOrder } from './boot-order.js';
import { readDomain } from '../domain.js';
import { encodeText } from '../escape.js';
import { parseXml, type XmlDocument } from '../parse.js';
import { attribute, child, textOf, type XmlElement } from '../tree.js';
import { readMemoryKiB } from '../size.js';
import { applySplices, removeAttribute, setAttribute, type Splice } from '../splice.js';

/** A change of these settings; absent members stay. */
interface HardwareChange {
  readonly cpuCount?: number;
  readonly memoryMiB?: number;
  readonly networkBoot?: boolean;
}

/** Reads the maximum values that the definition allows. */
export function readLimits({ root }: XmlDocument): { readonly cpuCount: number; readonly memoryMiB: number } {
  const maximum = Math.max(readMemoryKiB(child(root, 'maxMemory')), readMemoryKiB(child(root, 'memory')));
  return { cpuCount: Number(textOf(child(root, 'vcpu')) ?? 1), memoryMiB: Math.floor(maximum / 1024) };
}

/**
 * Returns whether the first network interface is in the machine's boot order; null without an
 * interface.
 */
export function bootsFromNetwork(xml: string | XmlDocument): boolean | null {
  const domain = readDomain(xml);
  const [first] = domain.devices.interfaces;
  return first === undefined ? null : effectiveBootOrder(domain).some(({ device }) => device.key === first.key);
}

/**
 * Returns the definition with these settings.
 * @throws {DriverError} unsupported, if the definition has the value in several places; invalid,
 *   above the maximum.
 */
export function withHardware(xml: string, { cpuCount, memoryMiB, networkBoot }: HardwareChange): string {
  let result = xml;
  if (cpuCount !== undefined) result = withCpuCount(result, cpuCount);
  if (memoryMiB !== undefined) result = withMemory(result, memoryMiB);
  if (networkBoot !== undefined) result = withNetworkBoot(result, networkBoot);
  return result;
}

function withCpuCount(xml: string, count: number): string {
  const document = parseXml(xml);
  const { name, processors } = readDomain(document);
  if (processors.count === count) return xml;
  const doing = `setting the number of vCPUs of ${name}`;
  const vcpu = child(document.root, 'vcpu');
  const maximum = readLimits(document).cpuCount;
  if (vcpu === undefined || count > maximum)
    throw new DriverError('invalid', `${doing}: its definition allows ${maximum}`);
  if (child(document.root, 'vcpus') !== undefined) {
    throw new DriverError('unsupported', `${doing}: its definition names each vCPU`);
  }
  if (count === maximum) return applySplices(xml, removeAttribute(document, vcpu, 'current'));
  return applySplices(xml, [setAttribute(document, vcpu, 'current', String(count))]);
}

function withMemory(xml: string, memoryMiB: number): string {
  const document = parseXml(xml);
  const { name, memoryKiB } = readDomain(document);
  if (memoryKiB === memoryMiB * 1024) return xml;
  const doing = `setting the memory of ${name}`;
  if (child(document.root, 'cpu', 'numa') !== undefined) {
    // libvirt uses the sum of the cells and ignores <memory>.
    throw new DriverError('unsupported', `${doing}: its definition has NUMA cells`);
  }
  const memory = child(document.root, 'memory');
  if (memory === undefined) throw new DriverError('unsupported', `${doing}: its definition has no memory size`);
  const current = child(document.root, 'currentMemory');
  const write = (element: XmlElement): readonly Splice[] => [
    ...(attribute(element, 'unit') === null ? [] : [setAttribute(document, element, 'unit', 'KiB')]),
    { start: element.contentStart, end: element.contentEnd, text: encodeText(String(memoryMiB * 1024)) },
  ];
  return applySplices(xml, [...write(memory), ...(current === undefined ? [] : write(current))]);
}

function withNetworkBoot(xml: string, wanted: boolean): string {
  const domain = readDomain(xml);
  const [first] = domain.devices.interfaces;
  const order = deviceKeys(effectiveBootOrder(domain));
  if (first === undefined) {
    throw new DriverError('unsupported', `setting the network boot of ${domain.name}: it has no network interface`);
  }
  if (order.includes(first.key) === wanted) return xml;
  return withOwnOrder(xml, wanted ? [...order, first.key] : order.filter((key) => key !== first.key));
}
