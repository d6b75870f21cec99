/** A machine's XML, inactive and live, as the snapshot that the resources render. */
import type { BootSnapshot, DiskSnapshot, DomainState, MediaSnapshot, SystemSnapshot } from '../../driver.js';
import { availableBootDevices, effectiveBootOrder, firstBootDevice } from './boot-order.js';
import { untouchedOverride } from '../../boot-override.js';
import { firstCdrom } from './cdrom.js';
import { devicePath } from './device-path.js';
import type { Disk } from './device.js';
import { diskRecord } from './disk-record.js';
import { readDomain } from './domain.js';
import type { Domain } from './domain.js';
import { readMetadata } from './metadata.js';
import type { MachineRecord, MediaRecord } from './metadata.js';
import { parseXml } from './parse.js';

/** What the XML does not say. */
export interface SnapshotExtras {
  readonly state: DomainState;
  readonly persistent: boolean;
  /** Virtual sizes by disk target, as far as the host has told them. */
  readonly capacityBytes: ReadonlyMap<string, number>;
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
    processors: present.processors,
    memoryKiB: present.memoryKiB,
    boot: bootSnapshot(defined, record),
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

function bootSnapshot(domain: Domain, { boot }: MachineRecord): BootSnapshot {
  const kinds = new Set(availableBootDevices(domain.devices));
  const first = effectiveBootOrder(domain)[0];
  const { enabled, target } = boot ?? untouchedOverride(firstBootDevice(domain));
  return {
    // As on a server without a network card: Ironic asks every machine for all three.
    available: ['network', 'cdrom', 'hd', ...(['fd', 'usb'] as const).filter((kind) => kinds.has(kind))],
    enabled,
    target,
    firmware: domain.firmware,
    firstDevicePath: first === undefined ? null : devicePath(first.device, domain.devices),
  };
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
