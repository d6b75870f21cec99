/** The settings of an OpenStack cloud, in addition to its name. */
import { z } from 'zod';
import type { ServerFilter } from '../../drivers/nova/compute/server-filter.js';
import { boolean, number, optionalText, type SettingDefinition } from './row.js';

const nonEmptyText = z.string().min(1);

/** The settings, in the order of the page of the configuration. */
export const openstackSettings = {
  osFilter: {
    name: 'EMULATOR_OS_FILTER',
    type: z
      .strictObject({
        tags: z.array(nonEmptyText).optional(),
        metadata: z.record(nonEmptyText, z.string()).optional(),
        name: nonEmptyText.optional(),
        flavor: nonEmptyText.optional(),
      })
      .nullable(),
    expected:
      "a mapping such as {'tags': ['redfish'], 'metadata': {'role': 'node'}, 'name': 'web-*', 'flavor': 'm1'}, or None",
    expectedPart: 'a text that is not empty; for tags a list and for metadata a mapping of such texts',
    default: null,
    form: 'literal',
    doc: 'Conditions for the servers of the cloud that are served.',
  } satisfies SettingDefinition<ServerFilter | null>,
  osArchitecture: {
    name: 'EMULATOR_OS_ARCHITECTURE',
    type: nonEmptyText,
    expected: 'a name such as x86_64 or aarch64',
    default: 'x86_64',
    form: 'text',
    doc: 'CPU architecture of servers whose image has no property `hw_architecture`.',
  } satisfies SettingDefinition<string>,
  osTimeoutSeconds: number(0.1, 600, {
    name: 'EMULATOR_OS_TIMEOUT_SECONDS',
    default: 20,
    doc: 'How long a request waits for the cloud.',
  }),
  osVmediaRescueBus: {
    name: 'EMULATOR_OS_VMEDIA_RESCUE_BUS',
    type: z.enum(['sata', 'ide', 'scsi', 'virtio', 'usb']),
    expected: "'sata', 'ide', 'scsi', 'virtio' or 'usb'",
    default: 'sata',
    form: 'text',
    doc: 'Bus of the CD drive in which Nova boots an image.',
  } satisfies SettingDefinition<'sata' | 'ide' | 'scsi' | 'virtio' | 'usb'>,
  osVmediaImageFileUpload: boolean({
    name: 'EMULATOR_OS_VMEDIA_IMAGE_FILE_UPLOAD',
    default: true,
    doc: 'Whether the daemon fetches an image and uploads it to Glance. False: Glance fetches it.',
  }),
  osIpxeImage: optionalText({
    name: 'EMULATOR_OS_IPXE_IMAGE',
    default: null,
    doc: 'Id or name of the image in Glance that boots a server from the network. None: `Pxe` is not available.',
  }),
};
