/** The libvirt host of `bmc-daemon machine`, from the settings of the daemon. */
import type { Settings } from '../config/settings.js';
import { LabError } from '../drivers/libvirt/lab/lab-error.js';
import type { LabSettings } from '../drivers/libvirt/lab/lab-host.js';
import { hostsOf } from '../drivers/libvirt/host-list.js';

/**
 * Returns the settings for new machines.
 * @param hostName the name of one of the hosts; null: the only host.
 * @throws {LabError} if there is no such host, or no choice of one of several hosts.
 */
export function labSettings(settings: Settings, hostName: string | null): LabSettings {
  const hosts = hostsOf(settings.libvirtUri);
  const names = hosts.map(({ name }) => name).join(', ');
  const chosen = hostName === null ? hosts.slice(0, 2) : hosts.filter(({ name }) => name === hostName);
  const [host, another] = chosen;
  if (host === undefined) throw new LabError([`there is no host ${hostName ?? ''}; EMULATOR_LIBVIRT_URI has ${names}`]);
  if (another !== undefined) throw new LabError([`select one of several hosts with --host: ${names}`]);
  return {
    uri: host.uri,
    bootLoaderMap: { efi: settings.bootLoaderMap.UEFI ?? {}, bios: settings.bootLoaderMap.Legacy ?? {} },
    secureBootTemplates: { enabled: settings.secureBootEnabledNvram, disabled: settings.secureBootDisabledNvram },
    storagePool: settings.storagePool,
  };
}
