/** Reads facts from connection URIs, and makes commands of virsh and ssh for them. Opens no connection. */
import { parseUri, type LibvirtUri } from '@rackless/libvirt';
import { commandLine } from '../../findings/commands.js';

/**
 * Returns the reason why a URI is invalid, with the same text as the error of a connection attempt;
 * undefined for a valid URI.
 */
export function connectionUriFault(uri: string): string | undefined {
  try {
    parseUri(uri);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Returns whether libvirt runs on this host: the URI has no host. Returns false for an invalid URI.
 */
export function isOnThisHost(uri: string): boolean {
  try {
    return parseUri(uri).host === null;
  } catch {
    return false;
  }
}

/**
 * Returns the name of the URI's host in lower case, with `-` for unusual characters: `kvm-1.example.com`. Returns
 * `localhost` if the URI has no host.
 * @throws {LibvirtError} INVALID_URI.
 */
export function hostNameOf(uri: string): string {
  return (parseUri(uri).host ?? 'localhost').toLowerCase().replaceAll(/[^a-z0-9._-]/g, '-');
}

/**
 * Returns whether the URI is for the libvirt of a user, which stores files in the user's home.
 * @throws {LibvirtError} INVALID_URI.
 */
export function isSession(uri: string): boolean {
  return parseUri(uri).path === '/session';
}

/**
 * Returns whether {@link virshCommand} runs virsh on the host of the URI, and not on this host. virsh ignores the
 * parameter `known_hosts` of a URI, so a URI with this parameter needs ssh.
 */
export function needsVirshOnHost({ transport, parameters }: Pick<LibvirtUri, 'transport' | 'parameters'>): boolean {
  return transport === 'ssh' && parameters.knownHosts !== null;
}

/**
 * Returns a virsh command for the libvirt of a URI. Some URIs need virsh on their host: then the command runs it there
 * with ssh.
 * @throws {LibvirtError} INVALID_URI.
 * @see needsVirshOnHost
 */
export function virshCommand(uri: string, ...words: readonly string[]): string {
  const parsed = parseUri(uri);
  if (!needsVirshOnHost(parsed)) return commandLine('virsh', '--connect', uri, ...words);
  return commandLine('ssh', ...sshDestination(parsed), commandLine('virsh', '--connect', parsed.serverName, ...words));
}

/**
 * Returns the arguments of ssh that select the host and the key. For another transport, returns only the host, because
 * port and user of the URI belong to that transport.
 */
export function sshDestination({
  transport,
  host,
  port,
  user,
  parameters: { keyfile, knownHosts },
}: LibvirtUri): readonly string[] {
  if (transport !== 'ssh') return [host ?? 'localhost'];
  return [
    ...(knownHosts === null ? [] : ['-o', `UserKnownHostsFile=${knownHosts}`]),
    ...(port === null ? [] : ['-p', String(port)]),
    ...(keyfile === null ? [] : ['-i', keyfile]),
    `${user === null ? '' : `${user}@`}${host ?? 'localhost'}`,
  ];
}
