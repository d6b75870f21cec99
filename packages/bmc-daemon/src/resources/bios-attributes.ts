/**
 * The BIOS attributes, one table: what each is called, what it may be, and what it is to the machine. The names are those of
 * sushy-tools and of the servers that it was modelled on, so that settings written for either are understood.
 */
import { z } from 'zod';
import type { SystemSnapshot } from '../drivers/driver.js';
import type { KeptValue, SettingsChange } from '../drivers/firmware-snapshot.js';
import type { JsonObject } from '../redfish/resource.js';

interface Described {
  readonly name: string;
  readonly display: string;
  readonly help: string;
  /** Read by every machine, written by none. */
  readonly readOnly?: true;
}

type Kind =
  | { readonly type: 'Enumeration'; readonly values: readonly string[] }
  | { readonly type: 'Integer'; readonly lower: number; readonly upper: (system: SystemSnapshot) => number }
  | { readonly type: 'Boolean' }
  | { readonly type: 'String'; readonly maxLength: number }
  | { readonly type: 'Password'; readonly maxLength: number };

/** What an attribute is to the machine; `change` gets a value that is of the attribute's kind. */
interface Meaning {
  readonly read: (system: SystemSnapshot) => KeptValue | null;
  /** Absent: it is accepted and nothing is kept of it. */
  readonly change?: (value: KeptValue) => SettingsChange;
  /** What ResetBios makes of a value that is kept. */
  readonly first?: KeptValue;
}

/** One attribute. */
export type BiosAttribute = Described & Kind & Meaning;

/** An attribute that means nothing to a virtual machine and is kept with it. */
function kept(first: KeptValue, { name, ...described }: Described & Kind): BiosAttribute {
  return {
    name,
    ...described,
    first,
    read: ({ firmware }) => firmware.settings.kept[name] ?? first,
    change: (value) => ({ kept: { [name]: value } }),
  };
}

const toggle = ['Enabled', 'Disabled'] as const;
const noEffect = 'Kept with the machine; a virtual machine has nothing that it would change.';

/** Every attribute, in the order of the registry. */
export const biosAttributes: readonly BiosAttribute[] = [
  {
    name: 'BootMode',
    display: 'Boot Mode',
    help: 'The firmware that the machine boots with: Uefi, or Bios for the legacy one.',
    type: 'Enumeration',
    values: ['Uefi', 'Bios'],
    read: ({ firmware }) => (firmware.settings.firmware === 'efi' ? 'Uefi' : 'Bios'),
    change: (value) => ({ firmware: value === 'Uefi' ? 'efi' : 'bios' }),
  },
  {
    name: 'SecureBootStatus',
    display: 'Secure Boot',
    help: 'Whether UEFI refuses what is not signed. Its variables are made anew when this changes.',
    type: 'Enumeration',
    values: toggle,
    read: ({ firmware }) => (firmware.settings.secureBoot === true ? 'Enabled' : 'Disabled'),
    change: (value) => ({ secureBoot: value === 'Enabled' }),
  },
  {
    name: 'NumCores',
    display: 'Number of vCPUs',
    help: 'How many vCPUs the machine starts with, up to the maximum in its definition.',
    type: 'Integer',
    lower: 1,
    upper: ({ firmware }) => firmware.limits.cpuCount,
    read: ({ firmware }) => firmware.settings.cpuCount,
    change: (value) => ({ cpuCount: Number(value) }),
  },
  {
    name: 'MemorySizeMiB',
    display: 'Memory Size',
    help: 'The memory that the machine starts with, in MiB, up to the maximum in its definition.',
    type: 'Integer',
    lower: 16,
    upper: ({ firmware }) => firmware.limits.memoryMiB,
    read: ({ firmware }) => firmware.settings.memoryMiB,
    change: (value) => ({ memoryMiB: Number(value) }),
  },
  {
    name: 'NicBoot1',
    display: 'Network Boot of the First NIC',
    help: "Whether the first network interface stands in the machine's own boot order.",
    type: 'Enumeration',
    values: ['NetworkBoot', 'Disabled'],
    read: ({ firmware }) => (firmware.settings.networkBoot === true ? 'NetworkBoot' : 'Disabled'),
    change: (value) => ({ networkBoot: value === 'NetworkBoot' }),
  },
  {
    name: 'SerialNumber',
    display: 'Serial Number',
    help: "The serial number in the machine's SMBIOS.",
    readOnly: true,
    type: 'String',
    maxLength: 64,
    read: ({ sysinfo }) => sysinfo.serial,
  },
  kept('Enabled', {
    name: 'ProcTurboMode',
    display: 'Turbo Mode',
    help: noEffect,
    type: 'Enumeration',
    values: toggle,
  }),
  kept('Raid', {
    name: 'EmbeddedSata',
    display: 'Embedded SATA',
    help: noEffect,
    type: 'Enumeration',
    values: ['Ata', 'Ahci', 'Raid', 'Off'],
  }),
  kept('Unspecified', { name: 'L2Cache', display: 'L2 Cache', help: noEffect, type: 'String', maxLength: 16 }),
  kept(true, { name: 'QuietBoot', display: 'Quiet Boot', help: noEffect, type: 'Boolean' }),
  {
    name: 'SysPassword',
    display: 'System Password',
    help: 'Accepted and not kept: nobody asks for a password at the start of a virtual machine.',
    type: 'Password',
    maxLength: 32,
    read: () => null,
  },
];

const byName: ReadonlyMap<string, BiosAttribute> = new Map(
  biosAttributes.map((attribute) => [attribute.name, attribute]),
);

/** First values of what is kept, for ResetBios. */
export const keptFirst: Readonly<Record<string, KeptValue>> = Object.fromEntries(
  biosAttributes.flatMap(({ name, first }) => (first === undefined ? [] : [[name, first]])),
);

/** `Attributes`: of the definition, or as they will be after the next start. */
export function renderAttributes(system: SystemSnapshot, when: 'now' | 'next'): JsonObject {
  const { settings, pending } = system.firmware;
  const next = { ...settings, ...pending, kept: { ...settings.kept, ...pending.kept } };
  const shown = when === 'now' ? system : { ...system, firmware: { ...system.firmware, settings: next } };
  return Object.fromEntries(biosAttributes.map(({ name, read }) => [name, read(shown)]));
}

/** What a PATCH of the pending attributes may be, for one machine; an attribute that is shown and not named here is read-only. */
export function attributesBody(system: SystemSnapshot) {
  const writable = biosAttributes.filter(({ readOnly }) => readOnly !== true);
  return z.strictObject(Object.fromEntries(writable.map((attribute) => [attribute.name, valueOf(attribute, system)])));
}

function valueOf(attribute: BiosAttribute, system: SystemSnapshot): z.ZodType<KeptValue | undefined> {
  switch (attribute.type) {
    case 'Enumeration':
      return z.enum(attribute.values).optional();
    case 'Integer':
      return z.int().min(attribute.lower).max(attribute.upper(system)).optional();
    case 'Boolean':
      return z.boolean().optional();
    case 'String':
    case 'Password':
      return z.string().max(attribute.maxLength).optional();
  }
}

/** The change of settings that attributes ask for; empty where none of them is kept. */
export function settingsChange(attributes: Readonly<Record<string, KeptValue | undefined>>): SettingsChange {
  const changes = Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined ? [] : [byName.get(name)?.change?.(value) ?? {}],
  );
  const keptValues = Object.assign({}, ...changes.map((change) => change.kept ?? {})) as Record<string, KeptValue>; // by their type
  return {
    ...changes.reduce<SettingsChange>((merged, change) => ({ ...merged, ...change }), {}),
    ...(Object.keys(keptValues).length === 0 ? {} : { kept: keptValues }),
  };
}

/** The attribute that each setting of the machine belongs to, by its place in a body. */
export const attributeProperties = {
  firmware: 'Attributes/BootMode',
  secureBoot: 'Attributes/SecureBootStatus',
  cpuCount: 'Attributes/NumCores',
  memoryMiB: 'Attributes/MemorySizeMiB',
  networkBoot: 'Attributes/NicBoot1',
} as const satisfies Readonly<Record<Exclude<keyof SettingsChange, 'kept'>, string>>;
