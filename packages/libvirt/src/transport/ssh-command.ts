/** The command line of ssh, and the command that it runs on the remote host. */
import { daemonSocket, type LibvirtUri } from '../uri.js';

/** A program with its arguments. */
interface CommandLine {
  readonly program: string;
  readonly args: readonly string[];
}

/**
 * After this time, an ssh process ends its connection attempt, even if the process that started it was killed.
 * While the starting process runs, it ends the attempt earlier, after its own timeout (by default 10 s).
 */
const CONNECT_TIMEOUT_SECONDS = 60;

/** The place of a server as the remote host sees it: a unix socket, or a host and a port. */
export type TunnelTarget = { readonly path: string } | { readonly host: string; readonly port: number };

/** Returns the command that connects standard input and output with the libvirtd of a URI. */
export function sshCommand(uri: LibvirtUri): CommandLine {
  return commandLine(uri, [], [remoteCommand(script(uri))]);
}

/** Returns the command that connects standard input and output with a server that the remote host can reach. */
export function sshTunnelCommand(uri: LibvirtUri, target: TunnelTarget): CommandLine {
  if ('path' in target) return commandLine(uri, [], [remoteCommand(netcat(uri, target.path))]);
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  return commandLine(uri, ['-W', `${host}:${target.port}`], []);
}

function commandLine(uri: LibvirtUri, options: readonly string[], remote: readonly string[]): CommandLine {
  const { user, host, port, parameters } = uri;
  const { command, keyfile, knownHosts } = parameters;
  const checking = hostKeyChecking(uri);
  return {
    program: command ?? 'ssh',
    args: [
      // A service cannot answer questions. Without a terminal and without the escape character, all
      // bytes pass unchanged.
      ...['-T', '-e', 'none', '-o', 'BatchMode=yes'],
      // An ssh that shares its connection with others cannot be stopped alone, so this ssh does not share it.
      // But it may use the connection of another ssh (ControlPath).
      ...['-o', 'ControlMaster=no'],
      // Without this option, an ssh to a host that does not answer would wait forever if this process is killed.
      ...['-o', `ConnectTimeout=${CONNECT_TIMEOUT_SECONDS}`],
      ...(port === null ? [] : ['-p', String(port)]),
      ...(user === null ? [] : ['-l', user]),
      ...(keyfile === null ? [] : ['-i', keyfile]),
      ...(knownHosts === null ? [] : ['-o', `UserKnownHostsFile=${configValue(knownHosts)}`]),
      ...(checking === null ? [] : ['-o', `StrictHostKeyChecking=${checking}`]),
      ...options,
      '--',
      host ?? 'localhost',
      ...remote,
    ],
  };
}

/** Returns the value of StrictHostKeyChecking; null: the value of the user's configuration. */
function hostKeyChecking({ parameters: { knownHostsVerify, noVerify } }: LibvirtUri): string | null {
  if (knownHostsVerify === 'ignore') return 'no';
  // With `accept-new`, ssh stores new keys and rejects changed keys.
  if (knownHostsVerify === 'auto' || noVerify) return 'accept-new';
  return knownHostsVerify === 'normal' ? 'yes' : null;
}

/** Quotes a value of ssh_config, where `%` starts a token and a backslash escapes a quote. */
function configValue(text: string): string {
  return `"${text.replaceAll('%', '%%').replaceAll(/["\\]/g, '\\$&')}"`;
}

/**
 * Returns the command for the remote shell. The user's shell may not be a POSIX shell, so sh runs
 * the script.
 */
function remoteCommand(text: string): string {
  return `sh -c ${quoted(text)}`;
}

function script(uri: LibvirtUri): string {
  const { proxy, socket } = uri.parameters;
  const helperUri = socket === null ? uri.serverName : withSocket(uri.serverName, socket);
  const helper = `exec virt-ssh-helper ${quoted(helperUri)}`;
  if (proxy === 'native') return helper;
  if (proxy === 'netcat') return netcat(uri, remoteSocket(uri));
  const isSession = uri.path === '/session';
  const otherwise = isSession
    ? 'echo "virt-ssh-helper is not installed; for a session without it, set the parameter socket" >&2; exit 127'
    : netcat(uri, remoteSocket(uri));
  return `if command -v virt-ssh-helper >/dev/null 2>&1; then ${helper}; fi; ${otherwise}`;
}

function withSocket(serverName: string, socket: string): string {
  return `${serverName}${serverName.includes('?') ? '&' : '?'}socket=${encodeURIComponent(socket)}`;
}

/**
 * Returns the script that runs netcat. Debian's netcat needs `-q0` to end when the client closes the
 * connection. Other netcats reject this option.
 */
function netcat({ parameters }: LibvirtUri, socket: string): string {
  const program = quoted(parameters.netcat ?? 'nc');
  const target = `-U ${quoted(socket)}`;
  return (
    `if ${program} -q 2>&1 | grep "requires an argument" >/dev/null 2>&1; then exec ${program} -q0 ${target}; fi; ` +
    `exec ${program} ${target}`
  );
}

/** Returns the socket of the remote daemon. As in libvirt, `mode=auto` means libvirtd. */
function remoteSocket({ driver, parameters: { socket, mode } }: LibvirtUri): string {
  if (socket !== null) return socket;
  return `/var/run/libvirt/${mode === 'direct' ? daemonSocket(driver) : 'libvirt-sock'}`;
}

/** Quotes a word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
