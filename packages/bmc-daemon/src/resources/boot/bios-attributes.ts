/**
 * The table of BIOS attributes: name, values, and the machine setting behind each of them. The
 * names are those of sushy-tools and of the servers that it models, so settings files for both
 * work.
 */
import { z } from 'zod';
import type { HypervisorDriver } from '../../drivers/driver.js';
import type { StoredValue, SettingsChange } from '../../drivers/snapshot/firmware-snapshot.js';
import type { JsonObject } from '../../redfish/resource.js';
import type { SystemWith } from '../details.js';

/** A machine with the details that attributes show. */
type BiosMachine = SystemWith<'firmware'>;

interface AttributeText {
  readonly name: string;
  readonly display: string;
  readonly help: string;
  /** No client can change the attribute. */
  readonly readOnly?: true;
  /**
   * Machines that show the attribute: those of drivers that can change settings (`changeable`), or those of all other
   * drivers (`fixed`). Default: all machines.
   */
  readonly settings?: 'changeable' | 'fixed';
}

type AttributeType =
  | { readonly type: 'Enumeration'; readonly values: readonly string[] }
  | { readonly type: 'Integer'; readonly lower: number; readonly upper: (system: BiosMachine) => number }
  | { readonly type: 'Boolean' }
  | { readonly type: 'String'; readonly maxLength: number }
  | { readonly type: 'Password'; readonly maxLength: number };

/** Maps an attribute to a setting of the machine. `change` receives a value of the attribute's type. */
interface ValueAccess {
  readonly read: (system: BiosMachine) => StoredValue | null;
  /**
   * Absent: clients cannot change the attribute, or the service accepts the value and does not
   * store it.
   */
  readonly change?: (value: StoredValue) => SettingsChange;
  /** Value after ResetBios, for attributes that have no setting behind them. */
  readonly resetValue?: StoredValue;
}

/** A BIOS attribute: description, type, and access to its value. */
export type BiosAttribute = AttributeText & AttributeType & ValueAccess;

/** Returns an attribute that is stored in the machine's metadata and has no effect on the machine. */
function storedOnly(resetValue: StoredValue, { name, ...others }: AttributeText & AttributeType): BiosAttribute {
  return {
    name,
    ...others,
    settings: 'changeable',
    resetValue,
    read: ({ firmware }) => firmware.settings.kept[name] ?? resetValue,
    change: (value) => ({ kept: { [name]: value } }),
  };
}

const toggle = ['Enabled', 'Disabled'] as const;
const noEffect = 'Stored with the machine. It has no effect on a virtual machine.';

/** Every attribute, in the order of the registry. */
export const biosAttributes: readonly BiosAttribute[] = [
  {
    name: 'BootMode',
    display: 'Boot Mode',
    help: 'The firmware that the machine boots with: Uefi, or Bios for legacy BIOS.',
    type: 'Enumeration',
    values: ['Uefi', 'Bios'],
    read: ({ firmware: { settings } }) =>
      settings.firmware === null ? null : settings.firmware === 'efi' ? 'Uefi' : 'Bios',
    change: (value) => ({ firmware: value === 'Uefi' ? 'efi' : 'bios' }),
  },
  {
    name: 'SecureBootStatus',
    display: 'Secure Boot',
    help: 'Whether UEFI rejects unsigned boot loaders. A change replaces the keys, and copies boot entries.',
    type: 'Enumeration',
    values: toggle,
    read: ({ firmware: { settings } }) => {
      if (settings.secureBoot === null && settings.firmware === null) return null;
      return settings.secureBoot === true ? 'Enabled' : 'Disabled';
    },
    change: (value) => ({ secureBoot: value === 'Enabled' }),
  },
  {
    name: 'NumCores',
    display: 'Number of vCPUs',
    help: 'The number of vCPUs that the machine starts with, up to the maximum in its definition.',
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
    settings: 'changeable',
    display: 'Network Boot of the First NIC',
    help: "Whether the machine's boot order contains its first network interface.",
    type: 'Enumeration',
    values: ['NetworkBoot', 'Disabled'],
    read: ({ firmware }) => (firmware.settings.networkBoot === true ? 'NetworkBoot' : 'Disabled'),
    change: (value) => ({ networkBoot: value === 'NetworkBoot' }),
  },
  {
    name: 'MachineType',
    settings: 'fixed',
    display: 'Machine Type',
    help: "The machine type of the hypervisor, for example 'pc-q35-7.2'.",
    readOnly: true,
    type: 'String',
    maxLength: 255,
    read: ({ machineType }) => machineType ?? null,
  },
  {
    name: 'SerialNumber',
    display: 'Serial Number',
    help: "The serial number in the machine's SMBIOS.",
    readOnly: true,
    type: 'String',
    maxLength: 64,
    read: ({ sysinfo }) => sysinfo?.serial ?? null,
  },
  storedOnly('Enabled', {
    name: 'ProcTurboMode',
    display: 'Turbo Mode',
    help: noEffect,
    type: 'Enumeration',
    values: toggle,
  }),
  storedOnly('Raid', {
    name: 'EmbeddedSata',
    display: 'Embedded SATA',
    help: noEffect,
    type: 'Enumeration',
    values: ['Ata', 'Ahci', 'Raid', 'Off'],
  }),
  storedOnly('Unspecified', { name: 'L2Cache', display: 'L2 Cache', help: noEffect, type: 'String', maxLength: 16 }),
  storedOnly(true, { name: 'QuietBoot', display: 'Quiet Boot', help: noEffect, type: 'Boolean' }),
  {
    name: 'SysPassword',
    settings: 'changeable',
    display: 'System Password',
    help: 'Accepted and not stored. A virtual machine does not ask for a password at its start.',
    type: 'Password',
    maxLength: 32,
    read: () => null,
  },
];

const byName: ReadonlyMap<string, BiosAttribute> = new Map(
  biosAttributes.map((attribute) => [attribute.name, attribute]),
);

/** Values of the stored attributes after ResetBios, by name. */
export const resetValues: Readonly<Record<string, StoredValue>> = Object.fromEntries(
  biosAttributes.flatMap(({ name, resetValue }) => (resetValue === undefined ? [] : [[name, resetValue]])),
);

/** Renders `Attributes`: as defined now, or as they will be after the next start. */
export function renderAttributes(
  system: BiosMachine,
  when: 'now' | 'next',
  { changeable }: Pick<HypervisorDriver, 'changeable'>,
): JsonObject {
  const { settings, pending } = system.firmware;
  const next = { ...settings, ...pending, kept: { ...settings.kept, ...pending.kept } };
  const shown = when === 'now' ? system : { ...system, firmware: { ...system.firmware, settings: next } };
  const omitted = changeable.has('settings') ? 'fixed' : 'changeable';
  const attributes = biosAttributes.filter(({ settings: kind }) => kind !== omitted);
  return Object.fromEntries(attributes.map(({ name, read }) => [name, read(shown)]));
}

/**
 * Returns the schema of `Attributes` in a PATCH for a machine. The schema lacks read-only
 * attributes.
 */
export function attributesBody(system: BiosMachine) {
  const writable = biosAttributes.filter(({ readOnly }) => readOnly !== true);
  return z.strictObject(Object.fromEntries(writable.map((attribute) => [attribute.name, valueOf(attribute, system)])));
}

function valueOf(attribute: BiosAttribute, system: BiosMachine): z.ZodType<StoredValue | undefined> {
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

/** Returns the settings change for attribute values. Empty if no attribute stores its value. */
export function settingsChange(attributes: Readonly<Record<string, StoredValue | undefined>>): SettingsChange {
  const changes = Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined ? [] : [byName.get(name)?.change?.(value) ?? {}],
  );
  const storedValues = Object.fromEntries(changes.flatMap(({ kept = {} }) => Object.entries(kept)));
  return {
    ...changes.reduce<SettingsChange>((merged, change) => ({ ...merged, ...change }), {}),
    ...(Object.keys(storedValues).length === 0 ? {} : { kept: storedValues }),
  };
}

/**
 * Path of the property in a PATCH body, for each setting of the machine. Error messages name it.
 */
export const attributeProperties = {
  firmware: 'Attributes/BootMode',
  secureBoot: 'Attributes/SecureBootStatus',
  cpuCount: 'Attributes/NumCores',
  memoryMiB: 'Attributes/MemorySizeMiB',
  networkBoot: 'Attributes/NicBoot1',
} as const satisfies Readonly<Record<Exclude<keyof SettingsChange, 'kept'>, string>>;
