/** The boot settings of a machine, in hypervisor terms. */
import type { BootDevice, BootOptionSnapshot, DeviceKey, FirmwareType } from './firmware-snapshot.js';

/** `disabled`: the machine's own order; `once`: the next boot only; `continuous`: every boot. */
export type BootOverrideEnabled = 'disabled' | 'once' | 'continuous';

/**
 * The target of an override: a device kind, one device (`path` by its UEFI path, `next` by its boot
 * option), an image at a URI (`http`), or `none`.
 */
export type BootTarget = BootDevice | 'none' | 'http' | 'path' | 'next';

/** The boot settings of a machine: its override, its own order and its boot devices. */
export interface BootSnapshot {
  /**
   * The kinds that clients can select, in the order `network`, `cdrom`, `hd`, `fd`, `usb`. With
   * libvirt, the first three are available even if the machine has no such device.
   */
  readonly available: readonly BootDevice[];
  readonly enabled: BootOverrideEnabled;
  /**
   * The target of the override. For a machine without changes: with libvirt, the first boot device of the XML;
   * with Nova, `hd`.
   */
  readonly target: BootTarget;
  /** The device of a target `path` or `next`; otherwise absent. */
  readonly option?: DeviceKey;
  /** The URI of a target `http`; absent: the network provides it. */
  readonly httpUri?: string;
  /** All boot devices, in the order of the definition. */
  readonly options: readonly BootOptionSnapshot[];
  /** The machine's own boot order, without the override. */
  readonly order: readonly DeviceKey[];
  /** Null: unknown, because the hypervisor does not show it here. */
  readonly firmware: FirmwareType | null;
  /**
   * UEFI device path of the first boot device, `PciRoot(0x0)/…`; null if there is no boot device, if the device has
   * no address yet, or if the daemon does not know the UEFI path of its address.
   */
  readonly firstDevicePath: string | null;
  /**
   * If clients can select only a device kind of `available`: a sentence for clients with the
   * reason. Absent if clients can also select a device, an order and a mode.
   */
  readonly fixed?: string;
}

/**
 * A change of the boot settings. Absent members do not change. `target: 'none'` ends the override,
 * and removes its target and URI; `enabled: 'disabled'` keeps both.
 */
export interface BootChange {
  readonly enabled?: BootOverrideEnabled;
  readonly target?: BootTarget;
  /** The device of a target `path` or `next`. */
  readonly option?: DeviceKey;
  /** Null removes the stored URI. A target other than `http` in a change without a URI removes it too. */
  readonly httpUri?: string | null;
  readonly firmware?: FirmwareType;
}
