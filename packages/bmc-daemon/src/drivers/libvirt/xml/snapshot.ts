/** A machine's XML, inactive and live, as the snapshot that the resources render. */
import type {
  BootSnapshot,
  DiskSnapshot,
  DomainState,
  MediaSnapshot,
  ProcessorTopology,
  SystemSnapshot,
} from '../../driver.js';
import type { FirmwareSnapshot } from '../../firmware-control.js';
import { knownByName, type FirmwareKnowledge } from '../firmware-catalogue.js';
import {
  availableBootDevices,
  bootableDevices,
  bootKind,
  deviceKeys,
  effectiveBootOrder,
  firstBootDevice,
  restoreBootOrder,
} from './boot-order.js';
import { untouchedOverride } from '../../boot-override.js';
import { bootsFromNetwork, readLimits } from './machine-settings.js';
import { firstCdrom } from './cdrom.js';
import { devicePath } from './device-path.js';
import type { BootableDevice, Disk } from './device.js';
import { diskRecord } from './disk-record.js';
import { readDomain } from './domain.js';
import type { Domain } from './domain.js';
import { readMetadata } from './metadata.js';
import type { MachineRecord, MediaRecord } from './metadata.js';
import { parseXml, type XmlDocument } from './parse.js';
import { secureBootState } from './secure-boot.js';
import { noSettings } from './settings-record.js';

/** What the XML does not say. */
export interface SnapshotExtras {
  readonly state: DomainState;
  readonly persistent: boolean;
  /** Virtual sizes by disk target, as far as the host has told them. */
  readonly capacityBytes: ReadonlyMap<string, number>;
  /** What the definition leaves open about firmware. Default: the names of files say it. */
  readonly knowledge?: FirmwareKnowledge;
  /** CPU model of the host, for machines that it is passed through to. Default: not known. */
  readonly hostCpuModel?: string | null;
}

/**
 * Boot, firmware and metadata are those of the definition, which the next boot uses; processors, memory, disks and interfaces
 * those of the running machine where it runs.
 * @param inactiveXml the persistent definition; for a transient machine its live XML.
 * @param liveXml null when the machine is shut off.
 */
export function readSnapshot(inactiveXml: string, liveXml: string | null, extras: SnapshotExtras): SystemSnapshot {
  const document = parseXml(inactiveXml);
  const defined = readDomain(document);
  const present = liveXml === null ? defined : readDomain(liveXml);
  const record = readMetadata(document);
  const saved = record.boot?.saved ?? null;
  const ownDocument = saved === null ? document : parseXml(restoreBootOrder(inactiveXml, saved));
  const own: OwnDefinition = { document: ownDocument, own: saved === null ? defined : readDomain(ownDocument), defined };
  return {
    uuid: defined.uuid,
    name: defined.name,
    state: extras.state,
    persistent: extras.persistent,
    title: defined.title,
    description: defined.description,
    architecture: defined.os.architecture,
    machineType: defined.os.machineType,
    sysinfo: present.sysinfo,
    processors: withHostModel(present.processors, extras.hostCpuModel ?? null),
    memoryKiB: present.memoryKiB,
    memoryDevices: present.memoryDevices,
    memorySlots: present.memorySlots,
    boot: bootSnapshot(own, record),
    firmware: firmwareSnapshot(own, present, record, extras.knowledge ?? knownByName),
    media: [mediaSnapshot(defined, present, record.media)],
    disks: diskSnapshots(defined, present, record.disks, extras.capacityBytes),
    interfaces: present.devices.interfaces.map(({ mac, type, source, model, linkUp }) => ({
      mac,
      type,
      source,
      model,
      linkUp,
    })),
    indicator: record.indicator,
  };
}

/** A definition as the user has it, without the order of an override, and as it stands. */
interface OwnDefinition {
  readonly document: XmlDocument;
  readonly own: Domain;
  readonly defined: Domain;
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
    // As on a server without a network card: Ironic asks every machine for all three.
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
  { document, own, defined }: OwnDefinition,
  present: Domain,
  record: MachineRecord,
  knowledge: FirmwareKnowledge,
): FirmwareSnapshot {
  const { kept, pending, failure, original } = record.settings ?? noSettings;
  const state = defined.firmware === 'efi' ? secureBootState(defined.os, knowledge) : null;
  // Live XML names the files that libvirt has selected.
  const current =
    present.id === null || present.firmware !== 'efi' ? null : secureBootState(present.os, knowledge).enabled;
  const limits = readLimits(document);
  return {
    secureBoot: state === null ? null : { ...state, current },
    settings: {
      cpuCount: defined.processors.count,
      memoryMiB: Math.floor(defined.memoryKiB / 1024),
      firmware: defined.firmware,
      secureBoot: state?.enabled ?? null,
      networkBoot: own.devices.interfaces.length === 0 ? null : bootsFromNetwork(document),
      kept,
    },
    pending,
    failure,
    // What the machine had before a client made it smaller is its maximum still.
    limits: { ...limits, memoryMiB: Math.max(limits.memoryMiB, original.memoryMiB ?? 0) },
  };
}

/** Modes of `<cpu>` that give a machine the host's CPU and do not name it. */
const HOST_MODES: ReadonlySet<string | null> = new Set(['host-passthrough', 'host-model']);

/** Whether a machine's CPU is the host's, whose name its XML does not say. */
export function hasHostCpu({ processors }: Pick<SystemSnapshot, 'processors'>): boolean {
  return HOST_MODES.has(processors.model);
}

function withHostModel(processors: ProcessorTopology, model: string | null): ProcessorTopology {
  return model === null || !HOST_MODES.has(processors.model) ? processors : { ...processors, model };
}

function diskSnapshots(
  defined: Domain,
  present: Domain,
  records: MachineRecord['disks'],
  capacities: ReadonlyMap<string, number>,
): readonly DiskSnapshot[] {
  const targets = new Set(present.devices.disks.map(({ target }) => target));
  const waiting = defined.devices.disks.filter(({ target }) => !targets.has(target));
  return [...present.devices.disks, ...waiting].map((disk) => {
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

function mediaSnapshot(defined: Domain, present: Domain, media: MediaRecord | null): MediaSnapshot {
  const own = firstCdrom(defined);
  const drive: Disk | null = present.devices.disks.find((disk) => disk.key === own?.key) ?? own ?? firstCdrom(present);
  const source = drive?.source.name ?? null;
  if (source === null) {
    return { device: 'cdrom', inserted: false, image: null, imageName: null, writeProtected: true, viaUri: false };
  }
  if (media !== null && media.drive === drive?.target && media.source === source) {
    const { image, imageName, writeProtected } = media;
    return { device: 'cdrom', inserted: true, image, imageName, writeProtected, viaUri: true };
  }
  const imageName = source.split('/').at(-1) ?? source;
  return { device: 'cdrom', inserted: true, image: source, imageName, writeProtected: true, viaUri: false };
}
