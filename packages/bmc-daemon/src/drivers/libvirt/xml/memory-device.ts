/** Memory modules that are plugged into a domain, `<memory>` in `<devices>`. @see https://libvirt.org/formatdomain.html#memory-devices */
import type { MemoryDeviceSnapshot } from '../../driver.js';
import { attribute, child, childElements, type XmlElement } from './parse.js';
import { readMemoryKiB } from './size.js';

/** In their order; a device that is sized while the guest runs (`virtio-mem`) has the size that it has now. */
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
