/** The settings of virtual media: drives, image servers, time limits. */
import { z } from 'zod';
import {
  deviceOf,
  mediaTypes,
  type ConfiguredVirtualMediaDrives,
} from '../../resources/virtual-media/configured-drive.js';
import { isHostRule } from '../../media/image-hosts.js';
import { boolean, number, optionalPath, pathSegment, type SettingDefinition } from './row.js';

const vmediaDevices: SettingDefinition<ConfiguredVirtualMediaDrives> = {
  name: 'EMULATOR_VMEDIA_DEVICES',
  type: z
    .record(
      pathSegment,
      z.object({ Name: z.string().min(1).optional(), MediaTypes: z.array(z.enum(mediaTypes)).min(1) }),
    )
    .refine((drives) => {
      const devices = Object.values(drives).map(deviceOf);
      return new Set(devices).size === devices.length;
    }),
  expected:
    "a mapping of ids to drives such as {'Cd': {'Name': 'Virtual CD', 'MediaTypes': ['CD', 'DVD']}}, at most " +
    'one of a kind: CD drive, floppy drive, USB stick',
  expectedPart:
    "as in {'Name': 'Virtual CD', 'MediaTypes': ['CD', 'DVD']}, with media types of 'CD', 'DVD', 'Floppy', 'USBStick'",
  default: {
    Cd: { Name: 'Virtual CD', MediaTypes: ['CD', 'DVD'] },
    Floppy: { Name: 'Virtual Floppy', MediaTypes: ['Floppy'] },
    Usb: { Name: 'Virtual USB Stick', MediaTypes: ['USBStick'] },
  },
  form: 'literal',
  doc: 'The virtual media drives of each machine, by their id.',
};

const vmediaAllowedHosts: SettingDefinition<readonly string[] | null> = {
  name: 'EMULATOR_VMEDIA_ALLOWED_HOSTS',
  type: z.array(z.string().refine(isHostRule)).nullable(),
  expected: "a list of names and networks such as ['images.example.org', '*.lab.example.org', '10.0.0.0/8'], or None",
  expectedPart: "a name, a domain after '*.', an IP address or a network such as '10.0.0.0/8'",
  default: null,
  form: 'literal',
  doc: 'Hosts from which clients may insert images.',
};

const virtualMediaIpFamily: SettingDefinition<'4' | '6' | null> = {
  name: 'EMULATOR_VIRTUAL_MEDIA_IP_FAMILY',
  type: z.enum(['4', '6']).nullable(),
  expected: "'4', '6' or None",
  default: null,
  form: 'text',
  doc: 'The IP version of connections to image servers.',
};

/** The settings, in the order of the page of the configuration. */
export const virtualMediaSettings = {
  vmediaDevices,
  vmediaVerifySsl: boolean({
    name: 'EMULATOR_VMEDIA_VERIFY_SSL',
    default: false,
    doc: "Whether the daemon verifies an image server's certificate.",
  }),
  vmediaCaFile: optionalPath({
    name: 'EMULATOR_VMEDIA_CA_FILE',
    default: null,
    doc: "PEM file with CA certificates for image servers, in addition to Node's list.",
  }),
  vmediaAllowedHosts,
  virtualMediaIpFamily,
  vmediaMaxImageGib: number(0.001, 65_536, {
    name: 'EMULATOR_VMEDIA_MAX_IMAGE_GIB',
    default: 64,
    doc: 'Maximum size of an image, in GiB.',
  }),
  vmediaConnectTimeoutSeconds: number(0.1, 600, {
    name: 'EMULATOR_VMEDIA_CONNECT_TIMEOUT_SECONDS',
    default: 10,
    doc: 'Time limit for connecting to an image server.',
  }),
  vmediaAnswerTimeoutSeconds: number(0.1, 3600, {
    name: 'EMULATOR_VMEDIA_ANSWER_TIMEOUT_SECONDS',
    default: 60,
    doc: 'Time limit for the response headers of an image server.',
  }),
  vmediaIdleTimeoutSeconds: number(0.1, 3600, {
    name: 'EMULATOR_VMEDIA_IDLE_TIMEOUT_SECONDS',
    default: 30,
    doc: 'Time limit for an image server that is silent or very slow.',
  }),
  vmediaDownloadTimeoutSeconds: number(1, 604_800, {
    name: 'EMULATOR_VMEDIA_DOWNLOAD_TIMEOUT_SECONDS',
    default: 21_600,
    doc: 'Time limit for a whole download or upload.',
  }),
  vmediaUploadExpirySeconds: number(1, 86_400, {
    name: 'EMULATOR_VMEDIA_UPLOAD_EXPIRY_SECONDS',
    default: 900,
    doc: 'Time after which the daemon cancels an upload that receives nothing.',
  }),
};
