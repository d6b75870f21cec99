/** The settings for machines in memory, with the members of sushy-tools' fake driver. */
import { z } from 'zod';
import { optionalPath, type SettingDefinition } from './row.js';

const mac = z.string().regex(/^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}$/i);

/** Ignores all other members, as sushy-tools does. */
const fakeSystem = z.object({
  uuid: z.string().regex(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i),
  name: z.string().min(1),
  power_state: z.enum(['On', 'Off']).optional(),
  boot_device: z.enum(['Pxe', 'Hdd', 'Cd']).optional(),
  boot_mode: z.enum(['UEFI', 'Legacy']).optional(),
  secure_boot: z.boolean().optional(),
  external_notifier: z.boolean().optional(),
  nics: z.array(z.object({ mac, ip: z.string().nullish() })).optional(),
});

/**
 * One machine in memory, with the member names of sushy-tools. `uuid` may have upper-case digits,
 * and `mac` may have dashes.
 */
export type FakeSystem = z.infer<typeof fakeSystem>;

const fakeSystems = {
  name: 'EMULATOR_FAKE_SYSTEMS',
  type: z
    .array(fakeSystem)
    .superRefine((systems, context) => {
      const seen = new Set<string>();
      for (const [index, { uuid }] of systems.entries()) {
        const key = uuid.toLowerCase();
        if (seen.has(key)) context.addIssue({ code: 'custom', path: [index, 'uuid'], message: 'twice' });
        seen.add(key);
      }
    })
    .nullable(),
  expected:
    "None, or a list of mappings such as {'uuid': '…', 'name': 'node-1', 'nics': [{'mac': '52:54:00:00:00:01'}]}",
  expectedPart:
    "as in {'uuid': '27946b59-9e44-4fa7-8e91-f3527a1ef094', 'name': 'node-1', 'power_state': 'Off', " +
    "'nics': [{'mac': '52:54:00:00:00:01'}]}, with its own uuid",
  default: null,
  form: 'literal',
  doc: 'The machines in memory.',
} satisfies SettingDefinition<readonly FakeSystem[] | null>;

const fakeMachines = optionalPath({
  name: 'EMULATOR_FAKE_MACHINES',
  default: null,
  flag: '--fake-machines',
  doc: 'YAML or JSON file with the machines in memory, their delays and failures.',
});

const notificationUrl = {
  name: 'EMULATOR_EXTERNAL_NOTIFICATION_URL',
  type: z.url({ protocol: /^https?$/ }),
  expected: 'an http or https URL (a string)',
  default: 'http://localhost:9999',
  form: 'text',
  doc: 'URL to which the daemon sends changes of fake systems.',
} satisfies SettingDefinition<string>;

const notificationCaFile = optionalPath({
  name: 'EMULATOR_EXTERNAL_NOTIFICATION_CAFILE',
  default: null,
  doc: 'PEM file with the CA certificates for `EMULATOR_EXTERNAL_NOTIFICATION_URL`.',
});

const notificationCertFile = optionalPath({
  name: 'EMULATOR_EXTERNAL_NOTIFICATION_CERTFILE',
  default: null,
  doc: 'PEM file with a client certificate for `EMULATOR_EXTERNAL_NOTIFICATION_URL`. It needs the key.',
});

const notificationKeyFile = optionalPath({
  name: 'EMULATOR_EXTERNAL_NOTIFICATION_KEYFILE',
  default: null,
  doc: 'PEM file with the key of `EMULATOR_EXTERNAL_NOTIFICATION_CERTFILE`.',
});

/** The settings, in the order of the page of the configuration. */
export const fakeSystemSettings = {
  fakeSystems,
  fakeMachines,
  notificationUrl,
  notificationCaFile,
  notificationCertFile,
  notificationKeyFile,
};
