/**
 * The model behind Storage, Drive and Volume. A machine has one storage for each bus with disks, or
 * the storages of EMULATOR_STORAGE.
 */
import type { DiskSnapshot, IndicatorState } from '../../drivers/snapshot/hardware-snapshot.js';
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import { redfishError } from '../../redfish/messages/errors.js';
import {
  storageKey,
  type ConfiguredStorage,
  type ConfiguredVolume,
  type InventorySettings,
} from '../chassis/configured-inventory.js';
import type { Services } from '../services.js';
import { busName, busProtocol, defaultBus, diskBuses } from './disk-bus.js';

/** A storage controller. */
export interface ControllerUnit {
  readonly id: string;
  readonly name: string;
  readonly speedGbps: number | null;
  /**
   * DMTF's Protocol values of the drives. A configured storage omits the protocols of disks that clients have created.
   */
  readonly protocols: readonly string[];
}

/** A drive of a storage. */
export interface DriveUnit {
  readonly id: string;
  readonly name: string;
  readonly capacityBytes: number | null;
  readonly protocol: string;
  /** The disk of the machine; null for a configured drive, which has no disk behind it. */
  readonly disk: DiskSnapshot | null;
}

/** A volume of a storage. */
export interface VolumeUnit {
  readonly id: string;
  readonly name: string;
  readonly capacityBytes: number | null;
  /** The disk of the machine; null for a configured volume. */
  readonly disk: DiskSnapshot | null;
  /** The configured volume; null for a disk of the machine. */
  readonly configured: ConfiguredVolume | null;
  /** Ids of the drives that contain the volume. */
  readonly driveIds: readonly string[];
}

/** A storage of a machine. */
export interface StorageUnit {
  readonly id: string;
  readonly name: string;
  /** Bus for new volumes. */
  readonly bus: string;
  readonly controllers: readonly ControllerUnit[];
  readonly drives: readonly DriveUnit[];
  readonly volumes: readonly VolumeUnit[];
  /** Null for a bus of the machine. */
  readonly configured: ConfiguredStorage | null;
}

/** A storage and its machine: the entity of resources below Storage. */
export interface StorageEntity {
  readonly system: SystemSnapshot;
  readonly storage: StorageUnit;
}

/**
 * Returns whether a machine has a Storage collection, possibly empty: its disks are known, or
 * EMULATOR_STORAGE has an entry for it.
 */
export function hasStorage({ uuid, disks }: SystemSnapshot, { storage }: Pick<InventorySettings, 'storage'>): boolean {
  return disks !== undefined || storage[uuid] !== undefined;
}

/**
 * Returns the storages of a machine: those of EMULATOR_STORAGE. If it has no entry for the machine, returns one
 * storage for each bus with disks, and none if the disks are unknown. A machine without disks has one storage, for
 * the default bus, if the driver can create volumes.
 */
export function storageUnits(
  system: SystemSnapshot,
  { settings, driver }: Pick<Services, 'driver' | 'settings'>,
): readonly StorageUnit[] {
  const configured = settings.storage[system.uuid];
  if (configured !== undefined) return configured.map((storage) => configuredUnit(system, storage, settings));
  if (system.disks === undefined) return [];
  const buses = diskBuses(system.disks);
  if (buses.length === 0 && driver.volumes !== undefined) return [busUnit(defaultBus, [])];
  return buses.map(({ id, disks }) => busUnit(id, disks));
}

function busUnit(id: string, disks: readonly DiskSnapshot[]): StorageUnit {
  return {
    id,
    name: `${busName(id)} Storage`,
    bus: id,
    // Shows one controller for each bus, even if the machine has several, because the guest uses one
    // device driver for all of them.
    controllers: [{ id, name: `${busName(id)} Controller`, speedGbps: null, protocols: [busProtocol(id)] }],
    drives: disks.map((disk) => driveOf(disk)),
    volumes: disks.map((disk) => volumeOf(disk)),
    configured: null,
  };
}

function configuredUnit(
  { uuid, disks = [] }: SystemSnapshot,
  storage: ConfiguredStorage,
  { drives, volumes }: InventorySettings,
): StorageUnit {
  const key = storageKey(uuid, storage.Id);
  // The disks that clients have created as volumes of this storage.
  const createdDisks = disks.filter((disk) => disk.storage === storage.Id);
  const shownDrives = (drives[key] ?? []).filter(({ Id }) => storage.Drives?.includes(Id) ?? true);
  const configuredVolumes = volumes[key] ?? [];
  return {
    id: storage.Id,
    name: storage.Name ?? `Storage ${storage.Id}`,
    bus: defaultBus,
    controllers: (storage.StorageControllers ?? [{ MemberId: '0' }]).map(({ MemberId, Name, SpeedGbps }) => ({
      id: MemberId,
      name: Name ?? `Controller ${MemberId}`,
      speedGbps: SpeedGbps ?? null,
      protocols: [...new Set(shownDrives.map(({ Protocol }) => Protocol ?? 'OEM'))],
    })),
    drives: [
      ...shownDrives.map(({ Id, Name, CapacityBytes, Protocol }) => ({
        id: Id,
        name: Name ?? `Drive ${Id}`,
        capacityBytes: CapacityBytes ?? null,
        protocol: Protocol ?? 'OEM',
        disk: null,
      })),
      ...createdDisks.map((disk) => driveOf(disk)),
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
      ...createdDisks.map((disk) => volumeOf(disk)),
    ],
    configured: storage,
  };
}

function driveOf(disk: DiskSnapshot): DriveUnit {
  const { target, bus, capacityBytes } = disk;
  return { id: target, name: `${busName(bus)} Drive ${target}`, capacityBytes, protocol: busProtocol(bus), disk };
}

function volumeOf(disk: DiskSnapshot): VolumeUnit {
  const { target, bus, capacityBytes, label } = disk;
  const name = label ?? `${busName(bus)} Volume ${target}`;
  return { id: target, name, capacityBytes, disk, configured: null, driveIds: [target] };
}

/**
 * Loads a storage, for Storage and the resources below it.
 * @throws {RedfishError} 404 for an unknown storage.
 * @throws {DriverError} notFound, unavailable.
 */
export async function loadStorage({
  params,
  services,
}: {
  readonly params: { readonly systemId: string; readonly storageId: string };
  readonly services: Pick<Services, 'driver' | 'settings'>;
}): Promise<StorageEntity> {
  const system = await services.driver.getSystem(params.systemId, ['disks']);
  const storage = storageUnits(system, services).find(({ id }) => id === params.storageId);
  if (storage === undefined) throw redfishError('ResourceNotFound', 'Storage', params.storageId);
  return { system, storage };
}

/** Returns the indicator of a drive: the value that a client set, or `lit`. */
export function driveIndicator({ indicator }: Pick<DiskSnapshot, 'indicator'>): IndicatorState {
  return indicator ?? 'lit';
}
