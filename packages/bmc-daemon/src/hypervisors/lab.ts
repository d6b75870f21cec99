/** The libvirt hosts of `bmc-daemon machine`, from the settings of the daemon. */
import type { Settings } from '../config/settings.js';
import { LabError } from '../drivers/libvirt/lab/lab-error.js';
import type { LabSettings } from '../drivers/libvirt/lab/lab-host.js';
import { hostsOf } from '../drivers/libvirt/host-list.js';

/** A host with its settings for lab machines. */
interface NamedHost {
  readonly name: string;
  readonly settings: LabSettings;
}

/**
 * Returns the hosts of the settings.
 * @param hostName the name of one of the hosts; null: all hosts.
 * @throws {LabError} if there is no such host.
 */
export function labHosts(settings: Settings, hostName: string | null): readonly NamedHost[] {
  const hosts = hostsOf(settings.libvirtUri);
  const chosen = hosts.filter(({ name }) => hostName === null || name === hostName);
  if (chosen.length === 0) {
    const names = hosts.map(({ name }) => name).join(', ');
    throw new LabError([`there is no host ${hostName ?? ''}; EMULATOR_LIBVIRT_URI has ${names}`]);
  }
  const shared = {
    bootLoaderMap: { efi: settings.bootLoaderMap.UEFI ?? {}, bios: settings.bootLoaderMap.Legacy ?? {} },
    secureBootTemplates: { enabled: settings.secureBootEnabledNvram, disabled: settings.secureBootDisabledNvram },
    storagePool: settings.storagePool,
  };
  return chosen.map((host) => ({
    name: host.name,
    settings: { uri: host.uri, ...shared, otherHosts: hosts.filter((other) => other !== host) },
  }));
}

/**
 * Returns the settings for new machines.
 * @param hostName the name of one of the hosts; null: the only host.
 * @throws {LabError} if there is no such host, or if there are several hosts and `hostName` is null.
 */
export function labSettings(settings: Settings, hostName: string | null): LabSettings {
  const hosts = labHosts(settings, hostName);
  const [host] = hosts;
  if (host === undefined || hosts.length > 1)
    throw new LabError([`select one of several hosts with --host: ${hosts.map(({ name }) => name).join(', ')}`]);
  return host.settings;
}
