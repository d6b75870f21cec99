/** A machine's firmware as values: Secure Boot, boot options, and settings that wait for the next start. */
import type { BootDevice, FirmwareType } from './driver.js';

/** Names a device within its machine as long as it stays what it is: `disk:vda`, `interface:52:54:00:12:34:56`. */
export type DeviceKey = `${string}:${string}`;

/** One device that the machine can boot from. */
export interface BootOptionSnapshot {
  readonly key: DeviceKey;
  /** Null for a passed-through device, which may be anything. */
  readonly kind: BootDevice | null;
  /** What people call it within the machine: `vda`, `52:54:00:12:34:56`. */
  readonly name: string;
  /** UEFI device path; null where the device has no address yet. */
  readonly path: string | null;
}

/** Secure Boot of a machine with UEFI. Null: the definition does not tell, as where libvirt has yet to choose the firmware. */
export interface SecureBootSnapshot {
  /** Whether the next start has it on. */
  readonly enabled: boolean | null;
  /** Whether the present run was started with it on; null while the machine is off, too. */
  readonly current: boolean | null;
  /** Whether the variables that the next start uses were made with keys in them: else the firmware is in setup mode. */
  readonly enrolled: boolean | null;
}

/** A value of a setting that is kept and means nothing to the machine. */
export type KeptValue = string | number | boolean;

/** Settings of the definition, which the next start uses. */
export interface MachineSettings {
  /** vCPUs online at boot. */
  readonly cpuCount: number;
  readonly memoryMiB: number;
  readonly firmware: FirmwareType;
  /** Null: BIOS, which has none, or not known. */
  readonly secureBoot: boolean | null;
  /** Whether the first network interface stands in the machine's own boot order; null where there is no interface. */
  readonly networkBoot: boolean | null;
  /** What clients have set that the machine has no use for, by name. */
  readonly kept: Readonly<Record<string, KeptValue>>;
}

/** Settings to be changed; what is absent stays. */
export type SettingsChange = {
  readonly [Name in keyof MachineSettings]?: NonNullable<MachineSettings[Name]>;
};

/** Why the settings that waited were not taken over: the definition with them was refused. They do not wait any longer. */
export interface SettingsFailure {
  readonly reason: string;
  /** ISO 8601. */
  readonly time: string;
}

/** What the resources render of a machine's firmware. */
export interface FirmwareSnapshot {
  /** Null: the machine boots by BIOS. */
  readonly secureBoot: SecureBootSnapshot | null;
  readonly settings: MachineSettings;
  /** What the next start changes of them; empty where nothing waits. */
  readonly pending: SettingsChange;
  readonly failure: SettingsFailure | null;
  /** The most that the definition allows: its maximum of vCPUs, and of memory. */
  readonly limits: { readonly cpuCount: number; readonly memoryMiB: number };
}
