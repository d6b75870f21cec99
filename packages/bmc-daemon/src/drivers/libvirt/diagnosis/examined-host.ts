/** A libvirt host under examination, and the commands that an administrator runs there. */
import { parseUri, type LibvirtUri } from '@rackless/libvirt';
import { asAccount, asRoot, commandLine } from '../../../findings/commands.js';
import type { Account } from '../../../host/account.js';

/** A host of EMULATOR_LIBVIRT_URI. */
export interface ExaminedHost {
  /** Connection URI, which contains no password. */
  readonly uri: string;
  readonly parsed: LibvirtUri;
  /** True if libvirt runs on the host of the daemon. */
  readonly isLocal: boolean;
  /** The account that connects. */
  readonly account: Account;
  /** Time limit of the connection, and then of each examination. */
  readonly timeoutMs: number;
  /** Returns a virsh command for this host. */
  virsh(...words: readonly string[]): string;
  /**
   * Returns virsh commands in one line. The shell runs a command only if the previous one succeeds.
   */
  virshEach(...commands: readonly (readonly string[])[]): string;
  /** Returns a command that root runs on the libvirt host: with sudo, and over ssh for another host. */
  asRoot(command: string): string;
  /**
   * Returns the ssh command that runs a command on the libvirt host. The caller must run it as the
   * account of the daemon.
   */
  ssh(...words: readonly string[]): string;
}

/**
 * Returns a host.
 * @throws {LibvirtError} INVALID_URI.
 */
export function examinedHost(uri: string, account: Account, timeoutMs: number): ExaminedHost {
  const parsed = parseUri(uri);
  const isLocal = parsed.host === null;
  const ssh = (...words: readonly string[]): string => commandLine('ssh', ...destination(parsed), ...words);
  // The other host knows the ssh keys of the daemon's account, so this account must run the
  // command.
  const remotely = (command: string): string => (isLocal ? command : asAccount(command, account));
  const virsh = (...words: readonly string[]): string => remotely(commandLine('virsh', '--connect', uri, ...words));
  return {
    ...{ uri, parsed, isLocal, account, timeoutMs, ssh, virsh },
    virshEach: (...commands) => commands.map((words) => virsh(...words)).join(' && '),
    asRoot: (command) => {
      if (isLocal) return asRoot(command, account.uid);
      // Without a user in the URI, the account of the other host is unknown.
      return remotely(ssh(parsed.user === 'root' ? command : `sudo ${command}`));
    },
  };
}

/** Returns the arguments of ssh that select the host. Port and user of the other transports are not those of ssh. */
function destination({
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
