/** The JSON form of a {@link MachineRecord}: one schema for each member. */
import { z } from 'zod';
import { MEDIA_DEVICES } from '../../../snapshot/media-snapshot.js';
import type { DeviceKey } from '../../../snapshot/firmware-snapshot.js';
import { isDeviceKey } from '../devices/device-key.js';
import { decodeAttribute } from '../escape.js';
import { parseFragment, XmlParser } from '../parse.js';
import type { MachineRecord } from './machine-record.js';

const indicator = z.enum(['lit', 'off', 'blinking']);
const kept = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
const deviceKey = z.custom<DeviceKey>((value) => typeof value === 'string' && isDeviceKey(value));

const settingsChange = z.strictObject({
  cpuCount: z.int().exactOptional(),
  memoryMiB: z.int().exactOptional(),
  firmware: z.enum(['bios', 'efi']).exactOptional(),
  secureBoot: z.boolean().exactOptional(),
  networkBoot: z.boolean().exactOptional(),
  kept: kept.exactOptional(),
});

const boot = z.object({
  enabled: z.enum(['disabled', 'once', 'continuous']),
  target: z.enum(['network', 'cdrom', 'hd', 'fd', 'usb', 'none', 'http', 'path', 'next']),
  option: deviceKey.exactOptional(),
  httpUri: z.string().exactOptional(),
  saved: z
    .object({
      os: z.array(z.object({ at: z.int().nonnegative(), markup: z.string().refine(isBootMarkup) })),
      devices: z.array(z.object({ key: z.string(), order: z.string().refine(isRawNumber) })),
    })
    .nullable(),
});

const media = z.object({
  device: z.enum(MEDIA_DEVICES),
  drive: z.string(),
  image: z.string(),
  imageName: z.string(),
  source: z.string(),
  writeProtected: z.boolean(),
  driveReadonly: z.boolean(),
});

const mediaSettings = z.object({
  device: z.enum(MEDIA_DEVICES),
  verifyCertificate: z.boolean().nullable(),
  certificates: z.array(z.object({ id: z.string(), pem: z.string() })),
});

// Reads a member with an unknown format as empty or null, and keeps the other members.
const settings = z.object({
  kept: kept.catch({}),
  pending: settingsChange.catch({}),
  failure: z.object({ reason: z.string(), time: z.string() }).nullable().catch(null),
  original: settingsChange.catch({}),
  variables: z.string().nullable().catch(null),
});

const disk = z.object({
  target: z.string(),
  source: z.string().nullable(),
  indicator: indicator.nullable(),
  name: z.string().nullable(),
  capacityBytes: z.number().nullable(),
  storage: z.string().nullable(),
});

const unattached = z.object({
  pool: z.string(),
  volume: z.string(),
  step: z.object({ kind: z.enum(['attach', 'detach']), target: z.string() }).exactOptional(),
});

const owner = z.object({
  assetTag: z.string().exactOptional(),
  firmwareUpdate: z.object({ installed: z.string().nullable(), staged: z.string().nullable() }).exactOptional(),
});

const created = z.object({
  uuid: z.string(),
  group: z.string().nullable(),
  complete: z.boolean(),
  volumes: z.array(z.object({ pool: z.string(), volume: z.string() })),
  serialLog: z.string().nullable(),
  clonedFrom: z.string().nullable(),
});

const intent = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('start'), fresh: z.boolean() }),
  z.object({ kind: z.literal('restart'), instance: z.int(), force: z.boolean() }),
  z.object({ kind: z.literal('drive'), device: z.enum(MEDIA_DEVICES) }),
  z.object({ kind: z.literal('autostart'), on: z.boolean() }),
  z.object({ kind: z.literal('order') }),
]);

/** Returns whether text is `<boot>` elements, which an edit can insert into `<os>`. */
function isBootMarkup(text: string): boolean {
  return isReadable(() => {
    const { root } = parseFragment(text, new XmlParser('<os/>').document().root);
    return root.text.trim() === '' && root.nodes.every((node) => node.kind === 'other' || node.name === 'boot');
  });
}

/** Returns whether text is a number, as written between the quotes of an attribute. */
function isRawNumber(text: string): boolean {
  return !/[<"']/.test(text) && isReadable(() => Number.isFinite(Number(decodeAttribute(text))));
}

function isReadable(read: () => boolean): boolean {
  try {
    return read();
  } catch {
    // A user has edited the text, and it is not XML anymore.
    return false;
  }
}

type Members = Omit<MachineRecord, 'later' | 'unknown'>;

/**
 * The schema of each member. Except for `settings`, an array or an object with one invalid part is invalid,
 * and the daemon ignores the whole member.
 */
export const memberSchemas = {
  indicator,
  boot,
  media: z.array(media),
  mediaSettings: z.array(mediaSettings),
  settings,
  disks: z.array(disk),
  unattached: z.array(unattached),
  owner,
  created,
  intents: z.array(intent),
  resetNvram: z.boolean(),
} satisfies { readonly [Name in keyof Members]: z.ZodType<NonNullable<Members[Name]>> };
