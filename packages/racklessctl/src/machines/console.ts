/** The serial console of a machine. */
import { CommandFailure, exitCode } from '../failure.js';
import { flagAt, linkAt, numberAt, objectAt, textAt, textsAt } from '../redfish/resource.js';
import { managersOf, type Machine } from './machine.js';

/** A console that `ssh` can open. */
interface SshConsole {
  readonly host: string;
  readonly port: number;
  /** Undefined: ssh chooses the user. */
  readonly user: string | undefined;
  /** Command that selects the console after the login; undefined if the service names none. */
  readonly entryCommand: string | undefined;
  /** The keys with which a user leaves the console; undefined if the service reports none. */
  readonly escape: string | undefined;
}

const DEFAULT_PORT = 22;

/**
 * Finds a serial console that `ssh` can open: that of the machine, or else that of one of its managers.
 * @throws {CommandFailure} if there is none, or if a manager cannot be read. If there is none, the message names
 *   the machine's consoles of other kinds.
 */
export async function findConsole(machine: Machine): Promise<SshConsole> {
  const { service, resource } = machine;
  const serial = objectAt(resource, 'SerialConsole');
  const host = service.origin.hostname.replace(/^\[(.*)\]$/, '$1');
  const ssh = objectAt(serial, 'SSH');
  if (Object.keys(ssh).length > 0 && flagAt(ssh, 'ServiceEnabled') !== false)
    return {
      host,
      port: numberAt(ssh, 'Port') ?? DEFAULT_PORT,
      user: service.user,
      entryCommand: textAt(ssh, 'ConsoleEntryCommand'),
      escape: textAt(ssh, 'HotKeySequenceDisplay'),
    };
  const offers: string[] = [];
  for (const uri of managersOf(machine)) {
    const manager = await service.find(uri);
    const console = objectAt(manager, 'SerialConsole');
    const types = textsAt(console, 'ConnectTypesSupported') ?? [];
    if (flagAt(console, 'ServiceEnabled') === false) continue;
    if (types.includes('SSH')) {
      const link = linkAt(manager, 'NetworkProtocol');
      const protocol = link === undefined ? undefined : await service.find(link);
      const port = numberAt(objectAt(protocol, 'SSH'), 'Port') ?? DEFAULT_PORT;
      return { host, port, user: service.user, entryCommand: undefined, escape: undefined };
    }
    offers.push(...types);
  }
  throw new CommandFailure(exitCode.failed, explanation(machine, offers, host));
}

function explanation({ resource, service }: Machine, offers: readonly string[], host: string): string {
  const others: string[] = [];
  const ipmi = objectAt(resource, 'SerialConsole', 'IPMI');
  if (offers.includes('IPMI') || (Object.keys(ipmi).length > 0 && flagAt(ipmi, 'ServiceEnabled') !== false))
    others.push(`serial over LAN: ipmitool -I lanplus -H ${host} -U ${service.user ?? 'USER'} -a sol activate`);
  if (offers.includes('Telnet')) others.push(`telnet ${host}`);
  if (flagAt(resource, 'GraphicalConsole', 'ServiceEnabled') === true)
    others.push(`a graphical console in a browser: ${service.origin.origin}`);
  const hint =
    others.length > 0
      ? ` It offers ${others.join('; ')}`
      : ' For bmc-daemon, set EMULATOR_CONSOLE_SSH_PORT, and give the machine a serial port';
  return `the service offers no serial console over SSH for this machine.${hint}`;
}

/**
 * Returns the arguments of `ssh` for a console.
 * @param isTerminal whether the user has a terminal.
 */
export function sshArguments({ host, port, user, entryCommand }: SshConsole, isTerminal: boolean): readonly string[] {
  return [
    // With a command, ssh asks the server for a terminal only with -t.
    ...(isTerminal ? ['-t'] : []),
    ...['-p', String(port)],
    ...(user === undefined ? [] : ['-l', user]),
    // A host or a command from a service must not be parsed as an option of ssh.
    ...['--', host],
    ...(entryCommand === undefined ? [] : [entryCommand]),
  ];
}
