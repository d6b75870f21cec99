/**
 * The one table of settings: name, type, default and meaning. Everything about a setting follows from its row: how a file, the
 * environment and a flag give it, `bmc-daemon check`, and docs/reference/bmc-daemon-configuration.md.
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

/** Redfish's boot modes, as the map of boot loaders and BootSourceOverrideMode spell them. */
const bootModes = ['UEFI', 'Legacy'] as const;
type BootMode = (typeof bootModes)[number];

/** Mode to architecture (libvirt's name: `x86_64`) to an absolute firmware path; null: libvirt selects the firmware. */
export type BootLoaderMap = Readonly<Partial<Record<BootMode, Readonly<Record<string, string | null>>>>>;

/** What is served: everything; Systems, Managers and virtual media; Systems alone. As in sushy-tools. */
export const featureSets = ['full', 'vmedia', 'minimum'] as const;
const logLevels = ['error', 'warn', 'info', 'debug'] as const;
const logFormats = ['auto', 'json', 'text'] as const;

/** The table, in the order of the documentation: first the nine settings of the specification. */
export const settingsTable = {
  listenIp: text({
    name: 'EMULATOR_LISTEN_IP',
    default: '0.0.0.0',
    flag: '-i, --interface',
    group: 'spec',
    doc: "Address to listen at. `'0.0.0.0'` and `''`: every IPv4 address; `'::'`: every IPv6 and IPv4 address.",
  }),
  listenPort: integer(0, 65_535, {
    name: 'EMULATOR_LISTEN_PORT',
    default: 8000,
    flag: '-p, --port',
    group: 'spec',
    doc: 'TCP port to listen at. 0: any free port, which the log names.',
  }),
  sslCert: optionalPath({
    name: 'EMULATOR_SSL_CERT',
    default: null,
    flag: '--ssl-certificate',
    group: 'spec',
    doc: 'PEM file with the certificate and its chain. With `EMULATOR_SSL_KEY` the daemon speaks HTTPS (TLS 1.2 and up) instead of HTTP; one without the other does not start. An empty string is None, with a warning: HTTP. Read again on SIGHUP.',
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
    doc: 'Name of an OpenStack cloud. There is no OpenStack backend yet: a start with it set stops.',
  }),
  libvirtUri: requiredText({
    name: 'EMULATOR_LIBVIRT_URI',
    default: 'qemu:///system',
    flag: '--libvirt-uri',
    group: 'spec',
    doc: 'The libvirt host whose machines are served: `qemu:///system`, `qemu:///session`, `qemu:///system?socket=/path`. A host that is down when the daemon starts is waited for.',
  }),
  authFile: {
    name: 'EMULATOR_AUTH_FILE',
    // Not even an empty string opens the door: who wants it open says None.
    type: z.string().min(1).nullable(),
    expected: 'a path (a string) or None',
    form: 'text',
    path: true,
    default: null,
    group: 'spec',
    doc: 'Password file in the htpasswd format with bcrypt hashes (`bmc-daemon htpasswd FILE USER`, or `htpasswd -B`). Without it everybody may do everything. Read again when it changes.',
  } satisfies SettingDefinition<string | null>,
  ignoreBootDevice: boolean({
    name: 'EMULATOR_IGNORE_BOOT_DEVICE',
    default: false,
    group: 'spec',
    doc: "True: a change of the boot target is answered with the unchanged resource and the order is left to the machine's firmware.",
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
    doc: "Firmware for a change of the boot mode: mode (`UEFI`, `Legacy`) to architecture (`x86_64`, `aarch64`) to a firmware file. None: libvirt selects the firmware, which works wherever the distribution's firmware package is installed. A file that does not exist is warned of at the start and is an error, with architecture and path, when it is needed.",
  } satisfies SettingDefinition<BootLoaderMap>,

  consoleSshPort: {
    name: 'EMULATOR_CONSOLE_SSH_PORT',
    type: z.union([z.int().min(0).max(65_535), z.literal('auto'), z.null()]),
    expected: "an integer from 0 to 65535, 'auto' or None",
    default: 'auto',
    form: 'literal',
    group: 'listen',
    doc: "TCP port at which the machines' serial consoles are served over SSH ([console.md](../guides/consoles.md)). `'auto'`: 2222 where `EMULATOR_AUTH_FILE` is set and the port is free, else none. 0: any free port, which the log names. None: no SSH.",
  } satisfies SettingDefinition<number | 'auto' | null>,

  shutdownWaitSeconds: number(0, 3600, {
    name: 'EMULATOR_SHUTDOWN_WAIT_SECONDS',
    default: 5,
    group: 'listen',
    doc: 'How long requests that are under way may go on after SIGTERM or SIGINT.',
  }),
  dmtfStrict: boolean({
    name: 'EMULATOR_DMTF_STRICT',
    default: false,
    flag: '--dmtf-strict',
    group: 'listen',
    doc: "True: answers are what DMTF's validators want, without what DMTF calls deprecated and no client needs, and with links to the newer of two addresses ([conformance.md](conformance.md)); the older one answers all the same. False: also `@Redfish.Copyright` in every resource, `HealthRollUp`, `Severity` in the messages of registries, and of a Manager a null `ServiceEntryPointUUID` and an empty `ManagerForChassis`.",
  }),
  featureSet: oneOf(featureSets, {
    name: 'EMULATOR_FEATURE_SET',
    default: 'full',
    flag: '--feature-set',
    group: 'listen',
    doc: '`full`: everything; `vmedia`: Systems with boot settings, Managers, virtual media and Ethernet interfaces; `minimum`: Systems with boot settings alone.',
  }),
  taskAfterSeconds: number(0, 600, {
    name: 'EMULATOR_TASK_AFTER_SECONDS',
    default: 8,
    group: 'listen',
    doc: 'How long InsertMedia and other long actions are waited for before the answer is 202 with a Task. Many clients give up after 10 seconds.',
  }),
  ssdp: boolean({
    name: 'EMULATOR_SSDP',
    default: false,
    group: 'listen',
    doc: 'True: the service lets itself be found by SSDP (multicast, UDP port 1900), [discovery.md](../guides/discovery.md). A client that is allowed to may switch it on and off over Redfish; what was said last holds, the setting or the client.',
  }),
  consoleLog: boolean({
    name: 'EMULATOR_CONSOLE_LOG',
    default: true,
    group: 'listen',
    doc: 'True: what the serial ports of the machines print is recorded, the last boots of each, and can be read as a log ([console.md](../guides/consoles.md)). **A serial port has room for one**: while the daemon records, `virsh console NAME` is refused; `virsh console --force NAME` takes the port, and the daemon waits until it is free again. False: nothing is recorded, and a port is connected only while somebody is there over SSH.',
  }),
  stateDir: optionalPath({
    name: 'EMULATOR_STATE_DIR',
    default: null,
    group: 'listen',
    doc: "Folder for what belongs to the service and to no machine. None: systemd's `$STATE_DIRECTORY`, else `/var/lib/bmc-daemon` for root and `~/.local/state/bmc-daemon` for other users. One daemon at a time uses it; another one waits 10 s, then ends with exit code 1.",
  }),

  fakeDriver: boolean({
    name: 'EMULATOR_FAKE_DRIVER',
    default: false,
    flag: '--fake',
    group: 'backend',
    doc: 'True: a few made-up machines in memory instead of libvirt, for a first look, or those of `EMULATOR_FAKE_SYSTEMS`.',
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
    doc: 'Name of an OpenStack cloud for an Ironic backend. There is none yet: a start with it set stops.',
  }),
  allowedInstances: {
    name: 'EMULATOR_ALLOWED_INSTANCES',
    type: z.array(z.string().min(1)).nullable(),
    expected: 'a list of UUIDs or names (strings), or None',
    expectedPart: 'a UUID or a name (a string)',
    default: null,
    form: 'literal',
    group: 'backend',
    doc: 'UUIDs or names of the machines to serve; all others are as if they did not exist. None: every machine.',
  } satisfies SettingDefinition<string[] | null>,
  secureBootEnabledNvram: optionalPath({
    name: 'EMULATOR_SECURE_BOOT_ENABLED_NVRAM',
    default: null,
    group: 'backend',
    doc: "Master copy of UEFI variables with Secure Boot's keys in them, for firmware that `EMULATOR_BOOT_LOADER_MAP` or a machine's definition names. None: the one that the host's firmware descriptors name for it; where there is none, libvirt selects firmware and variables.",
  }),
  secureBootDisabledNvram: optionalPath({
    name: 'EMULATOR_SECURE_BOOT_DISABLED_NVRAM',
    default: null,
    group: 'backend',
    doc: 'The same without keys, for Secure Boot switched off and for a change to UEFI.',
  }),
  disablePowerOff: boolean({
    name: 'EMULATOR_DISABLE_POWER_OFF',
    default: false,
    group: 'backend',
    doc: 'True: what would switch a machine off is refused: ForceOff, GracefulShutdown, Suspend, and PushPowerButton where it runs.',
  }),
  gracefulRestartWaitSeconds: number(0, 86_400, {
    name: 'EMULATOR_GRACEFUL_RESTART_WAIT_SECONDS',
    default: 60,
    group: 'backend',
    doc: 'How long GracefulRestart waits for the guest to shut down before the machine is restarted the hard way.',
  }),
  libvirtTimeoutSeconds: number(0.1, 600, {
    name: 'EMULATOR_LIBVIRT_TIMEOUT_SECONDS',
    default: 4,
    group: 'backend',
    doc: 'How long a read may wait for libvirt before the answer is 503 with Retry-After.',
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
    doc: "libvirt storage pool that images and new volumes are put into. None: a directory pool of the daemon's own.",
  }),

  vmediaDevices,
  vmediaVerifySsl: boolean({
    name: 'EMULATOR_VMEDIA_VERIFY_SSL',
    default: false,
    group: 'media',
    doc: "Whether an image server's certificate is verified, for every drive whose `VerifyCertificate` nobody has set. False is sushy-tools' default and the one that Redfish recommends for old clients.",
  }),
  vmediaCaFile: optionalPath({
    name: 'EMULATOR_VMEDIA_CA_FILE',
    default: null,
    group: 'media',
    doc: "PEM file with certificate authorities of image servers, trusted beside Node's own list.",
  }),
  vmediaAllowedHosts,
  virtualMediaIpFamily,
  vmediaMaxImageGib: number(0.001, 65_536, {
    name: 'EMULATOR_VMEDIA_MAX_IMAGE_GIB',
    default: 64,
    group: 'media',
    doc: 'Larger images are refused.',
  }),
  vmediaConnectTimeoutSeconds: number(0.1, 600, {
    name: 'EMULATOR_VMEDIA_CONNECT_TIMEOUT_SECONDS',
    default: 10,
    group: 'media',
    doc: 'How long an image server may take until it is connected, its name resolved and TLS agreed on.',
  }),
  vmediaAnswerTimeoutSeconds: number(0.1, 3600, {
    name: 'EMULATOR_VMEDIA_ANSWER_TIMEOUT_SECONDS',
    default: 60,
    group: 'media',
    doc: "The whole time from the request for an image to the complete header of the server's last answer. Connecting, redirects and 1xx answers count.",
  }),
  vmediaIdleTimeoutSeconds: number(0.1, 3600, {
    name: 'EMULATOR_VMEDIA_IDLE_TIMEOUT_SECONDS',
    default: 30,
    group: 'media',
    doc: 'The longest silence of an image server before and during a download. A server that sends less than 1000 bytes per second on average over this time counts as silent.',
  }),
  vmediaDownloadTimeoutSeconds: number(1, 604_800, {
    name: 'EMULATOR_VMEDIA_DOWNLOAD_TIMEOUT_SECONDS',
    default: 21_600,
    group: 'media',
    doc: 'The whole time that an image may take to arrive. Power-on waits meanwhile; an eject cancels. With the default of six hours, 10 GiB need a link of 4 Mbit/s.',
  }),

  logLevel: oneOf(logLevels, {
    name: 'EMULATOR_LOG_LEVEL',
    default: 'info',
    flag: '--debug',
    group: 'log',
    doc: 'Least level that is logged. `--debug` is `debug`.',
  }),
  logFormat: oneOf(logFormats, {
    name: 'EMULATOR_LOG_FORMAT',
    default: 'auto',
    group: 'log',
    doc: '`auto`: text for people on a terminal, one JSON object a line elsewhere.',
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
 * Names of sushy-tools' configuration that are accepted and do nothing yet, without the prefix, and what they belong to.
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

/** Where service state is kept when EMULATOR_STATE_DIR is None. @param uid 0 for root; undefined where there are no users. */
export function defaultStateDir(
  environment: Readonly<Record<string, string | undefined>>,
  uid: number | undefined,
): string {
  // systemd gives a list, separated by colons; ours is its first.
  const [systemd] = (environment['STATE_DIRECTORY'] ?? '').split(':');
  if (systemd !== undefined && systemd !== '') return systemd;
  const { XDG_STATE_HOME: state, HOME: home } = environment;
  if (uid === 0 || (state === undefined && home === undefined)) return '/var/lib/bmc-daemon';
  return `${state ?? `${home ?? ''}/.local/state`}/bmc-daemon`;
}
