/**
 * The storage of a machine: one for each bus that it has disks on, or, where EMULATOR_STORAGE names the machine, those that are
 * configured for it. What Storage, Drive and Volume show is worked out here.
 */
import type { DiskSnapshot, IndicatorState, SystemSnapshot } from '../drivers/driver.js';
import { refuse } from '../redfish/errors.js';
import {
  storageKey,
  type ConfiguredStorage,
  type ConfiguredVolume,
  type InventorySettings,
} from './configured-inventory.js';
import { busName, busProtocol, defaultBus, diskBuses } from './disk-bus.js';
import type { Services } from './services.js';

export interface ControllerUnit {
  readonly id: string;
  readonly name: string;
  readonly speedGbps: number | null;
  /** DMTF's protocols of what is plugged into it. */
  readonly protocols: readonly string[];
}

export interface DriveUnit {
  readonly id: string;
  readonly name: string;
  readonly capacityBytes: number | null;
  readonly protocol: string;
  /** The disk of the machine; null: it is configured, and shown only. */
  readonly disk: DiskSnapshot | null;
}

export interface VolumeUnit {
  readonly id: string;
  readonly name: string;
  readonly capacityBytes: number | null;
  readonly disk: DiskSnapshot | null;
  /** Null for a disk. */
  readonly configured: ConfiguredVolume | null;
  /** Drives that it is on. */
  readonly driveIds: readonly string[];
}

export interface StorageUnit {
  readonly id: string;
  readonly name: string;
  /** That new volumes are attached to. */
  readonly bus: string;
  readonly controllers: readonly ControllerUnit[];
  readonly drives: readonly DriveUnit[];
  readonly volumes: readonly VolumeUnit[];
  /** Null: it is a bus of the machine. */
  readonly configured: ConfiguredStorage | null;
}

/** What the paths below a Storage lead to. */
export interface StorageEntity {
  readonly system: SystemSnapshot;
  readonly storage: StorageUnit;
}

/** Every storage of a machine. Where volumes can be made, a machine without disks has a bus for the first. */
export function storageUnits(
  system: SystemSnapshot,
  { settings, driver }: Pick<Services, 'driver' | 'settings'>,
): readonly StorageUnit[] {
  const configured = settings.storage[system.uuid];
  if (configured !== undefined) return configured.map((storage) => configuredUnit(system, storage, settings));
  const buses = diskBuses(system.disks);
  if (buses.length === 0 && driver.volumes !== undefined) return [busUnit(defaultBus, [])];
  return buses.map(({ id, disks }) => busUnit(id, disks));
}

function busUnit(id: string, disks: readonly DiskSnapshot[]): StorageUnit {
  return {
    id,
    name: `${busName(id)} Storage`,
    bus: id,
    // libvirt may spread the disks over several; the guest's driver is the same.
    controllers: [{ id, name: `${busName(id)} Controller`, speedGbps: null, protocols: [busProtocol(id)] }],
    drives: disks.map((disk) => driveState(disk)),
    volumes: disks.map((disk) => volumeOf(disk)),
    configured: null,
  };
}

function configuredUnit(
  { uuid, disks }: SystemSnapshot,
  storage: ConfiguredStorage,
  { drives, volumes }: InventorySettings,
): StorageUnit {
  const key = storageKey(uuid, storage.Id);
  // Sizes and names of what a client had made here: it is a disk like any other, and shown here.
  const made = disks.filter((disk) => disk.storage === storage.Id);
  const shown = (drives[key] ?? []).filter(({ Id }) => storage.Drives?.includes(Id) ?? true);
  const configuredVolumes = volumes[key] ?? [];
  return {
    id: storage.Id,
    name: storage.Name ?? `Storage ${storage.Id}`,
    bus: defaultBus,
    controllers: (storage.StorageControllers ?? [{ MemberId: '0' }]).map(({ MemberId, Name, SpeedGbps }) => ({
      id: MemberId,
      name: Name ?? `Controller ${MemberId}`,
      speedGbps: SpeedGbps ?? null,
      protocols: [...new Set(shown.map(({ Protocol }) => Protocol ?? 'OEM'))],
    })),
    drives: [
      ...shown.map(({ Id, Name, CapacityBytes, Protocol }) => ({
        id: Id,
        name: Name ?? `Drive ${Id}`,
        capacityBytes: CapacityBytes ?? null,
        protocol: Protocol ?? 'OEM',
        disk: null,
      })),
      ...made.map((disk) => driveState(disk)),
    ],
    volumes: [
      ...configuredVolumes.map((volume) => ({
        id: volume.Id,
        name: volume.Name ?? `Volume ${volume.Id}`,
        capacityBytes: volume.CapacityBytes,
        disk: null,
        configured: volume,
        driveIds: [],
      })),
      ...made.map((disk) => volumeOf(disk)),
    ],
    configured: storage,
  };
}

function driveState(disk: DiskSnapshot): DriveUnit {
  const { target, bus, capacityBytes } = disk;
  return { id: target, name: `${busName(bus)} Drive ${target}`, capacityBytes, protocol: busProtocol(bus), disk };
}

function volumeOf(disk: DiskSnapshot): VolumeUnit {
  const { target, bus, capacityBytes, label } = disk;
  const name = label ?? `${busName(bus)} Volume ${target}`;
  return { id: target, name, capacityBytes, disk, configured: null, driveIds: [target] };
}

/**
 * `load` of a Storage and of what is below it.
 * @throws {RedfishError} 404 where the machine has no such storage. @throws {DriverError} notFound, unavailable.
 */
export async function loadStorage({
  params,
  services,
}: {
  readonly params: { readonly systemId: string; readonly storageId: string };
  readonly services: Pick<Services, 'driver' | 'settings'>;
}): Promise<StorageEntity> {
  const system = await services.driver.getSystem(params.systemId);
  const storage = storageUnits(system, services).find(({ id }) => id === params.storageId);
  if (storage === undefined) throw refuse('ResourceNotFound', 'Storage', params.storageId);
  return { system, storage };
}

/** The indicator of a drive: as it was set, else lit as every other. */
export function driveIndicator({ indicator }: Pick<DiskSnapshot, 'indicator'>): IndicatorState {
  return indicator ?? 'lit';
}
