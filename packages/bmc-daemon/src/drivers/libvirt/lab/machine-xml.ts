/** Definitions of lab machines. */
import { DefinitionEdit } from '../xml/definition-edit.js';
import type { NewDiskSource } from '../xml/devices/disk-source.js';
import { element, markupLines, type Markup } from '../xml/markup.js';
import type { CreatedRecord } from '../xml/metadata/created-record.js';
import { emptyRecord } from '../xml/metadata/machine-record.js';
import { setFirmware, type FirmwareChoice } from '../xml/os/firmware.js';
import { setSecureBoot, type SecureBootFiles } from '../xml/os/secure-boot.js';
import { derivedSerial, derivedWwn } from './addresses.js';
import type { GuestPlatform, MachineSpec, NetworkLink } from './machine-spec.js';

/** The firmware files that a definition names; null members: libvirt selects them. */
export interface FirmwareFiles {
  readonly choice: FirmwareChoice;
  readonly secureBoot: SecureBootFiles | null;
}

/** A volume that a disk uses. */
export interface DiskVolume {
  readonly source: NewDiskSource;
  readonly format: 'qcow2' | 'raw';
}

/** Everything that a definition contains. */
export interface DefinitionPlan {
  readonly name: string;
  readonly uuid: string;
  readonly spec: MachineSpec;
  readonly platform: GuestPlatform;
  readonly firmware: FirmwareFiles;
  /** One address for each network of the spec. */
  readonly macs: readonly string[];
  readonly record: CreatedRecord;
}

/**
 * Returns the definition of a machine.
 * @param disks the volumes in the order of the spec; an empty array while they do not exist yet.
 * @throws {DriverError} unsupported, for firmware that the machine type does not have.
 */
export function machineXml(plan: DefinitionPlan, disks: readonly DiskVolume[]): string {
  const { spec, firmware, record } = plan;
  const edit = new DefinitionEdit(markupLines(domain(plan, disks)).join('\n'));
  if (spec.firmware !== 'bios') setFirmware(edit, 'efi', firmware.choice);
  if (spec.firmware === 'secure-boot') setSecureBoot(edit, 'on', firmware.secureBoot);
  edit.setRecord({ ...emptyRecord, created: record });
  return edit.text();
}

function domain(plan: DefinitionPlan, disks: readonly DiskVolume[]): Markup {
  const { name, uuid, spec, platform } = plan;
  const isX86 = platform.architecture === 'x86_64';
  return element('domain', { type: platform.domainType }, [
    element('name', {}, name),
    element('uuid', {}, uuid),
    element('memory', { unit: 'MiB' }, spec.memoryMiB),
    element('vcpu', {}, spec.cpus),
    element('os', {}, [
      element('type', { arch: platform.architecture, machine: platform.machineType }, 'hvm'),
      isX86 && spec.firmware === 'bios' ? element('bios', { useserial: 'yes' }) : null,
    ]),
    element('features', {}, [element('acpi'), isX86 ? element('apic') : null]),
    cpu(spec, platform),
    element('clock', { offset: 'utc' }),
    // The machine behaves like a server: it restarts after a reboot or a crash of the guest, and stays off after
    // a power-off.
    element('on_poweroff', {}, 'destroy'),
    element('on_reboot', {}, 'restart'),
    element('on_crash', {}, 'restart'),
    element('devices', {}, devices(plan, disks, isX86)),
  ]);
}

function cpu({ cpuModel, cpus }: MachineSpec, { cpuMode }: GuestPlatform): Markup {
  const topology = element('topology', { sockets: 1, cores: cpus, threads: 1 });
  if (cpuModel === null) return element('cpu', { mode: cpuMode }, [topology]);
  return element('cpu', { mode: 'custom', match: 'exact' }, [
    element('model', { fallback: 'forbid' }, cpuModel),
    topology,
  ]);
}

function devices(plan: DefinitionPlan, disks: readonly DiskVolume[], isX86: boolean): readonly Markup[] {
  const { spec, uuid, macs, record } = plan;
  const order = bootNumbers(spec);
  const log = record.serialLog === null ? null : element('log', { file: record.serialLog, append: 'on' });
  const cdBus = isX86 ? 'sata' : 'scsi';
  const prefix = spec.diskBus === 'virtio' ? 'vd' : 'sd';
  const letter = (index: number): string => String.fromCharCode('a'.charCodeAt(0) + index);
  // The CD drive comes after the disks, so that a guest names the disks first.
  const cdTarget = spec.diskBus === 'virtio' ? 'sda' : `sd${letter(spec.diskBytes.length)}`;
  return [
    ...disks.map((volume, index) =>
      disk({ volume, index, uuid, bus: spec.diskBus, target: prefix + letter(index), boot: order.disk[index] ?? null }),
    ),
    element('disk', { type: 'file', device: 'cdrom' }, [
      element('driver', { name: 'qemu', type: 'raw' }),
      element('target', { dev: cdTarget, bus: cdBus }),
      element('readonly'),
      bootOrder(order.cdrom),
    ]),
    // Redfish clients can plug volumes into a running machine on SCSI, and images on USB.
    element('controller', { type: 'scsi', index: 0, model: 'virtio-scsi' }),
    element('controller', { type: 'usb', index: 0, model: 'qemu-xhci' }),
    ...spec.networks.map((link, index) =>
      nic(link, { spec, mac: macs[index] ?? null, boot: order.network[index] ?? null }),
    ),
    element('serial', { type: 'pty' }, [log]),
    spec.tpm ? tpm(isX86) : null,
    // A unix socket: a TCP port without a password would be open to all users of the host.
    element('graphics', { type: 'vnc' }, [element('listen', { type: 'socket' })]),
    element('video', {}, [element('model', { type: isX86 ? 'vga' : 'virtio' })]),
    // UEFI firmware boots from the network only with a random number generator.
    element('rng', { model: 'virtio' }, [element('backend', { model: 'random' }, '/dev/urandom')]),
  ].filter((device) => device !== null);
}

/**
 * Returns the numbers for the `<boot order>` of the devices, by kind. Devices of a kind that the boot order
 * omits get no number. `<os><boot dev>` would select only the first device of each kind.
 */
function bootNumbers({ bootOrder: kinds, networks, diskBytes }: MachineSpec) {
  const numbers = { network: [] as number[], disk: [] as number[], cdrom: null as number | null };
  let next = 1;
  for (const kind of kinds) {
    if (kind === 'cdrom') numbers.cdrom = next++;
    else
      for (let left = kind === 'disk' ? diskBytes.length : networks.length; left > 0; left -= 1)
        numbers[kind].push(next++);
  }
  return numbers;
}

const bootOrder = (order: number | null): Markup | null => (order === null ? null : element('boot', { order }));

interface DiskParts {
  readonly volume: DiskVolume;
  readonly index: number;
  readonly uuid: string;
  readonly bus: string;
  readonly target: string;
  readonly boot: number | null;
}

function disk({ volume: { source, format }, index, uuid, bus, target, boot }: DiskParts): Markup {
  return element('disk', { type: source.type, device: 'disk' }, [
    element('driver', { name: 'qemu', type: format, discard: 'unmap' }),
    element('source', sourceAttributes(source)),
    element('target', { dev: target, bus }),
    bootOrder(boot),
    // Root device hints of Ironic and Metal3 can select a disk by its serial number or WWN.
    element('serial', {}, derivedSerial(uuid, index)),
    bus === 'virtio' ? null : element('wwn', {}, derivedWwn(uuid, index)),
  ]);
}

function sourceAttributes(source: NewDiskSource): Markup['attributes'] {
  if (source.type === 'volume') return { pool: source.pool, volume: source.volume };
  return source.type === 'file' ? { file: source.path } : { dev: source.path };
}

interface NicParts {
  readonly spec: MachineSpec;
  readonly mac: string | null;
  readonly boot: number | null;
}

function nic({ type, name }: NetworkLink, { spec, mac, boot }: NicParts): Markup {
  return element('interface', { type }, [
    mac === null ? null : element('mac', { address: mac }),
    element('source', { [type]: name }),
    element('model', { type: spec.nicModel }),
    bootOrder(boot),
  ]);
}

function tpm(isX86: boolean): Markup {
  return element('tpm', { model: isX86 ? 'tpm-crb' : 'tpm-tis' }, [
    element('backend', { type: 'emulator', version: '2.0' }),
  ]);
}
