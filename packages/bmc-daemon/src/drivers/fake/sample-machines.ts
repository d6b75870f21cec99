/** Sample machines in memory: three different ones, and copies for tests and benchmarks. */
import { untouchedOverride } from '../rules/boot-override.js';
import type { BootOptionSnapshot } from '../snapshot/firmware-snapshot.js';
import type { DiskSnapshot, InterfaceSnapshot } from '../snapshot/hardware-snapshot.js';
import { type MediaSnapshot, MEDIA_DEVICES, untouchedMedia, type MediaDevice } from '../snapshot/media-snapshot.js';
import type { CompleteSnapshot } from '../snapshot/system-snapshot.js';

const gibiBytes = 1024 ** 3;
const gibiKiB = 1024 ** 2;

/** Returns an empty drive. */
export function emptyDrive(device: MediaDevice): MediaSnapshot {
  return {
    device,
    inserted: false,
    image: null,
    imageName: null,
    writeProtected: true,
    viaUri: false,
    transferMethod: null,
    transferMethods: device === 'floppy' ? ['upload'] : ['upload', 'stream'],
    ...untouchedMedia,
  };
}

/** A disk without data from clients. */
const untouchedDisk = { indicator: null, label: null, storage: null, pending: false } as const;

const cdrom: DiskSnapshot = {
  target: 'sda',
  device: 'cdrom',
  bus: 'sata',
  source: null,
  serial: null,
  readonly: true,
  capacityBytes: null,
  ...untouchedDisk,
};

function disk(target: string, bus: string, capacityGib: number): DiskSnapshot {
  return {
    target,
    device: 'disk',
    bus,
    source: `/var/lib/libvirt/images/${target}.qcow2`,
    serial: null,
    readonly: false,
    capacityBytes: capacityGib * gibiBytes,
    ...untouchedDisk,
  };
}

/**
 * Returns an interface with a MAC address in QEMU's range. The address ends with the number of the
 * machine (2 bytes) and a0 + the number of the interface.
 */
function network(machine: number, index: number): InterfaceSnapshot {
  const tail = [machine >> 8, machine & 255, 0xa0 + index].map((byte) => byte.toString(16).padStart(2, '0')).join(':');
  return { mac: `52:54:00:${tail}`, type: 'network', source: 'default', model: 'virtio', linkUp: true };
}

const firstDisk = 'PciRoot(0x0)/Pci(0x2,0x2)/Pci(0x0,0x0)';

function bootFrom({ mac }: InterfaceSnapshot, path: string): BootOptionSnapshot {
  return {
    key: `interface:${mac}`,
    kind: 'network',
    name: mac,
    path: `${path}/MAC(${mac.replaceAll(':', '').toUpperCase()},0x1)`,
  };
}

/** Returns a deterministic UUID, so that bookmarks and client configurations survive a restart. */
function sampleUuid(machine: number): string {
  return `5ac4fa6e-0000-4000-8000-${machine.toString(16).padStart(12, '0')}`;
}

/** Properties that differ for each machine. */
interface MachineIdentity {
  /** Canonical lower-case UUID. */
  readonly uuid: string;
  readonly name: string;
  readonly interfaces: readonly InterfaceSnapshot[];
  readonly hardware?: MachineHardware;
}

/** Hardware that differs from the default. */
export interface MachineHardware {
  /** Default: 2. */
  readonly cpus?: number | undefined;
  /** Default: 2048. */
  readonly memoryMib?: number | undefined;
  /** Default: one disk of 20 GiB. */
  readonly disksGib?: readonly number[] | undefined;
  /** Default: none. */
  readonly manufacturer?: string | undefined;
  readonly model?: string | undefined;
  readonly serial?: string | undefined;
}

function machine(number: number, name: string): CompleteSnapshot {
  return plainMachine({ uuid: sampleUuid(number), name, interfaces: [network(number, 0)] });
}

/** Returns the UEFI device path of a disk on the virtio bus. */
function diskPath(index: number): string {
  return index === 0 ? firstDisk : `PciRoot(0x0)/Pci(0x4,0x${index.toString(16)})/Pci(0x0,0x0)`;
}

const noSysinfo = {
  manufacturer: null,
  product: null,
  version: null,
  serial: null,
  sku: null,
  family: null,
  biosVendor: null,
  biosVersion: null,
} as const;

/** Empty drives. Snapshots are never changed, so all machines share these. */
const emptyDrives = MEDIA_DEVICES.map((device) => emptyDrive(device));

/** Returns a UEFI machine that is off. The other sample machines are variants of it. */
export function plainMachine({ uuid, name, interfaces, hardware = {} }: MachineIdentity): CompleteSnapshot {
  const { cpus: count = 2, memoryMib: memoryMiB = 2048, disksGib = [20], manufacturer, model, serial } = hardware;
  const disks = disksGib.map((gib, index) => disk(`vd${String.fromCharCode(97 + index)}`, 'virtio', gib));
  const [first] = disks;
  const hasSysinfo = manufacturer !== undefined || model !== undefined || serial !== undefined;
  return {
    uuid,
    name,
    state: 'shutoff',
    persistent: true,
    title: null,
    description: null,
    architecture: 'x86_64',
    machineType: 'pc-q35-7.2',
    sysinfo: hasSysinfo
      ? { ...noSysinfo, manufacturer: manufacturer ?? null, product: model ?? null, serial: serial ?? null }
      : noSysinfo,
    processors: { count, sockets: 1, coresPerSocket: count, threadsPerCore: 1, model: 'host-passthrough' },
    memoryKiB: memoryMiB * 1024,
    memoryDevices: [],
    memorySlots: 0,
    boot: {
      available: ['network', 'cdrom', ...(first === undefined ? [] : (['hd'] as const))],
      ...untouchedOverride(first === undefined ? 'none' : 'hd'),
      options: [
        ...disks.map(({ target }, index) => ({
          key: `disk:${target}` as const,
          kind: 'hd' as const,
          name: target,
          path: diskPath(index),
        })),
        { key: 'disk:sda', kind: 'cdrom', name: 'sda', path: 'PciRoot(0x0)/Pci(0x1F,0x2)/Sata(0x0,0xFFFF,0x0)' },
        ...interfaces.map((card, index) =>
          bootFrom(card, `PciRoot(0x0)/Pci(0x2,0x${index.toString(16)})/Pci(0x0,0x0)`),
        ),
      ],
      order: first === undefined ? [] : [`disk:${first.target}`],
      firmware: 'efi',
      firstDevicePath: first === undefined ? null : firstDisk,
    },
    firmware: {
      secureBoot: { enabled: false, current: null, enrolled: false },
      settings: {
        cpuCount: count,
        memoryMiB,
        firmware: 'efi',
        secureBoot: false,
        networkBoot: interfaces.length === 0 ? null : false,
        kept: {},
      },
      pending: {},
      failure: null,
      limits: { cpuCount: count, memoryMiB },
    },
    media: emptyDrives,
    disks: [...disks, cdrom],
    interfaces,
    indicator: null,
    hasConsole: true,
    autostart: false,
  };
}

/**
 * Returns a larger running machine: vendor name in its SMBIOS, Secure Boot, two sockets, two disks on two
 * buses, two network interfaces. One interface has no link.
 */
function server(number: number, name: string): CompleteSnapshot {
  const small = machine(number, name);
  return {
    ...small,
    state: 'running',
    boot: {
      ...small.boot,
      options: [
        ...small.boot.options,
        { key: 'disk:sdb', kind: 'hd', name: 'sdb', path: 'PciRoot(0x0)/Pci(0x1F,0x2)/Sata(0x1,0xFFFF,0x0)' },
        bootFrom(network(number, 1), 'PciRoot(0x0)/Pci(0x3,0x0)/Pci(0x0,0x0)'),
      ],
    },
    firmware: {
      ...small.firmware,
      secureBoot: { enabled: true, current: true, enrolled: true },
      settings: { ...small.firmware.settings, cpuCount: 8, memoryMiB: 24 * 1024, secureBoot: true },
      limits: { cpuCount: 8, memoryMiB: 24 * 1024 },
    },
    sysinfo: {
      manufacturer: 'Example Servers',
      product: 'ES-1000',
      version: '2',
      serial: 'ES1000-0002',
      sku: 'ES-1000-A',
      family: 'ES',
      biosVendor: 'Example Servers',
      biosVersion: '1.4',
    },
    processors: { count: 8, sockets: 2, coresPerSocket: 2, threadsPerCore: 2, model: 'EPYC' },
    memoryKiB: 24 * gibiKiB,
    memoryDevices: [{ model: 'dimm', sizeKiB: 4 * gibiKiB, totalKiB: 4 * gibiKiB, slot: 0 }],
    memorySlots: 2,
    disks: [disk('vda', 'virtio', 40), disk('sdb', 'sata', 100), cdrom],
    interfaces: [network(number, 0), { ...network(number, 1), linkUp: false }],
  };
}

/** Returns an old machine that is off: BIOS, 512 MiB, an IDE disk. */
function legacy(number: number, name: string): CompleteSnapshot {
  const bios = machine(number, name);
  const master = 'PciRoot(0x0)/Pci(0x1,0x1)/Ata(Primary,Master,0x0)';
  return {
    ...bios,
    machineType: 'pc-i440fx-7.2',
    processors: { count: 1, sockets: 1, coresPerSocket: 1, threadsPerCore: 1, model: 'qemu64' },
    memoryKiB: 512 * 1024,
    boot: {
      ...bios.boot,
      options: [
        { key: 'disk:hda', kind: 'hd', name: 'hda', path: master },
        { key: 'disk:hdc', kind: 'cdrom', name: 'hdc', path: 'PciRoot(0x0)/Pci(0x1,0x1)/Ata(Secondary,Master,0x0)' },
        bootFrom(network(number, 0), 'PciRoot(0x0)/Pci(0x3,0x0)'),
      ],
      order: ['disk:hda', 'disk:hdc'],
      firmware: 'bios',
      firstDevicePath: master,
    },
    firmware: {
      ...bios.firmware,
      secureBoot: null,
      settings: { ...bios.firmware.settings, cpuCount: 1, memoryMiB: 512, firmware: 'bios', secureBoot: null },
      limits: { cpuCount: 1, memoryMiB: 512 },
    },
    disks: [disk('hda', 'ide', 8), { ...cdrom, target: 'hdc', bus: 'ide' }],
  };
}

/**
 * Returns the sample machines: a UEFI machine that is off, a running two-socket server, an old BIOS
 * machine that is off, and then copies of the first. A copy has its own name, UUID and MAC address.
 * @param count 0 or more.
 */
export function sampleMachines(count = 3): readonly CompleteSnapshot[] {
  const special = [machine(1, 'node-1'), server(2, 'node-2'), legacy(3, 'node-3')];
  return Array.from({ length: count }, (_, index) => special[index] ?? machine(index + 1, `node-${index + 1}`));
}
