/** Finds out why the daemon cannot connect to the libvirt of this host. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { errorCode } from '@rackless/daemon/error-code.js';
import { commandLine } from '../../../findings/commands.js';
import { problem, type Finding } from '../../../findings/finding.js';
import { isRefusal } from '../access-hint.js';
import { closedFolder } from './closed-folder.js';
import type { ExaminedHost } from './examined-host.js';

const SUBJECT = 'socket';
const EFFECT = 'so the daemon answers 503 for every machine';
/**
 * The daemon for QEMU, and the daemon for all drivers. A host with one daemon for each driver may have both installed,
 * and uses virtqemud. A start of libvirtd would stop virtqemud.
 */
export const LIBVIRT_DAEMONS = ['virtqemud', 'libvirtd'];

/**
 * Returns a finding with the reason of a failed connection and the command that removes this reason; null
 * for an unknown reason.
 */
export function localConnectionFinding(error: unknown, host: ExaminedHost): Finding | null {
  const attempts = socketErrors(error);
  const rejected = attempts.find(({ code }) => code === 'EACCES' || code === 'EPERM');
  if (rejected !== undefined) return rejectedBySocket(rejected.socket, host);
  if (isRefusal(error)) return rejectedByPolkit(error, host);
  if (attempts.length === 0) return null;
  const sockets = attempts.map(({ socket }) => socket).join(' and ');
  const stale = attempts.find(({ code }) => code === 'ECONNREFUSED');
  if (stale !== undefined) {
    return problem(SUBJECT, `No libvirt daemon listens at ${stale.socket}, ${EFFECT}.`, startCommand(host));
  }
  return attempts.every(({ code }) => code === 'ENOENT')
    ? problem(SUBJECT, `libvirt does not run: there is no socket ${sockets}, ${EFFECT}.`, startCommand(host))
    : null;
}

interface SocketError {
  readonly socket: string;
  readonly code: string | undefined;
}

/** Returns the sockets that the client tried, with the error of each. */
function socketErrors(error: unknown): readonly SocketError[] {
  if (typeof error !== 'object' || error === null) return [];
  if ('address' in error && typeof error.address === 'string')
    return [{ socket: error.address, code: errorCode(error) }];
  const inner = 'errors' in error && Array.isArray(error.errors) ? error.errors : [];
  return [...inner.flatMap(socketErrors), ...('cause' in error ? socketErrors(error.cause) : [])];
}

function rejectedBySocket(socket: string, host: ExaminedHost): Finding {
  const { name } = host.account;
  const message = (why: string) => `The account ${name} may not use the socket ${socket}: ${why}, ${EFFECT}.`;
  const found = statOf(socket);
  if (found === undefined) {
    const folder = closedFolder(socket) ?? path.dirname(socket);
    return problem(
      SUBJECT,
      message(`the folder ${folder} is not accessible`),
      host.asRoot(commandLine('chmod', 'a+x', folder)),
    );
  }
  const group = groupOf(found.gid);
  const admitsGroup = (found.mode & 0o060) === 0o060 && found.gid !== 0;
  if (!admitsGroup || group === undefined) {
    const settings = 'unix_sock_group = "libvirt"\\nunix_sock_rw_perms = "0770"\\n';
    const daemon = LIBVIRT_DAEMONS.find((each) => path.basename(socket).startsWith(each)) ?? 'libvirtd';
    const append = `printf '${settings}' >> /etc/libvirt/${daemon}.conf && systemctl restart ${daemon}`;
    return problem(SUBJECT, message('the socket allows no group'), host.asRoot(commandLine('sh', '-c', append)));
  }
  if (group.members.includes(name)) {
    const why = `this process started before ${name} became a member of the group ${group.name}`;
    return problem(SUBJECT, message(why), renewCommand(name));
  }
  return problem(SUBJECT, message(`it is not in the group ${group.name}`), joinCommand(group.name, host));
}

function rejectedByPolkit(error: unknown, host: ExaminedHost): Finding {
  const { name } = host.account;
  const message = `polkit does not let the account ${name} use libvirt, ${EFFECT}.`;
  if (String(error).includes('PolicyKit1'))
    return problem(
      'polkit',
      `polkit does not run, and libvirt asks it about the account ${name}, ${EFFECT}.`,
      host.install({ debian: 'polkitd', fedora: 'polkit', suse: 'polkit', arch: 'polkit' }),
    );
  return problem('polkit', message, joinCommand('libvirt', host));
}

/** Returns the command that adds the account to a group, and starts a process: a running one does not get the group. */
function joinCommand(group: string, host: ExaminedHost): string {
  return `${host.asRoot(commandLine('usermod', '-aG', group, host.account.name))} && ${renewCommand(host.account.name)}`;
}

/** Returns the command that restarts the service of an account, or starts a shell, with the account's new groups. */
const renewCommand = (name: string): string =>
  name === 'bmc-daemon' ? 'sudo systemctl restart bmc-daemon' : commandLine('exec', 'su', '-', name);

/** Returns the name of the installed daemon of libvirt; undefined if none is installed, or for another host. */
export function libvirtService({ isLocal }: ExaminedHost): string | undefined {
  return isLocal ? LIBVIRT_DAEMONS.find((name) => existsSync(`/usr/sbin/${name}`)) : undefined;
}

/** Returns the command that starts libvirt, or installs it if it is not installed. */
function startCommand(host: ExaminedHost): string {
  const { parsed } = host;
  const installed = libvirtService(host);
  if (installed === undefined)
    return host.install({
      debian: 'libvirt-daemon-system qemu-system',
      fedora: 'libvirt-daemon-kvm',
      suse: 'libvirt-daemon-qemu',
      arch: 'libvirt qemu-full',
    });
  if (parsed.path === '/session') return `${installed} --daemon`;
  // /run/systemd/system exists only on a host that runs systemd. Without systemd, the command starts libvirt's daemon.
  return host.asRoot(
    existsSync('/run/systemd/system') ? `systemctl enable --now ${installed}.socket` : `${installed} --daemon`,
  );
}

function statOf(file: string): { readonly gid: number; readonly mode: number } | undefined {
  try {
    return statSync(file);
  } catch {
    return undefined;
  }
}

function groupOf(gid: number): { readonly name: string; readonly members: readonly string[] } | undefined {
  const lines = readFileSync('/etc/group', 'utf8').split('\n');
  const line = lines.map((text) => text.split(':')).find((fields) => fields[2] === String(gid));
  const [name, , , members = ''] = line ?? [];
  return name === undefined ? undefined : { name, members: members.split(',') };
}
