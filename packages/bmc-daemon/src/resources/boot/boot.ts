/** Translates the `Boot` object of a ComputerSystem between DMTF's terms and the driver's. */
import { z } from 'zod';
import type {
  BootChange,
  BootOverrideEnabled,
  BootSnapshot,
  BootTarget,
} from '../../drivers/snapshot/boot-snapshot.js';
import type { BootDevice, DeviceKey, FirmwareType } from '../../drivers/snapshot/firmware-snapshot.js';
import { everyPart, type SystemChangePart } from '../../drivers/system-change.js';
import { storedUrl } from '../../media/image.js';
import type { PropertyNames } from '../../redfish/messages/driver-errors.js';
import { withoutProperties } from '../../redfish/body/without-properties.js';
import { message, withDetail, type Message } from '../../redfish/messages/messages.js';
import type { JsonObject } from '../../redfish/resource.js';
import type { SystemWith } from '../details.js';
import { reference } from '../reference.js';
import { MAX_URL_LENGTH } from '../virtual-media/insert-media.js';
import { bootReference, bootSource, optionOf } from './boot-reference.js';

/** Targets that are not a kind of device. The last three need UEFI. */
const otherTargets = {
  none: 'None',
  path: 'UefiTarget',
  next: 'UefiBootNext',
  http: 'UefiHttp',
} as const satisfies Readonly<Record<Exclude<BootTarget, BootDevice>, string>>;

const targetOut: Readonly<Record<BootTarget, string>> = { ...bootSource, ...otherTargets };

const uefiTargets = ['http', 'path', 'next'] as const satisfies readonly BootTarget[];

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

/** Paths of the properties in a PATCH body, for errors of the driver. */
export const bootProperties: PropertyNames = {
  bootTarget: 'Boot/BootSourceOverrideTarget',
  firmware: 'Boot/BootSourceOverrideMode',
  bootOrder: 'Boot/BootOrder',
  image: 'Boot/HttpBootUri',
};

/** The fields of a machine that `Boot` shows. */
type Bootable = Pick<SystemWith<'boot'>, 'boot' | 'architecture'>;

/** Returns the boot modes of an architecture; both if it is unknown. Only x86 has a legacy BIOS. */
function allowableModes(architecture: string | undefined): readonly (keyof typeof modeIn)[] {
  return architecture === undefined || /^(x86_64|i686)$/.test(architecture) ? ['UEFI', 'Legacy'] : ['UEFI'];
}

/**
 * Returns the schema of `Boot`. It checks each property separately; {@link conflicts} checks
 * combinations.
 */
const bootShape = ({ boot, architecture }: Bootable) =>
  z.strictObject({
    BootSourceOverrideTarget: z
      .string()
      .transform((text, context) => {
        const target = targetNamed(text);
        if (target === 'none' || (boot.fixed === undefined && isUefiTarget(target))) return target;
        if (target !== undefined && boot.available.some((device) => device === target)) return target;
        const values = [...allowableTargets(boot), 'None'];
        if (boot.fixed === undefined) context.addIssue({ code: 'invalid_value', values, input: text });
        else context.addIssue({ code: 'custom', params: { message: notOffered(text, values, boot.fixed) } });
        return z.NEVER;
      })
      .optional(),
    BootSourceOverrideEnabled: z.enum(['Once', 'Continuous', 'Disabled']).optional(),
    BootSourceOverrideMode: z.enum(allowableModes(architecture)).optional(),
    UefiTargetBootSourceOverride: z
      .string()
      .transform((path, context) => deviceNamed(pathOptions(boot), path, context))
      .optional(),
    BootNext: z
      .string()
      .transform((name, context) => deviceNamed(namedOptions(boot), name, context))
      .nullish(),
    HttpBootUri: z.union([z.literal(''), z.url({ protocol: /^https?$/ }).max(MAX_URL_LENGTH)]).nullish(),
    BootOrder: z
      .array(z.string().transform((name, context) => deviceNamed(namedOptions(boot), name, context)))
      .min(1)
      .refine((keys) => new Set(keys).size === keys.length, { error: 'a boot option occurs twice' })
      .optional(),
  });

/** Properties of `Boot` that clients cannot set if `boot.fixed` contains a reason. */
const fixedProperties = [
  ...(['BootSourceOverrideMode', 'UefiTargetBootSourceOverride', 'BootNext', 'HttpBootUri', 'BootOrder'] as const),
];

/**
 * Returns why clients cannot set some properties of `Boot`, by property, for the errors of a PATCH; empty if they
 * can set all properties.
 */
export function fixedBoot(boot: Pick<BootSnapshot, 'fixed'> | undefined): ReadonlyMap<string, string> {
  const { fixed } = boot ?? {};
  return new Map(fixed === undefined ? [] : fixedProperties.map((name) => [name, fixed]));
}

/** Returns the fault of a target that the hypervisor does not offer. */
function notOffered(text: string, values: readonly string[], why: string): Message {
  const subject = message('PropertyValueNotInList', text, 'BootSourceOverrideTarget');
  return withDetail(subject, `Accepted values: ${values.join(', ')}. ${why}`);
}

/**
 * Returns the schema of `Boot` in a PATCH for a machine. If the machine lacks the device of a
 * target or of a boot option, the error lists the valid values.
 * @param changeable parts that the driver can change.
 */
export function bootBody(system: Bootable, changeable: ReadonlySet<SystemChangePart> = everyPart): z.ZodType<BootBody> {
  const omitted = [
    ...(changeable.has('bootOrder') ? [] : (['BootOrder'] as const)),
    ...(changeable.has('cd') ? [] : (['HttpBootUri'] as const)),
    ...(system.boot.fixed === undefined ? [] : fixedProperties),
  ];
  return withoutProperties(bootShape(system), omitted).superRefine((body, context) => {
    for (const { path, fault } of conflicts(body, system.boot)) {
      context.addIssue({ code: 'custom', path: [path], params: { message: fault } });
    }
  });
}

/** A valid body with its values in the driver's terms. */
export type BootBody = z.output<ReturnType<typeof bootShape>>;

/** Returns contradictions within a body, and between the body and the machine. */
function conflicts(body: BootBody, boot: BootSnapshot): readonly { path: keyof BootBody; fault: Message }[] {
  const target = body.BootSourceOverrideTarget ?? boot.target;
  const efi =
    (body.BootSourceOverrideMode === undefined ? boot.firmware : modeIn[body.BootSourceOverrideMode]) === 'efi';
  const faults: { path: keyof BootBody; fault: Message }[] = [];
  const conflict = (path: keyof BootBody, other: string, why: string): void => {
    faults.push({ path, fault: withDetail(message('PropertyValueConflict', path, other), why) });
  };
  if (isUefiTarget(body.BootSourceOverrideTarget) && !efi) {
    conflict('BootSourceOverrideTarget', 'BootSourceOverrideMode', 'The machine boots by legacy BIOS.');
  }
  // Legacy BIOS does not show the property, so a stored value would be invisible.
  if (typeof body.HttpBootUri === 'string' && body.HttpBootUri !== '' && !efi) {
    conflict('HttpBootUri', 'BootSourceOverrideMode', 'The machine boots by legacy BIOS.');
  }
  // Rejects a value that the target does not use, because clients would see it although it has no
  // effect.
  if (body.UefiTargetBootSourceOverride !== undefined && target !== 'path') {
    conflict(
      'UefiTargetBootSourceOverride',
      'BootSourceOverrideTarget',
      'UefiTargetBootSourceOverride is used with UefiTarget only.',
    );
  }
  if (typeof body.BootNext === 'string' && target !== 'next') {
    conflict('BootNext', 'BootSourceOverrideTarget', 'BootNext is used with UefiBootNext only.');
  }
  if (body.BootSourceOverrideTarget === 'next') {
    if (typeof body.BootNext !== 'string' && boot.target !== 'next') {
      faults.push({ path: 'BootSourceOverrideTarget', fault: message('PropertyMissing', 'BootNext') });
    }
  }
  if (target === 'next' && body.BootSourceOverrideEnabled === 'Continuous') {
    conflict('BootSourceOverrideEnabled', 'BootSourceOverrideTarget', 'UefiBootNext is for one boot.');
  }
  return faults;
}

/**
 * Renders `Boot` with the allowable values of the machine.
 * @param self URI of the system.
 * @see DSP2046, ComputerSystem, Boot
 */
export function renderBoot({ boot, architecture }: Bootable, self: string): JsonObject {
  const { option, httpUri } = boot;
  const shown = {
    BootSourceOverrideEnabled: enabledOut[boot.enabled],
    'BootSourceOverrideEnabled@Redfish.AllowableValues': Object.keys(enabledIn),
    ...(boot.firmware === null ? {} : { BootSourceOverrideMode: boot.firmware === 'efi' ? 'UEFI' : 'Legacy' }),
    BootSourceOverrideTarget: targetOut[boot.target],
    'BootSourceOverrideTarget@Redfish.AllowableValues': allowableTargets(boot),
  };
  if (boot.fixed !== undefined) return shown;
  const next = boot.target === 'next' ? boot.options.find(({ key }) => key === option) : undefined;
  return {
    ...shown,
    'BootSourceOverrideMode@Redfish.AllowableValues': allowableModes(architecture),
    UefiTargetBootSourceOverride: boot.firstDevicePath,
    ...(boot.firmware === 'efi'
      ? { HttpBootUri: httpUri ?? null, BootNext: next === undefined ? null : bootReference(next) }
      : {}),
    BootOptions: reference(`${self}/BootOptions`),
    BootOrder: boot.order.flatMap((key) => boot.options.filter((known) => known.key === key).map(bootReference)),
  };
}

/**
 * Returns the device kinds of the machine and, with UEFI, the UEFI targets that a client can set. `None` is accepted,
 * but not in the list, because the list in the contract (RF-27) does not have it. Clients that send None to end an
 * override do not read the list.
 */
function allowableTargets(boot: BootSnapshot): readonly string[] {
  const devices = boot.available.map((device) => bootSource[device]);
  return boot.firmware === 'efi' && boot.fixed === undefined
    ? [...devices, ...uefiTargets.map((target) => otherTargets[target])]
    : devices;
}

/**
 * Returns the change of override and mode for the driver. The caller applies `BootOrder` itself.
 * The HTTP URI loses its credentials, because it is stored and shown.
 */
export function bootChange(body: BootBody, boot: BootSnapshot): BootChange {
  const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled, BootSourceOverrideMode: mode } = body;
  const { UefiTargetBootSourceOverride: path, BootNext: next, HttpBootUri: httpUri } = body;
  // UefiTarget without a path selects the path that the resource shows.
  const shown = target === 'path' && boot.target !== 'path' ? boot.order[0] : undefined;
  const option = path ?? next ?? shown;
  // UEFI's BootNext is always for one boot.
  const once = target === 'next' && enabled === undefined ? 'once' : undefined;
  return {
    ...(target === undefined ? {} : { target }),
    ...(enabled === undefined ? {} : { enabled: enabledIn[enabled] }),
    ...(once === undefined ? {} : { enabled: once }),
    ...(option === undefined ? {} : { option }),
    ...(httpUri === undefined
      ? {}
      : { httpUri: httpUri === '' || httpUri === null ? null : storedUrl(new URL(httpUri)) }),
    // Null ends the override of BootNext.
    ...(next === null && boot.target === 'next' && target === undefined ? { target: 'none' as const } : {}),
    ...(mode === undefined ? {} : { firmware: modeIn[mode] }),
  };
}

function targetNamed(text: string): BootTarget | undefined {
  return (Object.keys(targetOut) as BootTarget[]) // the keys of a literal whose type lists them all
    .find((target) => targetOut[target] === text);
}

function isUefiTarget(target: BootTarget | undefined): target is (typeof uefiTargets)[number] {
  return uefiTargets.some((candidate) => candidate === target);
}

type Options = ReadonlyMap<string, DeviceKey>;

function pathOptions({ options }: BootSnapshot): Options {
  return new Map(options.flatMap(({ key, path }) => (path === null ? [] : [[path, key]])));
}

function namedOptions({ options }: BootSnapshot): Options {
  return new Map(options.map((option) => [bootReference(option), option.key]));
}

/** Returns the device of a name. If the machine lacks it, reports an error with the valid names. */
function deviceNamed(options: Options, name: string, context: z.RefinementCtx): DeviceKey {
  const key = optionOf(options, name);
  if (key !== undefined) return key;
  context.addIssue({ code: 'invalid_value', values: [...options.keys()], input: name });
  return z.NEVER;
}

const overrideProperties = [
  'BootSourceOverrideTarget',
  'BootSourceOverrideEnabled',
  'UefiTargetBootSourceOverride',
  'BootNext',
  'HttpBootUri',
  'BootOrder',
] as const satisfies readonly (keyof BootBody)[];

/**
 * Returns the properties of a PATCH that the service ignores with EMULATOR_IGNORE_BOOT_DEVICE. The boot
 * mode is not among them.
 */
export function ignoredProperties(body: BootBody): readonly (keyof BootBody)[] {
  return overrideProperties.filter((name) => body[name] !== undefined);
}
