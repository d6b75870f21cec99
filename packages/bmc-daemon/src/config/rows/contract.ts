/** The settings that the contract requires: address, TLS, OpenStack cloud, libvirt, passwords and boot. */
import { z } from 'zod';
import type { LibvirtUris } from '../../drivers/libvirt/host-list.js';
import { boolean, integer, optionalPath, optionalText, text, type SettingDefinition } from './row.js';

/** Redfish's boot modes, in the spelling of the boot loader map and of BootSourceOverrideMode. */
const bootModes = ['UEFI', 'Legacy'] as const;

/**
 * Maps the boot mode and the architecture (libvirt's name: `x86_64`) to an absolute firmware path;
 * null: libvirt selects the firmware.
 */
export type BootLoaderMap = Readonly<
  Partial<Record<(typeof bootModes)[number], Readonly<Record<string, string | null>>>>
>;

/** Returns the members of a list or a mapping with their paths; for another value, the value with an empty path. */
function partsOf(value: unknown): readonly (readonly [path: (string | number)[], part: unknown])[] {
  if (Array.isArray(value)) return value.map((part: unknown, index) => [[index], part]);
  if (typeof value !== 'object' || value === null) return [[[], value]];
  return Object.entries(value).map(([key, part]) => [[key], part]);
}

/** The settings, in the order of the page of the configuration. */
export const contractSettings = {
  listenIp: text({
    name: 'EMULATOR_LISTEN_IP',
    default: '0.0.0.0',
    flag: '-i, --interface',
    doc: 'Address on which the daemon listens.',
  }),
  listenPort: integer(0, 65_535, {
    name: 'EMULATOR_LISTEN_PORT',
    default: 8000,
    flag: '-p, --port',
    doc: 'TCP port. 0: any free port, which the log names.',
  }),
  sslCert: optionalPath({
    name: 'EMULATOR_SSL_CERT',
    default: null,
    flag: '--ssl-certificate',
    doc: 'PEM file with the certificate for HTTPS and its chain.',
  }),
  sslKey: optionalPath({
    name: 'EMULATOR_SSL_KEY',
    default: null,
    flag: '--ssl-key',
    doc: 'PEM file with the private key of `EMULATOR_SSL_CERT`, without a passphrase.',
  }),
  osCloud: optionalText({
    name: 'EMULATOR_OS_CLOUD',
    default: null,
    flag: '--os-cloud',
    doc: 'Name of an OpenStack cloud, whose servers are served instead of the machines of libvirt.',
  }),
  libvirtUri: {
    name: 'EMULATOR_LIBVIRT_URI',
    type: z.unknown().superRefine((value, context) => {
      for (const [key, uri] of partsOf(value)) {
        if (typeof uri !== 'string' || uri === '') context.addIssue({ code: 'custom', path: key, input: uri });
      }
      // The check above accepts only a string, and lists and mappings of strings.
    }) as z.ZodType<LibvirtUris>,
    expected: "a string that is not empty, a list of such strings, or a mapping such as {'rack-1': 'qemu+ssh://…'}",
    expectedPart: 'a connection URI (a string that is not empty)',
    default: 'qemu:///system',
    flag: '--libvirt-uri',
    form: 'mixed',
    doc: 'Connection URI of the libvirt host; a list or a mapping for several hosts.',
  } satisfies SettingDefinition<LibvirtUris>,
  authFile: {
    name: 'EMULATOR_AUTH_FILE',
    // Only `None` disables authentication; an empty string is a fault.
    type: z.string().min(1).nullable(),
    expected: 'a path (a string) or None',
    form: 'text',
    path: true,
    default: null,
    doc: 'Password file in the htpasswd format with bcrypt hashes.',
  } satisfies SettingDefinition<string | null>,
  ignoreBootDevice: boolean({
    name: 'EMULATOR_IGNORE_BOOT_DEVICE',
    default: false,
    doc: 'Whether the daemon ignores changes of the boot target.',
  }),
  bootLoaderMap: {
    name: 'EMULATOR_BOOT_LOADER_MAP',
    type: z.partialRecord(z.enum(bootModes), z.record(z.string(), z.string().min(1).nullable())),
    expected: "a mapping such as {'UEFI': {'x86_64': '/path' or None}, 'Legacy': {'x86_64': None}}",
    expectedPart: 'a path (a string) or None',
    default: { UEFI: { x86_64: null, aarch64: null }, Legacy: { x86_64: null, aarch64: null } },
    form: 'literal',
    path: true,
    keys: bootModes,
    doc: 'Firmware files that the daemon sets when a client changes the boot mode.',
  } satisfies SettingDefinition<BootLoaderMap>,
};
