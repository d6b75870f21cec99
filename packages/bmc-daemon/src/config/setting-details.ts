/** Sentences for docs/reference/bmc-daemon-configuration.md. The daemon itself does not load this file. */
import type { SettingKey } from './settings.js';

/** Sentences about a setting that do not fit into its row of the table. */
export const settingDetails: Readonly<Partial<Record<SettingKey, readonly string[]>>> = {
  listenIp: ["`'0.0.0.0'` and `''` mean every IPv4 address, `'::'` every IPv6 and IPv4 address."],
  sslCert: [
    'With `EMULATOR_SSL_KEY`, the daemon serves HTTPS (TLS 1.2 or newer) instead of HTTP.',
    'One without the other stops the start.',
    'An empty string means None, with a warning.',
    'The daemon reloads the file on SIGHUP.',
  ],
  osCloud: ['There is no OpenStack backend yet, so a value other than None stops the start.'],
  libvirtUri: [
    'Examples: `qemu:///system`, `qemu:///session`, `qemu:///system?socket=/path`.',
    'If the host is down at the start, the daemon waits for it.',
  ],
  authFile: [
    '`bmc-daemon htpasswd FILE USER` or `htpasswd -B` makes it.',
    'Without the setting, every client may do everything.',
    'The daemon reloads the file when it changes.',
  ],
  ignoreBootDevice: [
    'True: a PATCH of the boot target answers with the unchanged resource.',
    "The machine's firmware decides the boot order.",
  ],
  bootLoaderMap: [
    'The keys are the mode (`UEFI`, `Legacy`) and the architecture (`x86_64`, `aarch64`).',
    'The value is a firmware file.',
    "None: libvirt selects the firmware. This works wherever the distribution's firmware package is installed.",
    'A file that does not exist causes a warning at the start.',
    'A change that needs it fails with an error that names architecture and path.',
  ],
  consoleSshPort: [
    "`'auto'`: port 2222 if `EMULATOR_AUTH_FILE` is set and the port is free, otherwise no SSH.",
    '0: any free port, which the log names.',
    'None: no SSH.',
    '[Consoles](../guides/consoles.md) describes the connection.',
  ],
  dmtfStrict: [
    "True: answers pass DMTF's validators.",
    'They lack deprecated properties that no client needs, and link to the newer of two URIs.',
    'The older URI still answers. [Conformance](conformance.md) has the results.',
    'False: the service follows its [contract](contract.md).',
    'It adds `@Redfish.Copyright` to every resource, `HealthRollUp`, and `Severity` to the messages of registries.',
    'A manager then has a null `ServiceEntryPointUUID` and an empty `ManagerForChassis`.',
  ],
  featureSet: [
    '`full`: everything.',
    '`vmedia`: systems with boot settings, managers, virtual media and Ethernet interfaces.',
    '`minimum`: systems with boot settings only.',
  ],
  taskAfterSeconds: [
    'The daemon waits this long for InsertMedia and other long actions, then answers 202 with a task.',
    'Many clients stop waiting after 10 seconds.',
  ],
  ssdp: [
    'SSDP uses multicast on UDP port 1900; see [discovery](../guides/discovery.md).',
    'A client with the privilege can also change this over Redfish. The last change wins.',
  ],
  consoleLog: [
    'True: the daemon records the output of the serial ports for the last boots of each machine.',
    'Clients read it as a log ([consoles](../guides/consoles.md)).',
    '**A serial port has one connection**: while the daemon records, `virsh console NAME` is refused.',
    '`virsh console --force NAME` takes the port, and the daemon waits until it is free again.',
    'False: the daemon connects to a port only while a client uses it over SSH.',
  ],
  stateDir: [
    "None: systemd's `$STATE_DIRECTORY`; otherwise `/var/lib/bmc-daemon` for root.",
    'For other users it is `~/.local/state/bmc-daemon`.',
    'Only one daemon can use the folder. A second one waits 10 s, then ends with exit code 1.',
  ],
  fakeSystems: [
    'The format is that of sushy-tools.',
    'Each mapping has `uuid`, `name`, `power_state`, `nics`, `boot_device`, `boot_mode`, `secure_boot` and',
    '`external_notifier`.',
    'The setting needs `EMULATOR_FAKE_DRIVER` or `--fake`.',
    'None: three sample machines. A restart discards the changes of clients.',
  ],
  notificationUrl: [
    'The daemon sends each change of a fake system with `external_notifier` as a PUT with the system as JSON.',
    'A fake deploy agent, such as metal3 `fake-ipa`, listens there.',
    'The name `EXTERNAL_NOTIFICATION_URL` works too. The same holds for the next three settings.',
  ],
  notificationCaFile: ['None: the daemon does not verify the certificate, unless a client certificate is set.'],
  ironicCloud: ['There is no Ironic backend yet, so a value other than None stops the start.'],
  allowedInstances: ['All other machines are invisible. None: every machine.'],
  secureBootEnabledNvram: [
    "The daemon uses it with firmware that `EMULATOR_BOOT_LOADER_MAP` or a machine's definition names.",
    "None: the file that the host's firmware descriptors name.",
    'Without such a file, libvirt selects firmware and variables.',
  ],
  secureBootDisabledNvram: ['The daemon uses it to switch Secure Boot off, and for a change to UEFI.'],
  disablePowerOff: ['It rejects ForceOff, GracefulShutdown and Suspend, and PushPowerButton of a running machine.'],
  gracefulRestartWaitSeconds: ['After that, the daemon resets the machine.'],
  libvirtTimeoutSeconds: ['After that, the answer is 503 with `Retry-After`.'],
  chassis: ['The first chassis contains the machines. An empty list: a chassis for each machine.'],
  indicatorLeds: ['They hold until a client sets an indicator. All others are lit.'],
  storage: ['It replaces the storage that the daemon derives from the buses of the disks.'],
  drives: ['They have no further function.'],
  volumes: [
    'If a named libvirt volume does not exist, the daemon creates it in `libvirtPoolName`,',
    'or in `EMULATOR_STORAGE_POOL`.',
  ],
  storagePool: ["None: a directory pool of the daemon's own."],
  vmediaDevices: [
    '`CD` or `DVD` makes a CD drive.',
    "`USBStick` makes a USB stick, also together with `Floppy`, as in sushy-tools' own default.",
    '`Floppy` alone makes a floppy drive.',
  ],
  vmediaVerifySsl: [
    'The setting applies to drives whose `VerifyCertificate` no client has set.',
    'False is the default of sushy-tools, and Redfish recommends it for old clients.',
  ],
  vmediaAllowedHosts: [
    'The list contains names, domains (`*.lab.example.org`), addresses and networks.',
    'Redirects must lead to allowed hosts too. A name is also allowed if it resolves into an allowed network.',
    'With this setting, images come by the transfer method `Upload` only.',
    'None: every host. An empty list: no host, with a warning.',
    'The daemon always rejects link-local and multicast addresses, in every notation of IPv6,',
    'and the addresses where clouds serve credentials.',
    "An entry for exactly such an address or network allows it; a wider one such as `'0.0.0.0/0'` does not.",
  ],
  virtualMediaIpFamily: [
    "`'4'` or `'6'`: only this version, for servers that are given by address or by name. None: both.",
  ],
  vmediaConnectTimeoutSeconds: ['This includes the name lookup and the TLS handshake.'],
  vmediaAnswerTimeoutSeconds: [
    "The time runs from the request for an image to the end of the server's last response header.",
    'It includes connections, redirects and 1xx answers.',
  ],
  vmediaIdleTimeoutSeconds: [
    'It holds before and during a download.',
    'A server that sends less than 1000 bytes per second on average over this time counts as silent.',
  ],
  vmediaDownloadTimeoutSeconds: [
    'Power-on waits for the image; an eject cancels the download.',
    'With the default of six hours, 10 GiB need a link of 4 Mbit/s.',
  ],
};
