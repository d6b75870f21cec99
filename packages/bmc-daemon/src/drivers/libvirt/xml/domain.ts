/**
 * Reads the XML of a domain, live or inactive, as plain data with libvirt's names. Only live XML contains the
 * aliases that libvirt assigns.
 * @see https://libvirt.org/formatdomain.html
 */
import { DriverError } from '../../driver-error.js';
import type { FirmwareType } from '../../snapshot/firmware-snapshot.js';
import type { MemoryDeviceSnapshot, ProcessorTopology, SysinfoSnapshot } from '../../snapshot/hardware-snapshot.js';
import { readDevices } from './devices/device.js';
import type { Devices } from './devices/device.js';
import { readMemoryDevices } from './devices/memory-device.js';
import { parseXml, type XmlDocument } from './parse.js';
import { attribute, child, childElements, textOf, type XmlElement } from './tree.js';
import { readVncDisplay } from './devices/vnc-display.js';
import { readSerialPort, type SerialPort } from './devices/serial-port.js';
import { readMemoryKiB } from './size.js';

/** `<loader>` of `<os>`. */
interface Loader {
  readonly path: string | null;
  /** `pflash`, `rom`; null if the definition does not name the type. */
  readonly type: string | null;
  readonly readonly: boolean;
  readonly secure: boolean;
}

/** `<os>`: the machine type and the firmware. */
export interface OperatingSystem {
  /** libvirt's type of virtualization, usually `hvm`. */
  readonly type: string | null;
  /** The architecture, such as `x86_64` or `aarch64`. */
  readonly architecture: string;
  /** The type of the machine, such as `pc-q35-7.2`. */
  readonly machineType: string;
  /**
   * `<os firmware>`: libvirt selects a firmware of this type; null if the definition names the
   * firmware or has none.
   */
  readonly firmware: string | null;
  /** `<firmware><feature>` by name: features that libvirt must select or avoid. */
  readonly firmwareFeatures: ReadonlyMap<string, boolean>;
  readonly loader: Loader | null;
  readonly nvram: { readonly path: string | null; readonly template: string | null } | null;
  /** `<boot dev>` in order: `hd`, `cdrom`, `network`, `fd`. */
  readonly bootDevices: readonly string[];
}

/** The data of `<domain>`. */
export interface Domain {
  /** Canonical, lower case. */
  readonly uuid: string;
  readonly name: string;
  /** libvirt's id of the running domain; null if the machine is off, and for XML with the flag INACTIVE. */
  readonly id: number | null;
  /** The hypervisor, such as `kvm` or `qemu`. */
  readonly type: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly os: OperatingSystem;
  readonly firmware: FirmwareType;
  readonly emulator: string | null;
  readonly sysinfo: SysinfoSnapshot;
  readonly processors: ProcessorTopology;
  /** `<memory>`: memory at boot. */
  readonly memoryKiB: number;
  readonly memoryDevices: readonly MemoryDeviceSnapshot[];
  /** `<maxMemory slots>`; 0 if absent. */
  readonly memorySlots: number;
  readonly devices: Devices;
  /** Null if the machine has no serial port that libvirt offers as a stream. */
  readonly serialPort: SerialPort | null;
  readonly hasVncDisplay: boolean;
}

/**
 * Reads the domain id from the start tag only, because parsing the whole XML takes longer.
 * @returns null if the machine is off, and for XML that was read with the flag INACTIVE.
 * @throws {DriverError} internal, if the XML is not a domain.
 */
export function readInstanceId(xml: string): number | null {
  const attributes = /^<domain\b([^>]*)>/.exec(xml)?.[1];
  if (attributes === undefined) return readDomain(xml).id;
  const id = /\sid\s*=\s*['"](\d+)['"]/.exec(attributes)?.[1];
  return id === undefined ? null : Number(id);
}

/** Cache of parsed domains by document. */
const domains = new WeakMap<XmlDocument, Domain>();

/** Reads a domain's XML. @throws {DriverError} internal, if the XML is not a domain. */
export function readDomain(xml: string | XmlDocument): Domain {
  const document = typeof xml === 'string' ? parseXml(xml) : xml;
  const cached = domains.get(document);
  if (cached !== undefined) return cached;
  const domain = readRoot(document.root);
  domains.set(document, domain);
  return domain;
}

/** Reads `<domain>`. @throws {DriverError} internal, for another element, no name, or an invalid memory size. */
export function readRoot(root: XmlElement): Domain {
  const uuid = textOf(child(root, 'uuid'));
  // Does not trim the name: libvirt accepts names with spaces at both ends, even a name of spaces only.
  const name = child(root, 'name')?.text ?? '';
  if (root.name !== 'domain' || name === '') {
    throw new DriverError('internal', 'reading domain xml: it has no <domain> with a name');
  }
  const id = attribute(root, 'id');
  const os = readOperatingSystem(child(root, 'os'));
  return {
    uuid: uuid?.toLowerCase() ?? '',
    name,
    id: id === null ? null : Number(id),
    type: attribute(root, 'type') ?? '',
    title: textOf(child(root, 'title')),
    description: textOf(child(root, 'description')),
    os,
    firmware: firmwareType(os),
    emulator: textOf(child(root, 'devices', 'emulator')),
    sysinfo: readSysinfo(root),
    processors: readProcessors(root),
    memoryKiB: readMemoryKiB(child(root, 'memory')),
    memoryDevices: readMemoryDevices(child(root, 'devices')),
    memorySlots: Number(attribute(child(root, 'maxMemory'), 'slots') ?? 0),
    devices: readDevices(child(root, 'devices')),
    serialPort: readSerialPort(child(root, 'devices')),
    hasVncDisplay: readVncDisplay(child(root, 'devices')) !== null,
  };
}

function readOperatingSystem(os: XmlElement | undefined): OperatingSystem {
  const type = child(os, 'type');
  const loader = child(os, 'loader');
  const nvram = child(os, 'nvram');
  return {
    type: textOf(type),
    architecture: attribute(type, 'arch') ?? '',
    machineType: attribute(type, 'machine') ?? '',
    firmware: attribute(os, 'firmware'),
    firmwareFeatures: new Map(
      childElements(child(os, 'firmware'), 'feature').map((feature) => [
        attribute(feature, 'name') ?? '',
        attribute(feature, 'enabled') === 'yes',
      ]),
    ),
    loader:
      loader === undefined
        ? null
        : {
            path: textOf(loader),
            type: attribute(loader, 'type'),
            readonly: attribute(loader, 'readonly') === 'yes',
            secure: attribute(loader, 'secure') === 'yes',
          },
    nvram: nvram === undefined ? null : { path: textOf(nvram), template: attribute(nvram, 'template') },
    bootDevices: childElements(os, 'boot').flatMap((boot) => attribute(boot, 'dev') ?? []),
  };
}

/**
 * Returns the firmware type. If libvirt selects the firmware, the definition contains the type. If the definition
 * names a loader, a loader in flash memory (`pflash`) is UEFI, because a BIOS is loaded as ROM.
 */
function firmwareType(os: OperatingSystem): FirmwareType {
  if (os.firmware !== null) return os.firmware === 'efi' ? 'efi' : 'bios';
  return os.loader?.type === 'pflash' ? 'efi' : 'bios';
}

function readSysinfo(root: XmlElement): SysinfoSnapshot {
  const smbios = childElements(root, 'sysinfo').find((candidate) => attribute(candidate, 'type') === 'smbios');
  const entry = (table: string, name: string): string | null =>
    textOf(childElements(child(smbios, table), 'entry').find((candidate) => attribute(candidate, 'name') === name));
  return {
    manufacturer: entry('system', 'manufacturer'),
    product: entry('system', 'product'),
    version: entry('system', 'version'),
    serial: entry('system', 'serial'),
    sku: entry('system', 'sku'),
    family: entry('system', 'family'),
    biosVendor: entry('bios', 'vendor'),
    biosVersion: entry('bios', 'version'),
  };
}

function readProcessors(root: XmlElement): ProcessorTopology {
  const vcpu = child(root, 'vcpu');
  const maximum = Number(textOf(vcpu) ?? 1);
  const cpu = child(root, 'cpu');
  const topology = child(cpu, 'topology');
  const part = (name: string, fallback: number): number => Number(attribute(topology, name) ?? fallback);
  const mode = attribute(cpu, 'mode');
  return {
    count: Number(attribute(vcpu, 'current') ?? maximum),
    // Without a topology libvirt defines one socket per vCPU.
    sockets: part('sockets', maximum),
    coresPerSocket: part('dies', 1) * part('clusters', 1) * part('cores', 1),
    threadsPerCore: part('threads', 1),
    model: textOf(child(cpu, 'model')) ?? (mode === 'custom' ? null : mode),
  };
}
