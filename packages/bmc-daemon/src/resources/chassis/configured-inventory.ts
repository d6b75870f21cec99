/**
 * Types of the configured inventory. The members of its entries have sushy-tools' names. A setting
 * for a machine replaces the inventory that the hypervisor reports.
 * @see https://docs.openstack.org/sushy-tools/latest/admin/index.html
 */

/** DMTF's indicator states. */
export type IndicatorLed = 'Lit' | 'Off' | 'Blinking';

/** A configured chassis, which all machines can share. */
export interface ConfiguredChassis {
  readonly Id: string;
  readonly Name?: string | undefined;
  /** Canonical, lower case. */
  readonly UUID: string;
}

/** A storage controller of a configured storage. */
interface ConfiguredController {
  readonly MemberId: string;
  readonly Name?: string | undefined;
  readonly SpeedGbps?: number | undefined;
}

/** A configured storage of a machine. Replaces the Storage resources of the machine's disk buses. */
export interface ConfiguredStorage {
  readonly Id: string;
  readonly Name?: string | undefined;
  readonly StorageControllers?: readonly ConfiguredController[] | undefined;
  /** Ids of the drives to show. Absent: all configured drives of the storage. */
  readonly Drives?: readonly string[] | undefined;
}

/** A drive of a configured storage, which no disk of the machine backs. */
export interface ConfiguredDrive {
  readonly Id: string;
  readonly Name?: string | undefined;
  readonly CapacityBytes?: number | undefined;
  /** DMTF's Protocol. */
  readonly Protocol?: string | undefined;
}

/** A volume of a configured storage; a volume of a libvirt pool can back it. */
export interface ConfiguredVolume {
  readonly Id: string;
  readonly Name?: string | undefined;
  /** DMTF's deprecated VolumeType, which RAIDType replaces. */
  readonly VolumeType?: string | undefined;
  readonly CapacityBytes: number;
  /** Default: EMULATOR_STORAGE_POOL. */
  readonly libvirtPoolName?: string | undefined;
  /** Default: no libvirt volume backs the volume. */
  readonly libvirtVolName?: string | undefined;
}

/** The inventory settings, under their keys in config/settings.ts. */
export interface InventorySettings {
  /** Empty: each machine has its own chassis. */
  readonly chassis: readonly ConfiguredChassis[];
  /** Initial indicator, by UUID (lower case) of a machine or a chassis. */
  readonly indicatorLeds: Readonly<Record<string, IndicatorLed>>;
  /** By UUID of the machine. */
  readonly storage: Readonly<Record<string, readonly ConfiguredStorage[]>>;
  /** By {@link storageKey}, as `volumes`. */
  readonly drives: Readonly<Record<string, readonly ConfiguredDrive[]>>;
  readonly volumes: Readonly<Record<string, readonly ConfiguredVolume[]>>;
}

/** Returns the mapping key for a configured tuple of machine UUID and storage id. */
export function storageKey(uuid: string, storageId: string): string {
  return JSON.stringify([uuid, storageId]);
}
