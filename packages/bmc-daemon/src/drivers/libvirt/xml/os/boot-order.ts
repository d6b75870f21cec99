/**
 * Reads the boot order of a machine. libvirt has two forms, `<os><boot dev>` by device kind and
 * `<boot order>` per device, and rejects a mix.
 */
import type { BootChoice } from '../../../rules/boot-override.js';
import type { BootDevice, DeviceKey } from '../../../snapshot/firmware-snapshot.js';
import type { BootableDevice, Devices } from '../devices/device.js';
import type { Domain } from '../domain.js';

/** One step of a boot order: a device and its kind. */
export interface BootStep {
  readonly kind: BootDevice;
  readonly device: BootableDevice;
}

/** The boot number of one device for QEMU; -1: the device is not in the order. */
export interface BootIndex {
  readonly key: string;
  readonly alias: string;
  /** Path for `qom-set` and `qom-get`. QEMU's id of the device is libvirt's alias. */
  readonly qomPath: string;
  /** For a floppy drive: its unit on the controller, which has the boot number. */
  readonly floppyUnit?: number;
  /**
   * A CD drive on USB. libvirt 12 creates two devices for it, and the second one, `<alias>-device`,
   * has the boot number.
   */
  readonly isUsbCdrom?: true;
  readonly bootIndex: number;
}

const DEVICE_OF_BOOT_DEV: Readonly<Record<string, BootDevice>> = {
  hd: 'hd',
  cdrom: 'cdrom',
  network: 'network',
  fd: 'fd',
};

/** Returns devices that can have a `<boot order>`, in the order of the XML. */
export function bootableDevices(devices: Devices): readonly BootableDevice[] {
  return [...devices.disks, ...devices.interfaces, ...devices.hostDevices].sort((a, b) => a.place - b.place);
}

/** Returns the kind of a boot device; null for a passed-through or redirected device. */
export function bootKind(device: BootableDevice): BootDevice | null {
  if (device.kind === 'interface') return 'network';
  if (device.kind !== 'disk') return null;
  if (device.device === 'cdrom') return 'cdrom';
  if (device.device === 'floppy') return 'fd';
  return device.bus === 'usb' ? 'usb' : 'hd';
}

/** Returns the device kinds of the machine, in the order `network`, `cdrom`, `hd`, `fd`, `usb`. */
export function availableBootDevices(devices: Devices): readonly BootDevice[] {
  const kinds = new Set(bootableDevices(devices).map(bootKind));
  // In libvirt, `hd` is any disk, also on a USB bus.
  const has = (kind: BootDevice): boolean => kinds.has(kind) || (kind === 'hd' && kinds.has('usb'));
  return (['network', 'cdrom', 'hd', 'fd', 'usb'] as const).filter(has);
}

/**
 * Returns the boot order of the machine: by `<boot order>` if any device has it, else by `<os><boot
 * dev>`, which means the first device of each kind (qemuProcessPrepareDeviceBootorder). Without
 * both, libvirt boots the first disk.
 */
export function effectiveBootOrder(domain: Domain): readonly BootStep[] {
  const devices = bootableDevices(domain.devices);
  const ordered = devices
    .filter((device) => device.bootOrder !== null)
    .sort((a, b) => (a.bootOrder ?? 0) - (b.bootOrder ?? 0));
  if (ordered.length > 0) return ordered.map((device) => ({ kind: bootKind(device) ?? 'hd', device }));
  const wanted = domain.os.bootDevices.length > 0 ? domain.os.bootDevices : ['hd'];
  return wanted.flatMap((name) => {
    const kind = DEVICE_OF_BOOT_DEV[name];
    const device = devices.find((candidate) => isOfKind(candidate, kind));
    return kind === undefined || device === undefined ? [] : [{ kind, device }];
  });
}

/**
 * Returns the kind of the first boot device in the XML, which may contain the order of a boot override. If the
 * machine has no device of this order, returns the kind of the first `<boot dev>`; without `<boot dev>`, `hd`.
 */
export function firstBootDevice(domain: Domain): BootDevice {
  const first = effectiveBootOrder(domain)[0]?.kind ?? DEVICE_OF_BOOT_DEV[domain.os.bootDevices[0] ?? 'hd'];
  return first ?? 'hd';
}

/** Returns whether the machine has a chosen boot device. */
export function hasChoice(devices: Devices, choice: BootChoice): boolean {
  return bootableDevices(devices).some((device) => isChosen(device, choice));
}

/**
 * Returns the order with the devices of one kind, or one device, at the front. Within the kind,
 * devices in the order come first. The rest is unchanged.
 */
export function orderWithFirst(domain: Domain, target: BootChoice): readonly BootStep[] {
  const order = effectiveBootOrder(domain);
  const all = bootableDevices(domain.devices).filter((device) => isChosen(device, target));
  const inOrder = order.filter((step) => all.includes(step.device));
  // A USB disk boots as `hd` only after the built-in disks.
  const others = all
    .filter((device) => !inOrder.some((step) => step.device === device))
    .sort((a, b) => Number(bootKind(a) !== target) - Number(bootKind(b) !== target));
  return [
    ...inOrder,
    ...others.map((device) => ({ kind: isKey(target) ? (bootKind(device) ?? 'hd') : target, device })),
    ...order.filter((step) => !all.includes(step.device)),
  ];
}

/**
 * Returns boot numbers for QEMU: ascending in the order of `keys`, and -1 for every other bootable device.
 * Needs LIVE XML, which contains the aliases. Leaves out devices without an alias.
 * @param keys device keys in boot order, `deviceKeys(effectiveBootOrder(domain))`.
 */
export function bootIndexes(liveDomain: Domain, keys: readonly string[]): readonly BootIndex[] {
  const devices = bootableDevices(liveDomain.devices);
  const bootKeys = keys.filter((candidate) => devices.some(({ key }) => key === candidate));
  return devices.flatMap((device) => {
    const { key, alias, address } = device;
    if (alias === null) return [];
    const place = bootKeys.indexOf(key);
    const unit = address?.type === 'drive' ? address.unit : 0;
    return [
      {
        key,
        alias,
        qomPath: `/machine/peripheral/${alias}`,
        ...(bootKind(device) === 'fd' ? { floppyUnit: unit } : {}),
        ...(isUsbCdrom(device) ? { isUsbCdrom: true as const } : {}),
        bootIndex: place === -1 ? -1 : place + 1,
      },
    ];
  });
}

function isUsbCdrom(device: BootableDevice): boolean {
  return device.kind === 'disk' && device.bus === 'usb' && device.device === 'cdrom';
}

/** Returns the device keys of an order, for {@link bootIndexes}. */
export function deviceKeys(order: readonly BootStep[]): readonly DeviceKey[] {
  return order.map(({ device }) => device.key);
}

/** Returns whether two orders have the same devices in the same order. */
export function isSameOrder(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, index) => key === b[index]);
}

function isOfKind(device: BootableDevice, kind: BootDevice | undefined): boolean {
  const own = bootKind(device);
  return own === kind || (kind === 'hd' && own === 'usb');
}

/** Returns whether a boot choice selects this device, or its kind. */
export function isChosen(device: BootableDevice, choice: BootChoice): boolean {
  return isKey(choice) ? device.key === choice : isOfKind(device, choice);
}

function isKey(choice: BootChoice): choice is DeviceKey {
  return choice.includes(':');
}
