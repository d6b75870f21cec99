/** Examines the network that libvirt's packages create, and that new machines use by default. */
import { existsSync } from 'node:fs';
import { isLibvirtError, type Hypervisor, type Network } from '@rackless/libvirt';
import { note, warning, type Finding } from '../../../findings/finding.js';
import { needsVirshOnHost } from '../connection-uri.js';
import type { ExaminedHost } from './examined-host.js';
import { lacksDriver } from './lacks-driver.js';

const SUBJECT = 'network';
const NAME = 'default';
/** Definition of the network `default` in libvirt's packages. */
const DEFINITION = '/usr/share/libvirt/networks/default.xml';

/**
 * Examines the network `default`. Returns no findings for a session libvirt, because it cannot create networks.
 * @param exists returns whether a file exists on the host of the daemon. Default: {@link existsSync}.
 * @throws {LibvirtError} if libvirt does not answer, or answers with an unexpected error.
 */
export async function examineNetwork(
  hypervisor: Pick<Hypervisor, 'networkLookupByName'>,
  host: ExaminedHost,
  exists: (file: string) => boolean = existsSync,
): Promise<readonly Finding[]> {
  if (host.parsed.path === '/session') return [];
  const { timeoutMs } = host;
  let network: Network;
  try {
    network = await hypervisor.networkLookupByName(NAME, { timeoutMs });
  } catch (error) {
    if (isLibvirtError(error, 'NO_NETWORK')) return [missingNetwork(host, exists)];
    // Without libvirt's network driver, machines use bridges, which is a usual installation.
    if (lacksDriver(error)) return [];
    throw error;
  }
  const [isActive, startsWithLibvirt] = await Promise.all([
    network.isActive({ timeoutMs }),
    network.getAutostart({ timeoutMs }),
  ]);
  if (!isActive) {
    const message = `The network ${NAME} is inactive, so machines that use it cannot start.`;
    return [warning(SUBJECT, message, host.virshEach(['net-start', NAME], ['net-autostart', NAME]))];
  }
  if (startsWithLibvirt) return [];
  const message =
    `The network ${NAME} does not start with libvirt, ` +
    'so machines that use it cannot start after a reboot of the host.';
  return [warning(SUBJECT, message, host.virsh('net-autostart', NAME))];
}

function missingNetwork(host: ExaminedHost, exists: (file: string) => boolean): Finding {
  const message = `The host has no network ${NAME}, so "bmc-daemon machine create" needs --network or --bridge.`;
  // virsh reads the file on the host where it runs. If this is another host, the daemon cannot see whether the file
  // exists there.
  const hasDefinition = !needsVirshOnHost(host.parsed) && exists(DEFINITION);
  const startCommands = ['net-start', 'net-autostart'].map((command) => [command, NAME]);
  return note(SUBJECT, message, hasDefinition ? host.virshEach(['net-define', DEFINITION], ...startCommands) : null);
}
