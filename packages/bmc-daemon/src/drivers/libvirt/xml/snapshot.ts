/** Converts a machine's inactive and live XML to the snapshot that resources render. */
import type { BootSnapshot } from '../../snapshot/boot-snapshot.js';
import type { DiskSnapshot, ProcessorTopology } from '../../snapshot/hardware-snapshot.js';
import type { DomainState, CompleteSnapshot } from '../../snapshot/system-snapshot.js';
import { type MediaSnapshot, MEDIA_DEVICES, type MediaDevice } from '../../snapshot/media-snapshot.js';
import type { FirmwareSnapshot } from '../../snapshot/firmware-snapshot.js';
import { catalogOfFileNames, type FirmwareCatalog } from '../firmware-catalog.js';
import {
  availableBootDevices,
  bootableDevices,
  bootKind,
  deviceKeys,
  effectiveBootOrder,
  firstBootDevice,
} from './os/boot-order.js';
import { restoreBootOrder } from './os/boot-order-edit.js';
import { DefinitionEdit } from './definition-edit.js';
import { untouchedOverride } from '../../rules/boot-override.js';
import { bootsFromNetwork, readFixedSettings, readLimits } from './os/machine-settings.js';
import { devicePath } from './devices/device-path.js';
import type { BootableDevice, Disk } from './devices/device.js';
import { diskRecord } from './metadata/disk-record.js';
import { readDomain, type Domain } from './domain.js';
import { readMetadata } from './metadata/metadata.js';
import type { MachineRecord } from './metadata/machine-record.js';
import { canHaveDrive, findDrive, isStick } from './devices/removable-drive.js';
import { mediaRecord, type MediaRecord } from './metadata/media-record.js';
import { mediaSettings } from './metadata/media-settings-record.js';
import { parseXml, type XmlDocument } from './parse.js';
import type { XmlElement } from './tree.js';
import { secureBootState } from './os/secure-boot.js';
import { noSettings } from './metadata/settings-record.js';

/** Data that the XML does not contain. */
interface SnapshotExtras {
  readonly state: DomainState;
  /** Default: no failure. */
  readonly failure?: CompleteSnapshot['failure'];
  /** Default: false. */
  readonly migrating?: boolean;
  readonly persistent: boolean;
  /** Null or absent: the machine is transient, or libvirt does not report it. */
  readonly autostart?: boolean | null;
  /** Known virtual sizes by disk target. */
  readonly capacityBytes: ReadonlyMap<string, number>;
  /** Facts about firmware files. Default: derived from file names. */
  readonly catalog?: FirmwareCatalog;
  /** CPU model of the host, for machines with CPU passthrough. Default: unknown. */
  readonly hostCpuModel?: string | null;
  /** Whether QEMU of this host can stream images. Default: false. */
  readonly streams?: boolean;
}

/**
 * Returns the snapshot. Boot, firmware and metadata are from the definition, which the next boot uses. If the
 * machine runs, its hardware and its media are from its running instance. Disks that wait for the next start
 * are from the definition.
 * @param inactive libvirt's XML with the flag INACTIVE: the definition, or the instance of a transient machine.
 * @param live null if the machine is off.
 * @throws {DriverError} internal, if the XML is not a domain.
 */
export function readSnapshot(
  inactive: string | XmlDocument,
  live: string | XmlDocument | null,
  extras: SnapshotExtras,
): CompleteSnapshot {
  const document = typeof inactive === 'string' ? parseXml(inactive) : inactive;
  const defined = readDomain(document);
  const actual = live === null ? defined : readDomain(live);
  const record = readMetadata(document);
  const own = { ...readOwn(document, record), defined };
  return {
    uuid: defined.uuid,
    name: defined.name,
    state: extras.state,
    persistent: extras.persistent,
    title: defined.title,
    description: defined.description,
    architecture: defined.os.architecture,
    machineType: defined.os.machineType,
    sysinfo: actual.sysinfo,
    processors: withHostModel(actual.processors, extras.hostCpuModel ?? null),
    memoryKiB: actual.memoryKiB,
    memoryDevices: actual.memoryDevices,
    memorySlots: actual.memorySlots,
    boot: bootSnapshot(own, record),
    firmware: firmwareSnapshot(own, actual, record, extras.catalog ?? catalogOfFileNames),
    media: mediaSnapshots(defined, actual, record, extras.streams ?? false),
    disks: diskSnapshots(defined, actual, record, extras.capacityBytes),
    interfaces: actual.devices.interfaces.map(({ mac, type, source, model, linkUp }) => ({
      mac,
      type,
      source,
      model,
      linkUp,
    })),
    indicator: record.indicator,
    ...(actual.serialPort === null ? {} : { hasConsole: true }),
    ...(actual.hasVncDisplay ? { hasGraphicalConsole: true } : {}),
    ...optionalMembers(record, extras),
  };
}

/** Returns the members that only some machines have. */
function optionalMembers(
  { owner }: MachineRecord,
  { failure, migrating, autostart }: SnapshotExtras,
): Partial<CompleteSnapshot> {
  return {
    ...(failure === undefined || failure === null ? {} : { failure }),
    ...(migrating === true ? { migrating } : {}),
    ...(autostart === undefined || autostart === null ? {} : { autostart }),
    ...(owner?.assetTag === undefined ? {} : { assetTag: owner.assetTag }),
    ...(owner?.firmwareUpdate === undefined ? {} : { firmwareUpdate: owner.firmwareUpdate }),
  };
}

/** The current definition, and the user's own definition: without the boot order of an override. */
interface OwnDefinition {
  /** The root of `own`. */
  readonly root: XmlElement;
  readonly own: Domain;
  readonly defined: Domain;
}

function readOwn(document: XmlDocument, { boot }: MachineRecord): Pick<OwnDefinition, 'root' | 'own'> {
  const saved = boot?.saved ?? null;
  if (saved === null) return { root: document.root, own: readDomain(document) };
  const edit = new DefinitionEdit(document.source);
  restoreBootOrder(edit, saved);
  return { root: edit.xml.root, own: edit.domain };
}

function bootSnapshot({ own, defined }: OwnDefinition, { boot }: MachineRecord): BootSnapshot {
  const kinds = new Set(availableBootDevices(defined.devices));
  const options = bootableDevices(defined.devices).map((device) => ({
    key: device.key,
    kind: bootKind(device),
    name: deviceName(device),
    path: devicePath(device, defined.devices),
  }));
  const override = boot ?? untouchedOverride(firstBootDevice(defined));
  const { enabled, target, option, httpUri } = override;
  const first = option ?? effectiveBootOrder(defined)[0]?.device.key;
  return {
    // Ironic expects these three kinds, so they are offered even without a network card, a CD drive or a disk.
    available: ['network', 'cdrom', 'hd', ...(['fd', 'usb'] as const).filter((kind) => kinds.has(kind))],
    enabled,
    target,
    ...(option === undefined ? {} : { option }),
    ...(httpUri === undefined ? {} : { httpUri }),
    options,
    order: deviceKeys(effectiveBootOrder(own)),
    firmware: defined.firmware,
    firstDevicePath: options.find(({ key }) => key === first)?.path ?? null,
  };
}

function deviceName(device: BootableDevice): string {
  if (device.kind === 'disk') return device.target;
  return device.kind === 'interface' ? device.mac : device.key.slice(device.key.indexOf(':') + 1);
}

function firmwareSnapshot(
  { root, own, defined }: OwnDefinition,
  actual: Domain,
  record: MachineRecord,
  catalog: FirmwareCatalog,
): FirmwareSnapshot {
  const { kept, pending, failure, original } = record.settings ?? noSettings;
  const state = defined.firmware === 'efi' ? secureBootState(defined.os, catalog) : null;
  // Live XML names the files that libvirt has selected, so it shows whether Secure Boot is active now.
  const current = actual.id === null || actual.firmware !== 'efi' ? null : secureBootState(actual.os, catalog).enabled;
  const limits = readLimits(root);
  const fixed = readFixedSettings(root);
  return {
    secureBoot: state === null ? null : { ...state, current },
    settings: {
      cpuCount: defined.processors.count,
      memoryMiB: Math.floor(defined.memoryKiB / 1024),
      firmware: defined.firmware,
      secureBoot: state?.enabled ?? null,
      networkBoot: own.devices.interfaces.length === 0 ? null : bootsFromNetwork(own),
      kept,
    },
    pending,
    failure,
    // If a client has reduced the memory, the former size is still the maximum.
    limits: { ...limits, memoryMiB: Math.max(limits.memoryMiB, original.memoryMiB ?? 0) },
    ...(fixed === null ? {} : { fixed }),
  };
}

/** Modes of `<cpu>` that use the CPU of the host without naming it. */
const HOST_MODES: ReadonlySet<string | null> = new Set(['host-passthrough', 'host-model']);

/** Returns whether a machine has the CPU of the host, which its XML does not name. */
export function hasHostCpu({ processors }: Pick<CompleteSnapshot, 'processors'>): boolean {
  return HOST_MODES.has(processors.model);
}

function withHostModel(processors: ProcessorTopology, model: string | null): ProcessorTopology {
  return model === null || !HOST_MODES.has(processors.model) ? processors : { ...processors, model };
}

function diskSnapshots(
  defined: Domain,
  actual: Domain,
  { disks: records, media }: MachineRecord,
  capacities: ReadonlyMap<string, number>,
): readonly DiskSnapshot[] {
  // The USB stick of virtual media is not a disk of the machine, nor is a stick with a floppy
  // image.
  const stick = mediaRecord(media, 'usb');
  const floppyStick = mediaRecord(media, 'floppy');
  const isMedia = (disk: Disk): boolean => isStick(disk, stick) || isStick(disk, floppyStick);
  const targets = new Set(actual.devices.disks.map(({ target }) => target));
  const waiting = defined.devices.disks.filter(({ target }) => !targets.has(target));
  const all = [...actual.devices.disks, ...waiting].filter((disk) => !isMedia(disk));
  return all.map((disk) => {
    const { target, device, bus, source, serial, readonly } = disk;
    const record = diskRecord(records, { target, source: source.name });
    return {
      target,
      device,
      bus,
      source: source.name,
      serial,
      readonly,
      capacityBytes: capacities.get(target) ?? record?.capacityBytes ?? null,
      indicator: record?.indicator ?? null,
      label: record?.name ?? null,
      storage: record?.storage ?? null,
      pending: waiting.includes(disk),
    };
  });
}

function mediaSnapshots(
  defined: Domain,
  actual: Domain,
  record: MachineRecord,
  streams: boolean,
): readonly MediaSnapshot[] {
  return MEDIA_DEVICES.filter((device) => canHaveDrive(defined, device)).map((device) => {
    const media = mediaRecord(record.media, device);
    const drive = shownDrive(defined, actual, device, media);
    const held = content(drive, media);
    return {
      device,
      ...mediaSettings(record.mediaSettings, device),
      // Floppy images are not streamed, because QEMU would request each sector from the server.
      transferMethods: streams && device !== 'floppy' ? ['upload', 'stream'] : ['upload'],
      ...held,
      writeProtected: device === 'cdrom' || !held.inserted || drive?.readonly === true,
    };
  });
}

/**
 * Returns the drive to show. If the definition has a drive, this is the drive of the running machine with the same
 * key and type, or else that of the definition. If not, it is a drive of the running machine, or null.
 */
function shownDrive(defined: Domain, actual: Domain, device: MediaDevice, media: MediaRecord | undefined): Disk | null {
  const own = findDrive(defined, device, media);
  const running = actual.devices.disks.find((disk) => disk.key === own?.key && disk.device === own.device);
  return running ?? own ?? findDrive(actual, device, media);
}

function content(drive: Disk | null, media: MediaRecord | undefined) {
  const name = drive?.source.name ?? null;
  if (drive === null || name === null) {
    return { inserted: false, image: null, imageName: null, viaUri: false, transferMethod: null };
  }
  if (media?.drive === drive.target && media.source === name) {
    const { image, imageName } = media;
    const transferMethod = drive.source.type === 'network' ? ('stream' as const) : ('upload' as const);
    return { inserted: true, image, imageName, viaUri: true, transferMethod };
  }
  const imageName = name.split('/').at(-1) ?? name;
  return { inserted: true, image: name, imageName, viaUri: false, transferMethod: null };
}
