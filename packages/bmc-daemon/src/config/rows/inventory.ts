/**
 * The inventory settings of sushy-tools: chassis, indicators, storage. Unknown members are ignored,
 * as in sushy-tools.
 */
import { z } from 'zod';
import type {
  ConfiguredChassis,
  ConfiguredDrive,
  ConfiguredStorage,
  ConfiguredVolume,
  IndicatorLed,
} from '../../resources/chassis/configured-inventory.js';
import { optionalText, pathSegment, type SettingDefinition } from './row.js';

// `z.uuid` would reject the UUID in the sample of sushy-tools, because it is not valid by RFC 9562.
const uuid = z.guid().toLowerCase();
const bytes = z.int().min(0);
/** The members that chassis, storages, drives and volumes share. */
const idAndName = { Id: pathSegment, Name: z.string().min(1).optional() };

/** Returns the type of a list. Each member needs its own Id, because the Id is the last segment of a path. */
function members<Member extends z.ZodType<{ readonly Id: string }>>(member: Member) {
  return z.array(member).superRefine((list, context) => {
    const seen = new Set<string>();
    for (const [index, { Id }] of list.entries()) {
      if (seen.has(Id)) context.addIssue({ code: 'custom', path: [index, 'Id'], input: Id });
      seen.add(Id);
    }
  });
}

/** Values of DMTF's Protocol for drives. */
// prettier-ignore
const protocols = [
  'SAS', 'SATA', 'NVMe', 'PCIe', 'USB', 'iSCSI', 'FC', 'FCP', 'FCoE', 'NVMeOverFabrics', 'SMB', 'NFSv3', 'NFSv4',
  'HTTP', 'HTTPS', 'FTP', 'SFTP', 'iWARP', 'RoCE', 'RoCEv2', 'I2C', 'TCP', 'UDP', 'UHCI', 'AHCI', 'OEM',
] as const;

/** Values of DMTF's VolumeType. */
const volumeTypes = [
  'RawDevice',
  'NonRedundant',
  'Mirrored',
  'StripedWithParity',
  'SpannedMirrors',
  'SpannedStripesWithParity',
] as const;

/** A tuple `(uuid, storage)` as toPlain returns it: the text of a JSON array. The UUID becomes lower case. */
const tuple = z
  .string()
  .regex(/^\["[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}","[^"/?#\\]+"\]$/i)
  .transform((key) => key.replace(/^\["[^"]*/, (start) => start.toLowerCase()));

const chassis: SettingDefinition<readonly ConfiguredChassis[]> = {
  name: 'EMULATOR_CHASSIS',
  type: z
    .array(z.object({ ...idAndName, UUID: uuid }))
    .refine((list) => new Set(list.map(({ UUID }) => UUID)).size === list.length),
  expected: "a list of chassis such as {'Id': 'Rack', 'Name': 'Rack 1', 'UUID': '…'}, each with its own UUID",
  expectedPart: "as in {'Id': 'Rack', 'Name': 'Rack 1', 'UUID': '2f0d6b52-53a4-4f05-9c0a-7c5f2f1b0a11'}",
  default: [],
  form: 'literal',
  doc: 'The chassis that clients see.',
};

const indicatorLeds: SettingDefinition<Readonly<Record<string, IndicatorLed>>> = {
  name: 'EMULATOR_INDICATOR_LEDS',
  type: z.record(uuid, z.enum(['Lit', 'Off', 'Blinking'])),
  expected: "a mapping of UUIDs to 'Lit', 'Off' or 'Blinking'",
  expectedPart: "one of 'Lit', 'Off', 'Blinking'",
  default: {},
  form: 'literal',
  doc: 'Initial indicator LEDs of machines and chassis, by UUID.',
};

const storage: SettingDefinition<Readonly<Record<string, readonly ConfiguredStorage[]>>> = {
  name: 'EMULATOR_STORAGE',
  type: z.record(
    uuid,
    members(
      z.object({
        ...idAndName,
        StorageControllers: z
          .array(
            z.object({
              MemberId: pathSegment,
              Name: z.string().min(1).optional(),
              SpeedGbps: z.number().min(0).optional(),
            }),
          )
          .optional(),
        Drives: z.array(pathSegment).optional(),
      }),
    ),
  ),
  expected:
    "a mapping of machines' UUIDs to lists of storages such as {'Id': '1', 'Name': '…', " +
    "'StorageControllers': […], 'Drives': […]}",
  expectedPart:
    "as in {'Id': '1', 'Name': 'RAID', 'StorageControllers': [{'MemberId': '0', 'Name': '…', " +
    "'SpeedGbps': 12}], 'Drives': ['D1']}, with its own Id",
  default: {},
  form: 'literal',
  doc: "The storage of machines, by the machine's UUID.",
};

const drives: SettingDefinition<Readonly<Record<string, readonly ConfiguredDrive[]>>> = {
  name: 'EMULATOR_DRIVES',
  type: z.record(
    tuple,
    members(
      z.object({
        ...idAndName,
        CapacityBytes: bytes.optional(),
        Protocol: z.enum(protocols).optional(),
      }),
    ),
  ),
  expected:
    "a mapping of tuples ('UUID', 'storage id') to lists of drives such as {'Id': 'D1', 'Name': '…', " +
    "'CapacityBytes': 899527000000, 'Protocol': 'SAS'}",
  expectedPart:
    "as in {'Id': 'D1', 'Name': 'Drive', 'CapacityBytes': 899527000000, 'Protocol': 'SAS'}, with its own Id",
  default: {},
  form: 'literal',
  doc: 'The drives of a storage in `EMULATOR_STORAGE`.',
};

const volumes: SettingDefinition<Readonly<Record<string, readonly ConfiguredVolume[]>>> = {
  name: 'EMULATOR_VOLUMES',
  type: z.record(
    tuple,
    members(
      z.object({
        ...idAndName,
        VolumeType: z.enum(volumeTypes).optional(),
        CapacityBytes: bytes,
        libvirtPoolName: z.string().min(1).optional(),
        libvirtVolName: pathSegment.optional(),
      }),
    ),
  ),
  expected:
    "a mapping of tuples ('UUID', 'storage id') to lists of volumes such as {'Id': '1', 'Name': '…', " +
    "'VolumeType': 'Mirrored', 'CapacityBytes': 23748, 'libvirtPoolName': '…', 'libvirtVolName': '…'}",
  expectedPart:
    "as in {'Id': '1', 'Name': 'Volume', 'VolumeType': 'Mirrored', 'CapacityBytes': 23748, " +
    "'libvirtPoolName': 'default', 'libvirtVolName': 'vol1'}, with its own Id",
  default: {},
  form: 'literal',
  doc: 'The volumes of a storage in `EMULATOR_STORAGE`.',
};

/** The settings, in the order of the page of the configuration. */
export const inventorySettings = {
  chassis,
  indicatorLeds,
  storage,
  drives,
  volumes,
  storagePool: optionalText({
    name: 'EMULATOR_STORAGE_POOL',
    default: null,
    doc: 'The libvirt storage pool for images and new volumes.',
  }),
};
