/** A libvirt host under examination, and the commands that an administrator runs there. */
import { parseUri, type LibvirtUri } from '@rackless/libvirt';
import {
  asAccount,
  asRoot,
  commandLine,
  installCommand,
  remoteInstallCommand,
  type PackageNames,
} from '../../../findings/commands.js';
import type { HostAccount } from '../../../host/account.js';
import { sshDestination, virshCommand } from '../connection-uri.js';

/** A host of EMULATOR_LIBVIRT_URI. */
export interface ExaminedHost {
  /** Connection URI, which contains no password. */
  readonly uri: string;
  readonly parsed: LibvirtUri;
  /** True if libvirt runs on the host of the daemon. */
  readonly isLocal: boolean;
  /** The account of the daemon, which connects to libvirt. */
  readonly account: HostAccount;
  /** Time limit of the connection. Each examination after it has the same limit. */
  readonly timeoutMs: number;
  /** Returns a virsh command for this host. */
  virsh(...words: readonly string[]): string;
  /**
   * Returns virsh commands for this host in one line. The shell runs a command only if the previous one
   * succeeds.
   */
  virshEach(...commands: readonly (readonly string[])[]): string;
  /**
   * Returns a command that root runs on the libvirt host: with sudo, and over ssh for another host. The shell runs each
   * alternative only if the previous one fails.
   */
  asRoot(...alternatives: readonly string[]): string;
  /** Returns the command that installs packages on the host. @param options.again the command reinstalls them. */
  install(names: PackageNames, options?: { readonly again?: boolean }): string;
  /**
   * Returns the ssh command that runs a command on the libvirt host. The caller must run it as the
   * account of the daemon.
   */
  ssh(...words: readonly string[]): string;
}

/**
 * Returns the host of a connection URI.
 * @throws {LibvirtError} INVALID_URI.
 */
export function examinedHost(uri: string, account: HostAccount, timeoutMs: number): ExaminedHost {
  const parsed = parseUri(uri);
  const isLocal = parsed.host === null;
  const ssh = (...words: readonly string[]): string => commandLine('ssh', ...sshDestination(parsed), ...words);
  // The other host accepts the ssh keys of the daemon's account, so this account must run the
  // command.
  const remotely = (command: string): string => (isLocal ? command : asAccount(command, account));
  const virsh = (...words: readonly string[]): string => remotely(virshCommand(uri, ...words));
  // On another host, only a URI for ssh with the user root shows that the command needs no sudo.
  const uid = isLocal ? account.uid : parsed.transport === 'ssh' && parsed.user === 'root' ? 0 : null;
  // sudo asks for a password only in a terminal, so ssh opens one for it.
  const remoteAsRoot = (command: string): string => remotely(uid === 0 ? ssh(command) : sshTerminal(ssh(command)));
  return {
    ...{ uri, parsed, isLocal, account, timeoutMs, ssh, virsh },
    virshEach: (...commands) => commands.map((words) => virsh(...words)).join(' && '),
    asRoot: (...alternatives) => {
      const command = alternatives.map((each) => asRoot(each, uid)).join(' || ');
      return isLocal ? command : remoteAsRoot(command);
    },
    install: (names, options) => {
      if (isLocal) return asRoot(installCommand(names, options), uid);
      return remoteAsRoot(remoteInstallCommand(names, uid, options));
    },
  };
}

/** Returns an ssh command that has a terminal on the other host. */
const sshTerminal = (command: string): string => command.replace(/^ssh /, 'ssh -t ');
