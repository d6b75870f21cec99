/**
 * The firmware of a machine as values: Secure Boot, boot options, and settings that wait for the
 * next start.
 */

/** Boot devices of libvirt (`<boot dev>`), and `usb` for a disk on a USB bus. */
export type BootDevice = 'network' | 'cdrom' | 'hd' | 'fd' | 'usb';

/** Firmware type: `bios` is Redfish's Legacy, `efi` its UEFI. */
export type FirmwareType = 'bios' | 'efi';

/** Identifies a device within its machine, such as `disk:vda` or `interface:52:54:00:12:34:56`. */
export type DeviceKey = `${string}:${string}`;

/** A boot device of the machine. */
export interface BootOptionSnapshot {
  readonly key: DeviceKey;
  /** Null for a passed-through device, whose kind is unknown. */
  readonly kind: BootDevice | null;
  /** Name for users, such as `vda` or `52:54:00:12:34:56`. */
  readonly name: string;
  /** UEFI device path; null if the device has no address yet, or an address without a known path. */
  readonly path: string | null;
}

/**
 * Secure Boot of a UEFI machine. A value is null if the definition does not show it, for example
 * because libvirt has not selected the firmware yet.
 */
export interface SecureBootSnapshot {
  /** Whether Secure Boot is on in the definition, without the pending settings. */
  readonly enabled: boolean | null;
  /**
   * Whether Secure Boot was on at the start of the current run; null if unknown, or if the machine
   * is off.
   */
  readonly current: boolean | null;
  /**
   * Whether the variables of the next start contain keys. Without keys the firmware is in setup
   * mode.
   */
  readonly enrolled: boolean | null;
}

/** A stored value without an effect on the machine. */
export type StoredValue = string | number | boolean;

/** Settings of the stored definition. At the next start, the driver first applies the pending settings. */
export interface MachineSettings {
  /** vCPUs online at boot. */
  readonly cpuCount: number;
  readonly memoryMiB: number;
  /** Null: unknown. */
  readonly firmware: FirmwareType | null;
  /** Null: BIOS, or unknown. */
  readonly secureBoot: boolean | null;
  /** Whether the first network interface is in the boot order; null without an interface, or if unknown. */
  readonly networkBoot: boolean | null;
  /** Stored values from clients, by name. They have no effect on the machine. */
  readonly kept: Readonly<Record<string, StoredValue>>;
}

/** A change of settings; absent members do not change. */
export type SettingsChange = {
  readonly [Name in keyof MachineSettings]?: NonNullable<MachineSettings[Name]>;
};

/** Settings that the definition does not allow a client to change, with the reason as a text for clients. */
export type FixedSettings = Readonly<Partial<Record<'cpuCount' | 'memoryMiB', string>>>;

/**
 * The reason why the driver dropped pending settings: the driver or the hypervisor rejected the
 * definition with these settings.
 */
export interface SettingsFailure {
  /** The reasons for all dropped settings. */
  readonly reason: string;
  /** ISO 8601. */
  readonly time: string;
}

/** The firmware data of a machine for resources. */
export interface FirmwareSnapshot {
  /** Null for a BIOS machine. */
  readonly secureBoot: SecureBootSnapshot | null;
  readonly settings: MachineSettings;
  /** Settings that the next start changes; empty if none. */
  readonly pending: SettingsChange;
  readonly failure: SettingsFailure | null;
  /** Maximum vCPUs and memory that a client can set. */
  readonly limits: { readonly cpuCount: number; readonly memoryMiB: number };
  /** Absent: none. */
  readonly fixed?: FixedSettings;
}
