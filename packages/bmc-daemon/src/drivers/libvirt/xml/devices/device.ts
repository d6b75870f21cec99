/** Reads the devices of a domain that can boot or hold media, and their controllers. */
import type { DeviceKey } from '../../../snapshot/firmware-snapshot.js';
import { readAddress } from './address.js';
import type { DeviceAddress } from './address.js';
import { attribute, child, childElements, textOf, type XmlElement } from '../tree.js';
import { urlHost } from '../../../../host/ip-network.js';

interface Bootable {
  /**
   * Identifies the device within its domain, also after other devices change: `disk:vda`,
   * `interface:52:54:00:12:34:56`, `hostdev:0x0000/0x06/0x00/0x0`. Exception: of devices with equal keys, the second
   * and later ones also have a number by their order, such as `#1`.
   */
  readonly key: DeviceKey;
  /** `<boot order>`; null if absent. */
  readonly bootOrder: number | null;
  /** Alias; null in a definition without an alias of the user. */
  readonly alias: string | null;
  readonly address: DeviceAddress | null;
  /** The element of the device, which an edit of the same text can change. */
  readonly element: XmlElement;
  /** Index of the device among all devices, in the order of the XML. */
  readonly place: number;
}

/** `<source>` of a disk of any type. */
interface DiskSource {
  /** libvirt's type of the source, such as `file`, `block` or `volume`. */
  readonly type: string;
  /** Path, `pool/volume`, URL or address, by type; null for an empty drive. */
  readonly name: string | null;
  readonly pool: string | null;
  readonly volume: string | null;
}

/** `<disk>`: a disk, a CD drive or a floppy drive. */
export interface Disk extends Bootable {
  readonly kind: 'disk';
  readonly device: 'disk' | 'cdrom' | 'floppy' | 'lun';
  /** The bus, such as `virtio`, `sata` or `usb`. */
  readonly bus: string;
  /** The name of the target, such as `vda`. */
  readonly target: string;
  readonly source: DiskSource;
  readonly readonly: boolean;
  readonly serial: string | null;
  /** `<driver type>`: `raw`, `qcow2`. */
  readonly format: string | null;
}

/** `<interface>`. */
interface Interface extends Bootable {
  readonly kind: 'interface';
  /** Lower case, colon-separated; `''` if libvirt has not assigned one. */
  readonly mac: string;
  /** `network`, `bridge`, `user`, `direct`, … */
  readonly type: string;
  /** Connected network, bridge, host device or path. */
  readonly source: string | null;
  readonly model: string | null;
  readonly linkUp: boolean;
}

/** `<hostdev>` or `<redirdev>`. */
interface HostDevice extends Bootable {
  readonly kind: 'hostdev' | 'redirdev';
  /** `pci`, `usb`, `scsi`, `mdev`; for a redirdev its bus. */
  readonly type: string;
}

/** `<controller>`. */
export interface Controller {
  /** `pci`, `sata`, `ide`, `scsi`, `usb`, `virtio-serial`, … */
  readonly type: string;
  readonly index: number;
  /** `pcie-root-port`, `virtio-scsi`, `qemu-xhci`; null if libvirt has not chosen one. */
  readonly model: string | null;
  readonly address: DeviceAddress | null;
  /** Bus number of a PCI expander bus, which is a root; null for all other controllers. */
  readonly busNumber: number | null;
}

/** A device that can have a `<boot order>`. */
export type BootableDevice = Disk | Interface | HostDevice;

/** The devices of a domain. */
export interface Devices {
  /** In the order of the XML. `<boot dev='hd'/>` means the first disk. */
  readonly disks: readonly Disk[];
  readonly interfaces: readonly Interface[];
  readonly hostDevices: readonly HostDevice[];
  readonly controllers: readonly Controller[];
}

/** Reads `<devices>`. */
export function readDevices(devices: XmlElement | undefined): Devices {
  const keys = new Map<string, number>();
  const places = new Map(childElements(devices).map((element, place) => [element, place]));
  // Two interfaces may have the same MAC, and redirdevs have no identity: later ones get a number
  // in their key.
  const uniqueKey = (key: DeviceKey): DeviceKey => {
    const seen = keys.get(key) ?? 0;
    keys.set(key, seen + 1);
    return seen === 0 ? key : `${key}#${seen}`;
  };
  const bootable = (element: XmlElement, key: DeviceKey): Bootable => {
    const order = attribute(child(element, 'boot'), 'order');
    return {
      key: uniqueKey(key),
      bootOrder: order === null ? null : Number(order),
      alias: attribute(child(element, 'alias'), 'name'),
      address: readAddress(element),
      element,
      place: places.get(element) ?? 0,
    };
  };
  return {
    disks: childElements(devices, 'disk').map((element) => {
      const target = child(element, 'target');
      const name = attribute(target, 'dev') ?? '';
      return {
        ...bootable(element, `disk:${name}`),
        kind: 'disk',
        device: diskDevice(attribute(element, 'device')),
        bus: attribute(target, 'bus') ?? '',
        target: name,
        source: readDiskSource(element),
        readonly: child(element, 'readonly') !== undefined,
        serial: textOf(child(element, 'serial')),
        format: attribute(child(element, 'driver'), 'type'),
      };
    }),
    interfaces: childElements(devices, 'interface').map((element) => {
      const mac = attribute(child(element, 'mac'), 'address')?.toLowerCase() ?? '';
      return {
        ...bootable(element, `interface:${mac}`),
        kind: 'interface',
        mac,
        type: attribute(element, 'type') ?? '',
        source: interfaceSource(child(element, 'source')),
        model: attribute(child(element, 'model'), 'type'),
        linkUp: attribute(child(element, 'link'), 'state') !== 'down',
      };
    }),
    hostDevices: childElements(devices)
      .filter((element) => element.name === 'hostdev' || element.name === 'redirdev')
      .map((element) => {
        const kind = element.name === 'hostdev' ? 'hostdev' : 'redirdev';
        return {
          ...bootable(element, `${kind}:${sourceValues(child(element, 'source')).join('/')}`),
          kind,
          type: attribute(element, kind === 'hostdev' ? 'type' : 'bus') ?? '',
        };
      }),
    controllers: childElements(devices, 'controller').map((element) => {
      const busNumber = attribute(child(element, 'target'), 'busNr');
      return {
        type: attribute(element, 'type') ?? '',
        index: Number(attribute(element, 'index') ?? 0),
        model: attribute(element, 'model'),
        address: readAddress(element),
        busNumber: busNumber === null ? null : Number(busNumber),
      };
    }),
  };
}

function diskDevice(device: string | null): Disk['device'] {
  return device === 'cdrom' || device === 'floppy' || device === 'lun' ? device : 'disk';
}

function readDiskSource(disk: XmlElement): DiskSource {
  const type = attribute(disk, 'type') ?? 'file';
  const source = child(disk, 'source');
  const pool = attribute(source, 'pool');
  const volume = attribute(source, 'volume');
  return { type, name: sourceName(type, source), pool, volume };
}

function sourceName(type: string, source: XmlElement | undefined): string | null {
  if (source === undefined) return null;
  const value = (name: string): string | null => attribute(source, name);
  switch (type) {
    case 'block':
    case 'vhostvdpa':
      return value('dev');
    case 'dir':
      return value('dir');
    case 'volume':
      return value('pool') === null || value('volume') === null ? null : `${value('pool')}/${value('volume')}`;
    case 'network':
      return networkUrl(source);
    case 'nvme': {
      const address = child(source, 'address');
      const part = (name: string): string => Number(attribute(address, name) ?? 0).toString(16);
      const location = `${part('domain').padStart(4, '0')}:${part('bus').padStart(2, '0')}:${part('slot').padStart(2, '0')}`;
      return `nvme://${location}.${part('function')}/${value('namespace') ?? '1'}`;
    }
    case 'vhostuser':
      return value('path');
    default:
      // An empty drive may have a <source> with only startupPolicy.
      return value('file');
  }
}

/** Returns one URL form for all protocols, which have different forms in QEMU (`rbd:…`); null without a protocol. */
function networkUrl(source: XmlElement): string | null {
  const protocol = attribute(source, 'protocol');
  if (protocol === null) return null;
  const host = child(source, 'host');
  const [address, port] = [attribute(host, 'name') ?? attribute(host, 'socket') ?? '', attribute(host, 'port')];
  const path = (attribute(source, 'name') ?? '').replace(/^\//, '');
  return `${protocol}://${urlHost(address)}${port === null ? '' : `:${port}`}/${path}`;
}

function interfaceSource(source: XmlElement | undefined): string | null {
  for (const name of ['network', 'bridge', 'dev', 'path', 'portid', 'address']) {
    const value = attribute(source, name);
    if (value !== null) return value;
  }
  const host = child(source, 'address');
  return host === undefined ? null : sourceValues(source).join('/');
}

/** Returns all attribute values and texts in `<source>`, which identify a host device. */
function sourceValues(source: XmlElement | undefined): readonly string[] {
  if (source === undefined) return [];
  return [
    ...source.attributes
      // Neither `startupPolicy` nor `index` identifies the device. libvirt adds `index` while the device is in use.
      .filter(({ name }) => name !== 'startupPolicy' && name !== 'index')
      .map(({ value }) => value),
    ...(textOf(source) === null ? [] : [source.text.trim()]),
    ...childElements(source)
      // A USB device with vendor and product has an address only while it is in use.
      .filter(({ name }) => name !== 'address' || child(source, 'vendor') === undefined)
      .flatMap(sourceValues),
  ];
}
