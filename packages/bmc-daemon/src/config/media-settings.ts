/** The settings of virtual media with their own schemas. */
import { z } from 'zod';
import {
  deviceOf,
  mediaTypes,
  type ConfiguredVirtualMediaDrives,
} from '../resources/virtual-media/configured-drive.js';
import { isHostRule } from '../media/image-hosts.js';
import type { SettingDefinition } from './setting-types.js';

/** A segment of a path. */
const id = z.string().regex(/^[^/?#]+$/);

export const vmediaDevices: SettingDefinition<ConfiguredVirtualMediaDrives> = {
  name: 'EMULATOR_VMEDIA_DEVICES',
  type: z
    .record(id, z.object({ Name: z.string().min(1).optional(), MediaTypes: z.array(z.enum(mediaTypes)).min(1) }))
    .refine((drives) => {
      const devices = Object.values(drives).map(deviceOf);
      return new Set(devices).size === devices.length;
    }),
  expected:
    "a mapping of ids to drives such as {'Cd': {'Name': 'Virtual CD', 'MediaTypes': ['CD', 'DVD']}}, at most one of a kind: CD drive, floppy drive, USB stick",
  expectedPart:
    "as in {'Name': 'Virtual CD', 'MediaTypes': ['CD', 'DVD']}, with media types of 'CD', 'DVD', 'Floppy', 'USBStick'",
  default: {
    Cd: { Name: 'Virtual CD', MediaTypes: ['CD', 'DVD'] },
    Floppy: { Name: 'Virtual Floppy', MediaTypes: ['Floppy'] },
    Usb: { Name: 'Virtual USB Stick', MediaTypes: ['USBStick'] },
  },
  form: 'literal',
  group: 'media',
  doc: 'The virtual media drives of each machine, by the id in their path.',
};

export const vmediaAllowedHosts: SettingDefinition<readonly string[] | null> = {
  name: 'EMULATOR_VMEDIA_ALLOWED_HOSTS',
  type: z.array(z.string().refine(isHostRule)).nullable(),
  expected: "a list of names and networks such as ['images.example.org', '*.lab.example.org', '10.0.0.0/8'], or None",
  expectedPart: "a name, '*.' and a domain, an IP address or a network such as '10.0.0.0/8'",
  default: null,
  form: 'literal',
  group: 'media',
  doc: 'Hosts that images may come from.',
};

export const virtualMediaIpFamily: SettingDefinition<'4' | '6' | null> = {
  name: 'EMULATOR_VIRTUAL_MEDIA_IP_FAMILY',
  type: z.enum(['4', '6']).nullable(),
  expected: "'4', '6' or None",
  default: null,
  form: 'text',
  group: 'media',
  doc: 'The IP version of connections to image servers.',
};
