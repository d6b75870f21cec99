/**
 * What sushy-tools' settings say of the inventory, as the configuration gives it: names and members are sushy-tools'. Where one of
 * them names a machine it takes the place of what the machine really has.
 * @see https://docs.openstack.org/sushy-tools/latest/admin/index.html
 */

/** DMTF's indicator states. */
export type IndicatorLed = 'Lit' | 'Off' | 'Blinking';

/** A chassis that the machines share. */
export interface ConfiguredChassis {
  readonly Id: string;
  readonly Name?: string | undefined;
  /** Canonical, lower case. */
  readonly UUID: string;
}

export interface ConfiguredController {
  readonly MemberId: string;
  readonly Name?: string | undefined;
  readonly SpeedGbps?: number | undefined;
}

/** A storage of a machine, which stands in the place of its buses. */
export interface ConfiguredStorage {
  readonly Id: string;
  readonly Name?: string | undefined;
  readonly StorageControllers?: readonly ConfiguredController[] | undefined;
  /** Ids of the drives that are shown; all that are configured for it where absent. */
  readonly Drives?: readonly string[] | undefined;
}

export interface ConfiguredDrive {
  readonly Id: string;
  readonly Name?: string | undefined;
  readonly CapacityBytes?: number | undefined;
  /** DMTF's Protocol. */
  readonly Protocol?: string | undefined;
}

/** A volume of a configured storage, with a volume of a libvirt pool behind it. */
export interface ConfiguredVolume {
  readonly Id: string;
  readonly Name?: string | undefined;
  /** DMTF's VolumeType, which RAIDType has replaced. */
  readonly VolumeType?: string | undefined;
  readonly CapacityBytes: number;
  /** Default: EMULATOR_STORAGE_POOL. */
  readonly libvirtPoolName?: string | undefined;
  /** Default: the volume is shown and nothing is behind it. */
  readonly libvirtVolName?: string | undefined;
}

/** The settings, under their keys in config/settings.ts. */
export interface InventorySettings {
  /** Empty: a chassis for each machine. */
  readonly chassis: readonly ConfiguredChassis[];
  /** By UUID (lower case) of a machine or a chassis: its indicator until a client sets it. */
  readonly indicatorLeds: Readonly<Record<string, IndicatorLed>>;
  /** By UUID of the machine. */
  readonly storage: Readonly<Record<string, readonly ConfiguredStorage[]>>;
  /** By {@link storageKey}. */
  readonly drives: Readonly<Record<string, readonly ConfiguredDrive[]>>;
  readonly volumes: Readonly<Record<string, readonly ConfiguredVolume[]>>;
}

/** How a configuration's tuple of a machine's UUID and a storage's id is spelled as the key of a mapping. */
export function storageKey(uuid: string, storageId: string): string {
  return JSON.stringify([uuid, storageId]);
}
