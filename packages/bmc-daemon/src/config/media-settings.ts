/** The rows of virtual media that have a shape of their own. */
import { z } from 'zod';
import { deviceOf, mediaTypes, type ConfiguredDrives } from '../resources/media-drive.js';
import type { SettingDefinition } from './setting-types.js';

/** Stands in a path. */
const id = z.string().regex(/^[^/?#]+$/);

export const vmediaDevices: SettingDefinition<ConfiguredDrives> = {
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
  doc: "The virtual media drives of each machine, by the id in their path. `CD` or `DVD` make a CD drive, `USBStick` a USB stick (also beside `Floppy`, as in sushy-tools' own default), `Floppy` alone a floppy drive.",
};
