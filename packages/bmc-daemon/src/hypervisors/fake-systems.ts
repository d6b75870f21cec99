/**
 * Translates between EMULATOR_FAKE_SYSTEMS, with the names of sushy-tools, and the machines of the
 * fake driver.
 */
import type { FakeSystem } from '../config/rows/fake-systems.js';
import type { CompleteSnapshot } from '../drivers/snapshot/system-snapshot.js';
import type { BootChoice } from '../drivers/rules/boot-override.js';
import { afterBootChange } from '../drivers/fake/fake-firmware.js';
import { plainMachine, type MachineHardware } from '../drivers/fake/sample-machines.js';

const devices = { Pxe: 'network', Hdd: 'hd', Cd: 'cdrom' } as const;

/** Returns the initial machines. */
export function machinesOf(systems: readonly FakeSystem[]): readonly CompleteSnapshot[] {
  return systems.map((system) => machineOf(system));
}

/** Returns one initial machine. @param hardware default: a small machine. */
export function machineOf(system: FakeSystem, hardware: MachineHardware = {}): CompleteSnapshot {
  const { uuid, name, nics = [], power_state: power, boot_mode: mode, boot_device: device } = system;
  const plain = plainMachine({
    uuid: uuid.toLowerCase(),
    name,
    interfaces: nics.map(({ mac }) => ({
      mac: mac.toLowerCase().replaceAll('-', ':'),
      type: 'network',
      source: 'default',
      model: 'virtio',
      linkUp: true,
    })),
    hardware,
  });
  const initial: CompleteSnapshot = { ...plain, state: power === 'On' ? 'running' : 'shutoff' };
  const change = {
    ...(mode === undefined ? {} : { firmware: mode === 'UEFI' ? ('efi' as const) : ('bios' as const) }),
    ...(device === undefined ? {} : { target: devices[device], enabled: 'continuous' as const }),
  };
  return withSecureBoot({ ...initial, ...afterBootChange(initial, change) }, system.secure_boot ?? false);
}

function withSecureBoot(machine: CompleteSnapshot, enabled: boolean): CompleteSnapshot {
  const { firmware, state } = machine;
  if (firmware.secureBoot === null) return machine;
  return {
    ...machine,
    firmware: {
      ...firmware,
      secureBoot: { enabled, enrolled: enabled, current: state === 'running' ? enabled : null },
      settings: { ...firmware.settings, secureBoot: enabled },
    },
  };
}

/** The power state that a running action will set. */
export interface PendingPower {
  readonly power_state: 'On' | 'Off' | 'ForceRestart';
  /** Unix time in seconds. */
  readonly apply_time: number;
}

/**
 * A system as the fake driver of sushy-tools stores it. `boot_image` has, for each drive with an
 * image: the URL, whether the drive is write-protected, whether an image is inserted.
 */
export interface SystemNotification extends Omit<FakeSystem, 'boot_device'> {
  readonly boot_device: string;
  readonly boot_image: Readonly<Record<string, readonly [string | null, boolean, boolean]>>;
  readonly pending_power: PendingPower | null;
}

const deviceNames: Readonly<Record<string, string>> = {
  network: 'Pxe',
  hd: 'Hdd',
  cdrom: 'Cd',
  fd: 'Floppy',
  usb: 'Usb',
};
const driveNames = { cdrom: 'Cd', floppy: 'Floppy', usb: 'UsbStick' } as const;

/**
 * Returns the body of a notification.
 * @param configured the system in EMULATOR_FAKE_SYSTEMS.
 * @param bootedFrom the boot device of the current run; undefined if the machine has not started
 *   yet.
 */
export function notificationOf(
  configured: FakeSystem,
  machine: CompleteSnapshot,
  bootedFrom: BootChoice | undefined,
  pending: PendingPower | null,
): SystemNotification {
  const { boot, firmware, media, state } = machine;
  const override = boot.enabled === 'disabled' ? 'hd' : boot.target;
  return {
    ...configured,
    power_state: state === 'shutoff' ? 'Off' : 'On',
    // A running machine shows the device of its run, because a one-time override ends at the start.
    boot_device: deviceNames[(state === 'shutoff' ? undefined : bootedFrom) ?? override] ?? 'Hdd',
    boot_mode: boot.firmware === 'efi' ? 'UEFI' : 'Legacy',
    secure_boot: firmware.secureBoot?.enabled ?? false,
    boot_image: Object.fromEntries(
      media
        .filter(({ inserted }) => inserted)
        .map(({ device, image, writeProtected }) => [driveNames[device], [image, writeProtected, true] as const]),
    ),
    pending_power: pending,
  };
}
