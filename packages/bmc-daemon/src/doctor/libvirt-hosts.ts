/** The libvirt hosts that the doctor examines. */
import { settingsTable, type Settings } from '../config/settings.js';
import type { HostRef } from '../drivers/hosts-control.js';
import { hostFaults, hostsOf } from '../drivers/libvirt/host-list.js';
import { editCommand, type ConfigurationChange } from '../findings/commands.js';
import { changeSetting, type Examined } from './probe.js';

/**
 * Returns the hosts of EMULATOR_LIBVIRT_URI; none if the setting has a fault, which the check of the
 * settings reports.
 */
export function libvirtHosts({ libvirtUri: uris }: Pick<Settings, 'libvirtUri'>): readonly HostRef[] {
  return hostFaults(uris).length === 0 ? hostsOf(uris) : [];
}

/** Returns how to change the URI of one host. The other hosts of a list do not change. */
export function changeUri(examined: Examined, from: string, to: string): ConfigurationChange {
  const { settings, origins } = examined.loaded;
  if (typeof settings.libvirtUri === 'string') return changeSetting(examined, 'libvirtUri', to);
  const command = editCommand(origins.libvirtUri) ?? `printenv ${settingsTable.libvirtUri.name}`;
  return { command, advice: ` Replace ${from} by ${to}.` };
}
