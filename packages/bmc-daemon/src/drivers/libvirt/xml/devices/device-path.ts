/**
 * Computes UEFI device paths from the addresses in a domain's XML, as OVMF writes them, for example
 * `PciRoot(0x0)/Pci(0x1F,0x2)/Sata(0x0,0xFFFF,0x0)`.
 * @see UEFI specification 2.10, 10.3 "Device Path Nodes" and 10.6 "Device Path to Text Conversion
 *   Rules"
 */
import type { BootableDevice, Controller, Devices } from './device.js';
import type { DeviceAddress } from './address.js';

/** SCSI controllers of QEMU without LUNs. On these, the `unit` of a disk's address is the SCSI target. */
const PARALLEL_SCSI = new Set(['lsilogic', 'buslogic', 'ncr53c90', 'am53c974', 'dc390']);

/**
 * Returns the path of a device; null if the device or a controller on its path has no address, or if
 * the address has no standard node (virtio-mmio, ccw).
 */
export function devicePath(device: BootableDevice, devices: Devices): string | null {
  const { address } = device;
  if (address === null) return null;
  if (address.type === 'pci') {
    const path = pciPath(address, devices);
    if (path === null || device.kind !== 'interface') return path;
    // The second field is the ARP hardware type. 1 is Ethernet.
    return `${path}/MAC(${device.mac.replaceAll(':', '').toUpperCase()},0x1)`;
  }
  if (address.type === 'usb') {
    const controller = controllerPath('usb', address.bus, devices);
    const ports = address.ports.map((port) => `/USB(${hex(port - 1)},0x0)`);
    return controller === null ? null : `${controller}${ports.join('')}`;
  }
  if (address.type === 'drive' && device.kind === 'disk') return drivePath(device.bus, address, devices);
  return null;
}

function drivePath(bus: string, address: DeviceAddress & { type: 'drive' }, devices: Devices): string | null {
  const { controller: index, target, unit } = address;
  const controller = controllerPath(bus, index, devices);
  if (controller === null) return null;
  switch (bus) {
    case 'sata':
      // 0xFFFF means directly connected, without a port multiplier.
      return `${controller}/Sata(${hex(unit)},0xFFFF,0x0)`;
    case 'ide':
      return `${controller}/Ata(${address.bus === 0 ? 'Primary' : 'Secondary'},${unit === 0 ? 'Master' : 'Slave'},0x0)`;
    case 'scsi': {
      const model = findController('scsi', index, devices)?.model ?? '';
      return `${controller}/Scsi(${PARALLEL_SCSI.has(model) ? `${hex(unit)},0x0` : `${hex(target)},${hex(unit)}`})`;
    }
    default:
      return null;
  }
}

function findController(type: string, index: number, devices: Devices): Controller | undefined {
  return devices.controllers.find((controller) => controller.type === type && controller.index === index);
}

function controllerPath(type: string, index: number, devices: Devices): string | null {
  const address = findController(type, index, devices)?.address;
  return address?.type === 'pci' ? pciPath(address, devices) : null;
}

/**
 * Returns the path from the PCI root through all bridges to the device; null if a bridge is missing or has no PCI
 * address, or if the bridges form a loop. The bus of an address is the index of the controller above it.
 */
function pciPath(address: DeviceAddress & { type: 'pci' }, devices: Devices): string | null {
  const nodes: string[] = [];
  let current = address;
  // A chain that is longer than the number of controllers contains a loop.
  for (let hops = 0; hops <= devices.controllers.length; hops += 1) {
    nodes.unshift(`Pci(${hex(current.slot)},${hex(current.function)})`);
    if (current.bus === 0) return ['PciRoot(0x0)', ...nodes].join('/');
    const bridge = findController('pci', current.bus, devices);
    // An expander bus is a separate root. Its path begins with its bus number.
    const busNumber = bridge?.busNumber ?? null;
    if (busNumber !== null && bridge?.model?.endsWith('expander-bus') === true) {
      return [`PciRoot(${hex(busNumber)})`, ...nodes].join('/');
    }
    if (bridge?.address?.type !== 'pci') return null;
    current = bridge.address;
  }
  return null;
}

function hex(value: number): string {
  return `0x${value.toString(16).toUpperCase()}`;
}
