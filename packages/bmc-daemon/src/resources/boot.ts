/** The `Boot` object of a ComputerSystem, both ways between DMTF's words and the hypervisor's. */
import { z } from 'zod';
import type { BootChange, BootDevice, BootOverrideEnabled, BootSnapshot, FirmwareType } from '../drivers/driver.js';
import type { JsonObject } from '../redfish/resource.js';

const targetOfDevice = {
  network: 'Pxe',
  cdrom: 'Cd',
  hd: 'Hdd',
  fd: 'Floppy',
  usb: 'Usb',
  none: 'None',
} as const satisfies Readonly<Record<BootDevice | 'none', string>>;

const deviceOfTarget = {
  Pxe: 'network',
  Cd: 'cdrom',
  Hdd: 'hd',
  Floppy: 'fd',
  Usb: 'usb',
  None: 'none',
} as const satisfies Readonly<Record<(typeof targetOfDevice)[keyof typeof targetOfDevice], BootDevice | 'none'>>;

const enabledOut = {
  once: 'Once',
  continuous: 'Continuous',
  disabled: 'Disabled',
} as const satisfies Readonly<Record<BootOverrideEnabled, string>>;

const enabledIn = {
  Once: 'once',
  Continuous: 'continuous',
  Disabled: 'disabled',
} as const satisfies Readonly<Record<(typeof enabledOut)[BootOverrideEnabled], BootOverrideEnabled>>;

const modeIn = { UEFI: 'efi', Legacy: 'bios' } as const satisfies Readonly<Record<string, FirmwareType>>;

/**
 * What a PATCH may say of the `Boot` of a machine. A target that the machine has no device for is a fault that names those it has;
 * `UefiTargetBootSourceOverride` tells where the machine boots from and is not for writing.
 */
export const bootBody = (boot: BootSnapshot) =>
  z.strictObject({
    BootSourceOverrideTarget: z
      .string()
      .transform((target, context) => {
        const device = deviceOf(target);
        if (device === 'none' || (device !== undefined && boot.available.includes(device))) return device;
        context.addIssue({ code: 'invalid_value', values: [...allowableTargets(boot), 'None'], input: target });
        return z.NEVER;
      })
      .optional(),
    BootSourceOverrideEnabled: z.enum(['Once', 'Continuous', 'Disabled']).optional(),
    BootSourceOverrideMode: z.enum(['UEFI', 'Legacy']).optional(),
  });

/** The body with the target in the driver's word. */
type BootBody = z.output<ReturnType<typeof bootBody>>;

/** `Boot`, with the allowable values of this machine. */
export function renderBoot(boot: BootSnapshot): JsonObject {
  return {
    BootSourceOverrideEnabled: enabledOut[boot.enabled],
    'BootSourceOverrideEnabled@Redfish.AllowableValues': Object.keys(enabledIn),
    BootSourceOverrideMode: boot.firmware === 'efi' ? 'UEFI' : 'Legacy',
    'BootSourceOverrideMode@Redfish.AllowableValues': Object.keys(modeIn),
    BootSourceOverrideTarget: targetOfDevice[boot.target],
    'BootSourceOverrideTarget@Redfish.AllowableValues': allowableTargets(boot),
    UefiTargetBootSourceOverride: boot.firstDevicePath,
  };
}

/**
 * The devices that the machine has. `None` is accepted, too, and not listed: the specification's list has devices only, and
 * the clients that send None (to end an override) do not look it up.
 */
function allowableTargets(boot: BootSnapshot): readonly string[] {
  return boot.available.map((device) => targetOfDevice[device]);
}

/** What the client wants, in the driver's words. */
export function bootChange(body: BootBody): BootChange {
  const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled, BootSourceOverrideMode: mode } = body;
  return {
    ...(target === undefined ? {} : { target }),
    ...(enabled === undefined ? {} : { enabled: enabledIn[enabled] }),
    ...(mode === undefined ? {} : { firmware: modeIn[mode] }),
  };
}

function deviceOf(target: string): BootDevice | 'none' | undefined {
  return Object.hasOwn(deviceOfTarget, target)
    ? deviceOfTarget[target as keyof typeof deviceOfTarget] // one of its own keys, by the line above
    : undefined;
}

/** The properties of a PATCH that EMULATOR_IGNORE_BOOT_DEVICE leaves undone; the boot mode is not one of them. */
export function ignoredProperties(body: BootBody): readonly (keyof BootBody)[] {
  return (['BootSourceOverrideTarget', 'BootSourceOverrideEnabled'] as const).filter(
    (name) => body[name] !== undefined,
  );
}
