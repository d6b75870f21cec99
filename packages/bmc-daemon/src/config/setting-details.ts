/**
 * Sentences for docs/reference/bmc-daemon-configuration.md. The daemon itself does not load this
 * file.
 */
import type { SettingKey } from './settings.js';

/**
 * Sentences about a setting that do not fit into its row of the table. Each becomes an item of a
 * list.
 */
export const settingDetails: Readonly<Partial<Record<SettingKey, readonly string[]>>> = {
  listenIp: ["`'0.0.0.0'` and `''`: every IPv4 address.", "`'::'`: every IPv6 and IPv4 address."],
  sslCert: [
    'With this setting and `EMULATOR_SSL_KEY`, the daemon serves HTTPS (TLS 1.2 or newer) instead of HTTP.',
    'One of the two settings without the other prevents the start.',
    'An empty string means None. In the file and in a flag, it causes a warning.',
    'SIGHUP reloads the file.',
  ],
  osCloud: [
    'The name is that of an entry in `clouds.yaml`, or `envvars` for a cloud of `OS_*` variables.',
    'With wrong credentials, the daemon does not start. The message names the file and the line.',
    'If the cloud is down, the daemon waits for it, and clients get 503.',
    'If `EMULATOR_LIBVIRT_URI` is also set, the daemon does not start.',
    '[OpenStack](../guides/openstack.md) has the details.',
  ],
  osFilter: [
    'The keys are `tags`, `metadata`, `name` and `flavor`. A server must meet all conditions.',
    'In `name`, `*` stands for any text.',
    'A tag or metadata item that changes takes effect within five minutes, or when a client reads the server.',
  ],
  osArchitecture: ['Nova does not report the architecture of a server, and Ironic cannot inspect a node without it.'],
  osTimeoutSeconds: [
    'The time includes a new token and all retries.',
    'After this time, the client gets 503 with `Retry-After`.',
    'A listing has this time for each page of 1,000 servers.',
  ],
  osVmediaRescueBus: [
    'The daemon stores this value as the property `hw_rescue_bus` of the image, and Nova uses this bus.',
    "`'sata'` fits all machine types of x86. `'ide'` does not exist on machines of the type q35.",
  ],
  osVmediaImageFileUpload: [
    'With True, the limits of the settings `EMULATOR_VMEDIA_*` apply.',
    'With False, Glance uses its import method `web-download`, and only the rules of Glance apply.',
    'If an insert has a user name or a password for the image server, the daemon always fetches the image itself.',
  ],
  osIpxeImage: [
    'The image is an ISO image of iPXE with the properties `hw_rescue_device=cdrom` and `hw_rescue_bus`.',
    'If Glance has no such image, the daemon logs a warning at the start. A boot from the network then gets 409.',
    '[Boot from the network](../guides/openstack.md#boot-from-the-network) shows how to upload it.',
  ],
  libvirtUri: [
    'Examples: `qemu:///system`, `qemu:///session`, `qemu:///system?socket=/path`, `qemu+ssh://root@host/system`, `qemu+tls://host/system`.',
    'The path of a URI for QEMU is `/system` or `/session`. The daemon does not start with another path.',
    '[Libvirt on another host](../guides/libvirt-hosts.md#libvirt-on-another-host) lists what differs there.',
    'If libvirt is not reachable at the start, the daemon starts and waits for it.',
    "A list serves several hosts: `['qemu+ssh://root@kvm-1/system', 'qemu+ssh://root@kvm-2/system']`. " +
      'Each host has the name that its URI contains.',
    "A mapping gives them other names: `{'rack-1': 'qemu+ssh://root@192.0.2.1/system', 'rack-2': …}`.",
    'A flag or an environment variable contains a list or a mapping in the same form.',
    'SIGHUP adds and removes hosts of a list or a mapping. ' +
      '[Several hosts](../guides/several-hosts.md) has the details.',
  ],
  authFile: [
    '`bmc-daemon htpasswd FILE USER` creates the file; so does `htpasswd -B` of Apache.',
    'None: every client has the rights of an Administrator, without a login, and Redfish has no accounts.',
    'The daemon reloads the file when it changes. See [the password file](#the-password-file).',
  ],
  ignoreBootDevice: [
    "True: a PATCH of the boot target changes nothing, and the answer shows the unchanged resource. The machine's own boot order does not change.",
  ],
  bootLoaderMap: [
    'The outer keys are boot modes: `UEFI`, `Legacy`. The inner keys are architectures: `x86_64`, `aarch64`.',
    'A path: the firmware file for this mode and architecture.',
    "None: libvirt selects the firmware. This needs the distribution's firmware package.",
    'A file that does not exist causes a warning at the start. A change to its boot mode then fails, and the error names the file.',
  ],
  consoleSshPort: [
    "`'auto'`: port 2222 if `EMULATOR_AUTH_FILE` is set and the port is free. Otherwise the daemon does not offer SSH.",
    '0: any free port. The log names it.',
    'None: no SSH.',
    '[Consoles](../guides/consoles.md) describes how to connect.',
  ],
  dmtfStrict: [
    "True: the answers pass DMTF's validators ([conformance](conformance.md)). Use this with clients that validate answers.",
    'False: the answers also have properties that the validators reject. The [contract](contract.md) requires ' +
      '`@Redfish.Copyright` in each resource, `HealthRollUp`, and in managers a null `ServiceEntryPointUUID` and ' +
      'an empty `ManagerForChassis`. For sushy 4, the messages of registries also have `Severity`.',
    'With True, the answers have no deprecated properties that no client needs. ' +
      'If a resource has an old and a new URI, the answers link to the new one. The old URI still answers.',
  ],
  featureSet: [
    "`'full'`: all resources.",
    "`'vmedia'`: those of `'minimum'`, managers, virtual media, certificates and Ethernet interfaces.",
    "`'minimum'`: systems with boot settings, tasks, sessions and accounts.",
  ],
  taskAfterSeconds: [
    'If an action such as InsertMedia takes longer than this, the daemon answers 202 with a task, and the action continues.',
    'Many clients stop waiting after 10 seconds.',
  ],
  ssdp: [
    'SSDP uses multicast on UDP port 1900. See [discovery](../guides/discovery.md).',
    'A client with the privilege `ConfigureManager` can also switch SSDP on and off over Redfish. ' +
      'This replaces the setting, also after a restart, until the value of the setting changes.',
  ],
  consoleLog: [
    'True: the daemon records the serial ports of running machines. ' +
      'Clients can read the output of the last boots as a log ([consoles](../guides/consoles.md)).',
    'False: the daemon connects to a serial port only while a client uses its console. ' +
      "With another `EMULATOR_FEATURE_SET` than `'full'`, the same applies to True. " +
      'With such a feature set, an explicit True causes a warning.',
    '**A serial port has only one connection.** While the daemon records, `virsh console NAME` fails. ' +
      '`virsh console --force NAME` disconnects the daemon, which continues when the port is free again.',
  ],
  sharedStore: [
    'Example: `redis://user:password@redis.example:6379/0`. `rediss:` uses TLS.',
    'Each service needs its own database: the number at the end of the URL.',
    'If Redis does not answer at the start, the daemon does not start.',
    '[Several daemons for one cloud](../guides/replicas.md) describes what the daemons share.',
  ],
  stateDir: [
    "None: systemd's `$STATE_DIRECTORY`. Without systemd: `/var/lib/bmc-daemon` for root, `~/.local/state/bmc-daemon` for other users.",
    'Only one daemon can use a folder. A second daemon waits 10 s, then ends with exit code 1.',
  ],
  fakeSystems: [
    'The setting has an effect only with `EMULATOR_FAKE_DRIVER` or `--fake`.',
    'None: the machines of `EMULATOR_FAKE_MACHINES`, or three sample machines without that setting.',
    'The format is that of sushy-tools. A mapping may have ' +
      '`uuid`, `name`, `power_state`, `nics`, `boot_device`, `boot_mode`, `secure_boot` and `external_notifier`.',
    'A restart of the daemon discards the changes that clients made.',
  ],
  fakeMachines: [
    'The setting has an effect only with `EMULATOR_FAKE_DRIVER` or `--fake`. If `EMULATOR_FAKE_SYSTEMS` is also set, the daemon does not start.',
    '[Machines in memory](fake-machines.md) describes the file.',
  ],
  notificationUrl: [
    'For each change of a fake system with `external_notifier`, the daemon sends a PUT with the system as JSON.',
    'The receiver is a fake deploy agent, for example `fake-ipa` of Metal3.',
    'In the file, the names of this setting and of the next three also work without `EMULATOR_`.',
  ],
  notificationCaFile: [
    "None: the daemon verifies the certificate of the receiver only if a client certificate is set, with Node's list of CAs.",
  ],
  ironicCloud: ['None is the only possible value.'],
  allowedInstances: ['None: all machines. With a list, clients cannot see the other machines.'],
  secureBootEnabledNvram: [
    "The daemon uses this template when a client switches Secure Boot on, if `EMULATOR_BOOT_LOADER_MAP` or the machine's definition names the firmware file.",
    "None: the daemon uses the template that the host's firmware descriptors name. Without such a template, libvirt selects firmware and variables.",
  ],
  secureBootDisabledNvram: [
    'The daemon uses this template when a client switches Secure Boot off, deletes its keys, or changes the boot mode to UEFI. The condition of `EMULATOR_SECURE_BOOT_ENABLED_NVRAM` about the firmware file applies here too.',
    '`bmc-daemon machine` uses this template for new machines without Secure Boot.',
  ],
  disablePowerOff: [
    'True: the daemon rejects ForceOff, GracefulShutdown and Suspend. Unless the machine is off or sleeps, it also rejects PushPowerButton.',
  ],
  gracefulRestartWaitSeconds: ['If the guest still runs after this time, the daemon resets the machine.'],
  libvirtTimeoutSeconds: [
    'If libvirt does not answer within this time, the client gets 503 with `Retry-After`, or the last known state of the machine.',
  ],
  chassis: ['The first chassis of the list contains all machines.', 'An empty list: each machine has its own chassis.'],
  indicatorLeds: ['The value applies until a client sets the indicator.', 'Indicators without a value are `Lit`.'],
  storage: ['For a machine in the mapping, the list replaces the storage that the daemon derives from the disks.'],
  drives: ['Clients can read these drives. The drives have no other function.'],
  volumes: [
    'If the libvirt volume `libvirtVolName` does not exist, the daemon creates it in the pool `libvirtPoolName`.',
    'Without `libvirtPoolName`, the daemon uses `EMULATOR_STORAGE_POOL`.',
  ],
  storagePool: ['None: the daemon creates a directory pool for itself.'],
  vmediaDevices: [
    '`MediaTypes` with `CD` or `DVD`: a CD drive.',
    '`MediaTypes` with `USBStick`: a USB stick, also if `Floppy` is in the list (as in the default of sushy-tools).',
    '`MediaTypes` with only `Floppy`: a floppy drive.',
  ],
  vmediaVerifySsl: [
    'The setting applies to a drive until a client sets its `VerifyCertificate`.',
    'False is also the default of sushy-tools, and Redfish recommends this default for old clients.',
  ],
  vmediaAllowedHosts: [
    'None: every host, except link-local addresses and the others below. An empty list: no host; this causes a warning.',
    'The list contains names, domains (`*.lab.example.org`), addresses and networks.',
    'A name is also allowed if its address is in an allowed network. Redirects must lead to allowed hosts too.',
    'With a list, the daemon rejects inserts with the transfer method `Stream`.',
    'The daemon rejects link-local addresses, multicast addresses and the addresses where clouds serve credentials. ' +
      "To allow such an address, list the address, or a network that contains only such addresses. `'0.0.0.0/0'` allows none of them.",
  ],
  virtualMediaIpFamily: ["`'4'`: IPv4 only.", "`'6'`: IPv6 only.", 'None: both.'],
  vmediaConnectTimeoutSeconds: ['The time includes the name lookup and the TLS handshake.'],
  vmediaAnswerTimeoutSeconds: [
    "The time runs from the request for an image to the end of the server's response headers.",
    'The time includes connections, redirects and 1xx answers.',
  ],
  vmediaIdleTimeoutSeconds: [
    'If the server sends fewer than 1000 bytes per second on average over this time, the download fails.',
  ],
  vmediaDownloadTimeoutSeconds: [
    'The default, six hours, is enough for 10 GiB at 4 Mbit/s.',
    'A power-on waits for the image. An eject cancels the download.',
  ],
  vmediaUploadExpirySeconds: [
    'A client can continue an interrupted upload within this time. Until the upload ends or is cancelled, a power-on of the machine waits.',
    'The time starts again with each received byte.',
  ],
};
