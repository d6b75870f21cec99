/**
 * Reads memory modules: `<memory>` in `<devices>`.
 * @see https://libvirt.org/formatdomain.html#memory-devices
 */
import type { MemoryDeviceSnapshot } from '../../../snapshot/hardware-snapshot.js';
import { attribute, child, childElements, type XmlElement } from '../tree.js';
import { readMemoryKiB } from '../size.js';

/**
 * Returns the modules in order. A resizable device (`virtio-mem`) has its current size.
 * @throws {DriverError} internal, for a unit or a number that libvirt would reject too.
 */
export function readMemoryDevices(devices: XmlElement | undefined): readonly MemoryDeviceSnapshot[] {
  return childElements(devices, 'memory').map((element) => {
    const target = child(element, 'target');
    const slot = attribute(child(element, 'address'), 'slot');
    return {
      model: attribute(element, 'model') ?? 'dimm',
      sizeKiB: readMemoryKiB(child(target, 'current') ?? child(target, 'size')),
      totalKiB: readMemoryKiB(child(target, 'size')),
      slot: slot === null ? null : Number(slot),
    };
  });
}
