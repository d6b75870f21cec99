/**
 * The table of settings: name, type, default and description. The file, the environment, flags,
 * `bmc-daemon check` and docs/reference/bmc-daemon-configuration.md are all derived from its rows.
 */
import { z } from 'zod';
import {
  fakeSystems,
  notificationCaFile,
  notificationCertFile,
  notificationKeyFile,
  notificationUrl,
} from './fake-settings.js';
import { virtualMediaIpFamily, vmediaAllowedHosts, vmediaDevices } from './media-settings.js';
import { chassis, drives, indicatorLeds, storage, volumes } from './inventory-settings.js';
import {
  text,
  requiredText,
  optionalText,
  optionalPath,
  boolean,
  integer,
  number,
  oneOf,
  type SettingDefinition,
} from './setting-types.js';

export type { SettingDefinition } from './setting-types.js';

/** Redfish's boot modes, in the spelling of the boot loader map and of BootSourceOverrideMode. */
const bootModes = ['UEFI', 'Legacy'] as const;
type BootMode = (typeof bootModes)[number];

/**
 * Maps the boot mode and the architecture (libvirt's name: `x86_64`) to an absolute firmware path;
 * null: libvirt selects the firmware.
 */
export type BootLoaderMap = Readonly<Partial<Record<BootMode, Readonly<Record<string, string | null>>>>>;

/**
 * The served resources: all; Systems, Managers and virtual media; Systems only. As in sushy-tools.
 */
export const featureSets = ['full', 'vmedia', 'minimum'] as const;
const logLevels = ['error', 'warn', 'info', 'debug'] as const;
const logFormats = ['auto', 'json', 'text'] as const;

/** The table, in the order of the documentation: first the nine settings of the contract. */
export const settingsTable = {
  listenIp: text({
    name: 'EMULATOR_LISTEN_IP',
    default: '0.0.0.0',
    flag: '-i, --interface',
    group: 'spec',
    doc: 'Address on which the daemon listens.',
  }),
  listenPort: integer(0, 65_535, {
    name: 'EMULATOR_LISTEN_PORT',
    default: 8000,
    flag: '-p, --port',
    group: 'spec',
    doc: 'TCP port. 0: any free port, which the log names.',
  }),
  sslCert: optionalPath({
    name: 'EMULATOR_SSL_CERT',
    default: null,
    flag: '--ssl-certificate',
    group: 'spec',
    doc: 'PEM file with the certificate and its chain.',
  }),
  sslKey: optionalPath({
    name: 'EMULATOR_SSL_KEY',
    default: null,
    flag: '--ssl-key',
    group: 'spec',
    doc: 'PEM file with the private key of `EMULATOR_SSL_CERT`, without a passphrase.',
  }),
  osCloud: optionalText({
    name: 'EMULATOR_OS_CLOUD',
    default: null,
    flag: '--os-cloud',
    group: 'spec',
    doc: 'Name of an OpenStack cloud.',
  }),
  libvirtUri: requiredText({
    name: 'EMULATOR_LIBVIRT_URI',
    default: 'qemu:///system',
    flag: '--libvirt-uri',
    group: 'spec',
    doc: 'The libvirt host whose machines are served.',
  }),
  authFile: {
    name: 'EMULATOR_AUTH_FILE',
    // An empty string must not disable authentication. None does.
    type: z.string().min(1).nullable(),
    expected: 'a path (a string) or None',
    form: 'text',
    path: true,
    default: null,
    group: 'spec',
    doc: 'Password file in the htpasswd format with bcrypt hashes.',
  } satisfies SettingDefinition<string | null>,
  ignoreBootDevice: boolean({
    name: 'EMULATOR_IGNORE_BOOT_DEVICE',
    default: false,
    group: 'spec',
    doc: 'Whether a change of the boot target has no effect.',
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
    group: 'spec',
    doc: 'Firmware for a change of the boot mode.',
  } satisfies SettingDefinition<BootLoaderMap>,

  consoleSshPort: {
    name: 'EMULATOR_CONSOLE_SSH_PORT',
    type: z.union([z.int().min(0).max(65_535), z.literal('auto'), z.null()]),
    expected: "an integer from 0 to 65535, 'auto' or None",
    default: 'auto',
    form: 'literal',
    group: 'listen',
    doc: 'TCP port of the serial consoles over SSH.',
  } satisfies SettingDefinition<number | 'auto' | null>,

  shutdownWaitSeconds: number(0, 3600, {
    name: 'EMULATOR_SHUTDOWN_WAIT_SECONDS',
    default: 5,
    group: 'listen',
    doc: 'Time for running requests after SIGTERM or SIGINT.',
  }),
  dmtfStrict: boolean({
    name: 'EMULATOR_DMTF_STRICT',
    default: false,
    flag: '--dmtf-strict',
    group: 'listen',
    doc: "Whether answers follow DMTF's validators instead of the contract.",
  }),
  featureSet: oneOf(featureSets, {
    name: 'EMULATOR_FEATURE_SET',
    default: 'full',
    flag: '--feature-set',
    group: 'listen',
    doc: 'Which resources are served.',
  }),
  taskAfterSeconds: number(0, 600, {
    name: 'EMULATOR_TASK_AFTER_SECONDS',
    default: 8,
    group: 'listen',
    doc: 'Time after which a long action becomes a task.',
  }),
  ssdp: boolean({
    name: 'EMULATOR_SSDP',
    default: false,
    group: 'listen',
    doc: 'Whether clients can find the service by SSDP.',
  }),
  consoleLog: boolean({
    name: 'EMULATOR_CONSOLE_LOG',
    default: true,
    group: 'listen',
    doc: 'Whether the daemon records the output of serial ports.',
  }),
  stateDir: optionalPath({
    name: 'EMULATOR_STATE_DIR',
    default: null,
    group: 'listen',
    doc: 'Folder for the state of the service.',
  }),

  fakeDriver: boolean({
    name: 'EMULATOR_FAKE_DRIVER',
    default: false,
    flag: '--fake',
    group: 'backend',
    doc: 'Machines in memory instead of libvirt: samples, or those of `EMULATOR_FAKE_SYSTEMS`.',
  }),
  fakeSystems,
  notificationUrl,
  notificationCaFile,
  notificationCertFile,
  notificationKeyFile,
  ironicCloud: optionalText({
    name: 'EMULATOR_IRONIC_CLOUD',
    default: null,
    flag: '--ironic-cloud',
    group: 'backend',
    doc: 'Name of an OpenStack cloud for an Ironic backend.',
  }),
  allowedInstances: {
    name: 'EMULATOR_ALLOWED_INSTANCES',
    type: z.array(z.string().min(1)).nullable(),
    expected: 'a list of UUIDs or names (strings), or None',
    expectedPart: 'a UUID or a name (a string)',
    default: null,
    form: 'literal',
    group: 'backend',
    doc: 'UUIDs or names of the machines to serve.',
  } satisfies SettingDefinition<string[] | null>,
  secureBootEnabledNvram: optionalPath({
    name: 'EMULATOR_SECURE_BOOT_ENABLED_NVRAM',
    default: null,
    group: 'backend',
    doc: "Template of UEFI variables with Secure Boot's keys.",
  }),
  secureBootDisabledNvram: optionalPath({
    name: 'EMULATOR_SECURE_BOOT_DISABLED_NVRAM',
    default: null,
    group: 'backend',
    doc: "Template of UEFI variables without Secure Boot's keys.",
  }),
  disablePowerOff: boolean({
    name: 'EMULATOR_DISABLE_POWER_OFF',
    default: false,
    group: 'backend',
    doc: 'Whether the daemon rejects actions that switch a machine off.',
  }),
  gracefulRestartWaitSeconds: number(0, 86_400, {
    name: 'EMULATOR_GRACEFUL_RESTART_WAIT_SECONDS',
    default: 60,
    group: 'backend',
    doc: 'Time for the guest to shut down in a GracefulRestart.',
  }),
  libvirtTimeoutSeconds: number(0.1, 600, {
    name: 'EMULATOR_LIBVIRT_TIMEOUT_SECONDS',
    default: 4,
    group: 'backend',
    doc: 'How long a read waits for libvirt.',
  }),

  chassis,
  indicatorLeds,
  storage,
  drives,
  volumes,
  storagePool: optionalText({
    name: 'EMULATOR_STORAGE_POOL',
    default: null,
    group: 'inventory',
    doc: 'libvirt storage pool for images and new volumes.',
  }),

  vmediaDevices,
  vmediaVerifySsl: boolean({
    name: 'EMULATOR_VMEDIA_VERIFY_SSL',
    default: false,
    group: 'media',
    doc: "Whether the daemon verifies an image server's certificate.",
  }),
  vmediaCaFile: optionalPath({
    name: 'EMULATOR_VMEDIA_CA_FILE',
    default: null,
    group: 'media',
    doc: "PEM file with authorities of image servers, in addition to Node's list.",
  }),
  vmediaAllowedHosts,
  virtualMediaIpFamily,
  vmediaMaxImageGib: number(0.001, 65_536, {
    name: 'EMULATOR_VMEDIA_MAX_IMAGE_GIB',
    default: 64,
    group: 'media',
    doc: 'The daemon rejects larger images.',
  }),
  vmediaConnectTimeoutSeconds: number(0.1, 600, {
    name: 'EMULATOR_VMEDIA_CONNECT_TIMEOUT_SECONDS',
    default: 10,
    group: 'media',
    doc: 'Time limit for a connection to an image server.',
  }),
  vmediaAnswerTimeoutSeconds: number(0.1, 3600, {
    name: 'EMULATOR_VMEDIA_ANSWER_TIMEOUT_SECONDS',
    default: 60,
    group: 'media',
    doc: 'Time limit until an image server answers.',
  }),
  vmediaIdleTimeoutSeconds: number(0.1, 3600, {
    name: 'EMULATOR_VMEDIA_IDLE_TIMEOUT_SECONDS',
    default: 30,
    group: 'media',
    doc: 'The longest silence of an image server.',
  }),
  vmediaDownloadTimeoutSeconds: number(1, 604_800, {
    name: 'EMULATOR_VMEDIA_DOWNLOAD_TIMEOUT_SECONDS',
    default: 21_600,
    group: 'media',
    doc: 'Time limit for a whole download.',
  }),

  logLevel: oneOf(logLevels, {
    name: 'EMULATOR_LOG_LEVEL',
    default: 'info',
    flag: '--debug',
    group: 'log',
    doc: 'Lowest level that is logged. `--debug` means `debug`.',
  }),
  logFormat: oneOf(logFormats, {
    name: 'EMULATOR_LOG_FORMAT',
    default: 'auto',
    group: 'log',
    doc: '`auto`: text on a terminal, otherwise one JSON object per line.',
  }),
};

export type SettingKey = keyof typeof settingsTable;

/** The effective settings: plain, typed, with absolute paths. */
export type Settings = {
  readonly [Key in SettingKey]: (typeof settingsTable)[Key] extends { readonly type: z.ZodType<infer T> } ? T : never;
};

/** Every key of the table, in its order. */
export const settingKeys = Object.keys(settingsTable) as SettingKey[]; // Object.keys gives string[]; the table is a literal

/**
 * Names of sushy-tools' configuration, without the prefix, that are accepted without an effect, and
 * their feature.
 * @see https://docs.openstack.org/sushy-tools/latest/admin/index.html
 */
export const recognisedNames: Readonly<Record<string, string>> = {
  FAKE_IPA: 'nothing: sushy-tools does not read it; `external_notifier` of a fake system tells a fake agent',
  NO_MEMOIZE: "a switch for sushy-tools' caches",
  OS_RESCUE_PXE_BOOT: 'the OpenStack backend',
  OS_RESCUE_PXE_IMAGE_BIOS: 'the OpenStack backend',
  OS_RESCUE_PXE_IMAGE_UEFI: 'the OpenStack backend',
  OS_VMEDIA_BLANK_IMAGE: 'the OpenStack backend',
  OS_VMEDIA_DELAY_EJECT: 'the OpenStack backend',
  OS_VMEDIA_DISK_FORMAT_OVERRIDE: 'the OpenStack backend',
  OS_VMEDIA_IMAGE_FILE_UPLOAD: 'the OpenStack backend',
  OS_VMEDIA_RESCUE_BUS: 'the OpenStack backend',
  OS_VMEDIA_RESCUE_DEVICE: 'the OpenStack backend',
  OS_VMEDIA_USE_RESCUE: 'the OpenStack backend',
};

/**
 * Returns the default of EMULATOR_STATE_DIR.
 * @param uid 0 for root; undefined on systems without users.
 */
export function defaultStateDir(
  environment: Readonly<Record<string, string | undefined>>,
  uid: number | undefined,
): string {
  // systemd sets a list with colons. The first entry is the state folder.
  const [systemd] = (environment['STATE_DIRECTORY'] ?? '').split(':');
  if (systemd !== undefined && systemd !== '') return systemd;
  const { XDG_STATE_HOME: state, HOME: home } = environment;
  if (uid === 0 || (state === undefined && home === undefined)) return '/var/lib/bmc-daemon';
  return `${state ?? `${home ?? ''}/.local/state`}/bmc-daemon`;
}
