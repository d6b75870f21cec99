/** Examines the ports at which the daemon listens. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { errorCode } from '@rackless/daemon/error-code.js';
import { listen, ListenError } from '@rackless/daemon/network/listener.js';
import type { SettingKey } from '../config/settings.js';
import { asRoot, commandLine } from '../findings/commands.js';
import { note, problem, warning, type Finding } from '../findings/finding.js';
import { consoleSshPort } from '../offers/console-ssh-port.js';
import { changeSetting, type Examined, type Probe } from './probe.js';

const SUBJECT = 'port';

/** Examines the port of Redfish. */
export const redfishPort: Probe = {
  subject: SUBJECT,
  settings: ['listenIp', 'listenPort'],
  examine: async (examined) => {
    const { listenIp: ip, listenPort: port } = examined.loaded.settings;
    return await examinePort(examined, { ip, port, key: 'listenPort', effect: 'so the daemon cannot start' });
  },
};

/** Examines the port of consoles over SSH, if the daemon opens it. */
export const consolePort: Probe = {
  subject: SUBJECT,
  settings: ['listenIp', 'consoleSshPort', 'authFile'],
  examine: async (examined) => {
    const { listenIp: ip, consoleSshPort: wanted, authFile } = examined.loaded.settings;
    const port = consoleSshPort(wanted, authFile);
    if (port === null) return [];
    const isOptional = wanted === 'auto';
    const effect = isOptional ? 'so there are no consoles over SSH' : 'so the daemon cannot start';
    return await examinePort(examined, { ip, port, key: 'consoleSshPort', effect, isOptional });
  },
};

interface ExaminedPort {
  readonly ip: string;
  readonly port: number;
  readonly key: SettingKey;
  readonly effect: string;
  /** Whether the daemon starts without this port. */
  readonly isOptional?: boolean;
}

/** Listens as the daemon does, and closes the socket at once. */
async function examinePort(
  examined: Examined,
  { ip, port, key, effect, isOptional = false }: ExaminedPort,
): Promise<readonly Finding[]> {
  const server = createServer((socket) => socket.destroy());
  try {
    await listen(server, ip, port);
    await new Promise((resolve) => server.close(resolve));
    return [];
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    const make = isOptional ? warning : problem;
    switch (errorCode(error.cause)) {
      case 'EADDRINUSE':
        return [portInUse(examined, { ip, port, key, effect, isOptional })];
      case 'EACCES': {
        const allow = asRoot(`sysctl net.ipv4.ip_unprivileged_port_start=${port}`, examined.account.uid);
        const message = `The account ${examined.account.name} may not listen at port ${port}, ${effect}.`;
        return [make(SUBJECT, message, allow)];
      }
      case 'EADDRNOTAVAIL':
        return [addressFinding(examined, `This host has no address ${ip}, ${effect}.`)];
      default:
        return [addressFinding(examined, `${capitalized(error.message)}, ${effect}.`)];
    }
  }
}

function addressFinding(examined: Examined, message: string): Finding {
  const { command, advice } = changeSetting(examined, 'listenIp', '0.0.0.0');
  return problem('address', message + advice, command);
}

function portInUse(examined: Examined, { port, key, effect, isOptional = false }: ExaminedPort): Finding {
  const owner = listenerOf(port);
  if (owner === null) {
    const find = asRoot(`ss -ltnp ${commandLine(`sport = :${port}`)}`, examined.account.uid);
    return (isOptional ? warning : problem)(SUBJECT, `Another process listens at port ${port}, ${effect}.`, find);
  }
  if (owner.isDaemon) return note(SUBJECT, `A bmc-daemon already listens at port ${port} (process ${owner.pid}).`);
  const message = `The process ${owner.pid} (${owner.name}) listens at port ${port}, ${effect}.`;
  const { command, advice } =
    owner.unit === null
      ? changeSetting(examined, key, port + 1)
      : { command: asRoot(`systemctl disable --now ${owner.unit}`, examined.account.uid), advice: '' };
  return (isOptional ? warning : problem)(SUBJECT, message + advice, command);
}

interface Listener {
  readonly pid: string;
  readonly name: string;
  /** Whether the process is a bmc-daemon. */
  readonly isDaemon: boolean;
  /** Unit of systemd; null if there is none. */
  readonly unit: string | null;
}

/**
 * Returns the process that listens at a port; null if there is none, or if this account may not see it.
 * @see proc(5)
 */
function listenerOf(port: number): Listener | null {
  const inodes = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => listeningInodes(table, port)));
  for (const pid of listOf('/proc').filter((name) => /^\d+$/.test(name))) {
    const isOwner = listOf(`/proc/${pid}/fd`).some((fd) => {
      const target = undefinedIfError(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? '';
      return inodes.has(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? '');
    });
    if (!isOwner) continue;
    const read = (file: string): string => undefinedIfError(() => readFileSync(`/proc/${pid}/${file}`, 'utf8')) ?? '';
    return {
      pid,
      name: read('comm').trim(),
      isDaemon: isDaemon(read('cmdline').split('\0')),
      unit: /\/([\w@.-]+\.service)(?:\/|$)/m.exec(read('cgroup'))?.[1] ?? null,
    };
  }
  return null;
}

/** Returns whether the words of a command are those of the daemon: Node, options of Node, the program. */
function isDaemon(words: readonly string[]): boolean {
  const programs = words.filter((word) => !word.startsWith('-')).slice(0, 2);
  return programs.some((word) => ['bmc-daemon', 'sushy-emulator'].includes(path.parse(word).name));
}

/** State of a listening socket in the tables of the kernel. */
const LISTEN = '0A';

function listeningInodes(table: string, port: number): readonly string[] {
  const hexadecimal = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = (undefinedIfError(() => readFileSync(table, 'utf8')) ?? '').split('\n').slice(1);
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(`:${hexadecimal}`) === true && fields[3] === LISTEN)
    .map((fields) => fields[9] ?? '');
}

const listOf = (folder: string): readonly string[] => undefinedIfError(() => readdirSync(folder)) ?? [];

/** Returns undefined after an error: usually the process has ended, or belongs to another account. */
function undefinedIfError<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const capitalized = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;
