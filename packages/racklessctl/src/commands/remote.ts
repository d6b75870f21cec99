/**
 * Options of all commands that connect to services, and the services and machines that they select.
 */
import { contextFilePath } from '../contexts/context-file.js';
import { findConnections, readAuthorities, type Connection } from '../contexts/connection.js';
import { getPassword } from '../contexts/password.js';
import { CommandFailure, exitCode, usageFailure } from '../failure.js';
import { globExpression, isGlob } from '../machines/glob.js';
import {
  joinLists,
  readMachines,
  selectMachines,
  type Machine,
  type MachineList,
  type UnreadMachine,
} from '../machines/machine.js';
import { openService, type Service } from '../redfish/service.js';
import type { ArgumentDefinition, Call, OptionDefinition } from './command.js';
import { eachService } from './each-service.js';

const DEFAULT_TIMEOUT_SECONDS = 30;
/** The status line shows only pauses of at least this time. A user does not notice shorter ones. */
const SHOWN_PAUSE_MS = 2000;

/** Options of every command that has `isRemote`. */
export const remoteOptions: readonly OptionDefinition[] = [
  {
    name: 'context',
    letter: 'c',
    value: 'name',
    summary: "context, or a pattern such as 'rack1-*' for several",
    completes: 'contexts',
  },
  { name: 'url', value: 'url', summary: 'address of a service, instead of a context' },
  { name: 'user', letter: 'u', value: 'name', summary: 'user to log in as' },
  { name: 'password-file', value: 'file', summary: 'file with the password in its first line', completes: 'files' },
  { name: 'ca', value: 'file', summary: 'authorities to trust, as a PEM file', completes: 'files' },
  { name: 'insecure', summary: 'accept any certificate of the service' },
  {
    name: 'auth',
    value: 'method',
    summary: 'session, or basic: the password with each request',
    completes: ['session', 'basic'],
    default: 'session',
  },
  { name: 'timeout', value: 'seconds', summary: 'maximum time of a request', default: String(DEFAULT_TIMEOUT_SECONDS) },
  { name: 'json', summary: 'print JSON' },
];

/** The option of every command. */
export const configOption: OptionDefinition = {
  name: 'config',
  value: 'file',
  summary: 'file of the contexts (environment variable: RACKLESSCTL_CONFIG)',
  completes: 'files',
  default: '~/.config/racklessctl/contexts.yaml',
};

/** The argument of commands for one machine. */
export const machineArgument: ArgumentDefinition = {
  name: 'machine',
  summary: 'name, id, UUID, host name or serial number of a machine, or the beginning of such a text',
  completes: 'machines',
};

/** The argument of commands for any number of machines. */
export const machinesArgument: ArgumentDefinition = {
  name: 'machines',
  summary: "names, ids, UUIDs, host names, serial numbers, their beginnings, or patterns such as 'web-*'",
  isOptional: true,
  isList: true,
  completes: 'machines',
};

/** The argument of commands that show all machines if the command line names none. */
export const shownMachinesArgument: ArgumentDefinition = {
  ...machinesArgument,
  summary: `${machinesArgument.summary} (default: all machines)`,
};

/** The option of commands with {@link withMachines}: without names of machines, they need `--all`. */
export const allOption: OptionDefinition = { name: 'all', letter: 'a', summary: 'all machines' };

/** A service that a command has opened, and the connection that the options selected for it. */
export interface OpenedService {
  readonly service: Service;
  readonly connection: Connection;
}

/** Returns the path of the context file. */
export const configFile = (call: Call): string => call.text('config') ?? contextFilePath(call.environment);

/** Returns the connections that the options select. @throws {CommandFailure} */
function connectionsOf(call: Call): readonly Connection[] {
  return findConnections(
    {
      file: configFile(call),
      context: call.text('context'),
      url: call.text('url'),
      user: call.text('user'),
      passwordFile: call.text('password-file'),
      ca: call.text('ca'),
      insecure: call.flag('insecure'),
      auth: call.text('auth'),
    },
    call.environment,
    (glob, name) => isGlob(glob) && globExpression(glob).test(name),
  );
}

/** A service to open, and the login for it. Without a user, there are no credentials. */
interface ServiceLogIn {
  readonly connection: Connection;
  readonly credentials: Parameters<typeof openService>[0]['credentials'];
}

async function findLogIn(call: Call, connection: Connection): Promise<ServiceLogIn> {
  const { url, user, password, auth } = connection;
  if (user === undefined) return { connection, credentials: undefined };
  const { stdin, stderr } = call.terminal.streams;
  const text = await getPassword(password, `${user} at ${url.host}`, { input: stdin, output: stderr }, call.signal);
  return { connection, credentials: { user, password: text, method: auth } };
}

/** Returns a function that shows a long pause in the status line of a terminal. */
function pauseStatus({ terminal }: Call, { host }: URL): (status: number, milliseconds: number) => () => void {
  return (status, milliseconds) => {
    if (milliseconds < SHOWN_PAUSE_MS) return () => undefined;
    return terminal.openStatus(`${host} is busy (${status}): trying again in ${Math.ceil(milliseconds / 1000)} s`);
  };
}

/**
 * Opens the selected services, and calls a function with those that it could open. Reports a service
 * that fails, if it is one of several. Always closes the services at the end.
 * @param use also gets the connections of all selected services.
 * @throws {CommandFailure} if the options or the context file are wrong, or if no service could be opened.
 * @throws the errors of `use`.
 */
export async function withServices<T>(
  call: Call,
  use: (opened: readonly OpenedService[], selected: readonly Connection[]) => Promise<T> | T,
): Promise<T> {
  const timeoutMs = call.milliseconds('timeout') ?? DEFAULT_TIMEOUT_SECONDS * 1000;
  const selected = connectionsOf(call);
  const items = selected.map((connection) => ({ connection }));
  // Gets the credentials one after the other, because each may need a prompt for a password.
  const logIns = await eachService(call, items, 1, ({ connection }) => findLogIn(call, connection));
  const opened: OpenedService[] = [];
  try {
    const answering = await eachService(call, logIns, Infinity, async ({ connection, credentials }) => {
      const { url, ca, insecure } = connection;
      const authorities = ca === undefined ? {} : { ca: readAuthorities(ca) };
      const endpoint = { origin: url, insecure, timeoutMs, ...authorities };
      const options = { endpoint, credentials, signal: call.signal, onPause: pauseStatus(call, url) };
      const each = { service: await openService(options), connection };
      opened.push(each);
      return each;
    });
    return await use(answering, selected);
  } finally {
    await Promise.all(opened.map(({ service }) => service.close()));
  }
}

/**
 * Reads the machines of the opened services. Reports a service that fails, if it is one of several.
 * @param selected the connections of all selected services. The result names those that failed.
 * @throws {CommandFailure} if all opened services fail.
 */
export async function readAllMachines(
  call: Call,
  opened: readonly OpenedService[],
  selected: readonly Connection[],
): Promise<MachineList> {
  const readings = await eachService(call, opened, Infinity, async ({ service, connection }) => ({
    connection,
    list: await readMachines(service, connection.name),
  }));
  const read = new Set(readings.map(({ connection }) => connection));
  const failed = selected.filter((connection) => !read.has(connection));
  return joinLists(
    readings.map(({ list }) => list),
    failed.map(({ name = '' }) => name),
  );
}

/** Maximum number of unread machines that have their own line. */
const MAX_UNREAD_LINES = 8;

/**
 * Returns a line for each machine that could not be read. If there are many, returns lines for the first ones, and
 * a line with the number of the others.
 */
export function unreadLines(unread: readonly UnreadMachine[]): readonly string[] {
  const lines = unread.slice(0, MAX_UNREAD_LINES).map(({ context, id, failure }) => {
    const label = context === undefined ? id : `${context}/${id}`;
    return `machine ${label}: ${failure.message}`;
  });
  const more = unread.length - lines.length;
  return more === 0 ? lines : [...lines, `${more} more machines could not be read`];
}

/**
 * Reports the machines that the service lists, but does not return. The command leaves them out, and
 * ends with exit code 1.
 * @param patterns the names and globs on the command line; empty: all machines. If there are only names and no
 *   globs, the function reports nothing, because the command leaves out no machine.
 */
export function reportUnread(call: Call, unread: readonly UnreadMachine[], patterns: readonly string[]): void {
  if (patterns.length > 0 && !patterns.some(isGlob)) return;
  for (const line of unreadLines(unread)) call.report('racklessctl', new CommandFailure(exitCode.failed, line));
}

/**
 * Opens the selected services, reads all their machines, and calls a function with them.
 * @throws {CommandFailure} as {@link withServices} and {@link readAllMachines}.
 * @throws the errors of `use`.
 */
export async function withAllMachines<T>(call: Call, use: (list: MachineList) => Promise<T> | T): Promise<T> {
  return withServices(call, async (opened, selected) => use(await readAllMachines(call, opened, selected)));
}

/**
 * Opens the selected services and calls a function with the machines of the arguments, or with all machines if
 * the option `--all` is given.
 * @throws {CommandFailure} also if both machines and `--all`, or neither, are given, and as {@link selectMachines}.
 */
export async function withMachines<T>(call: Call, use: (machines: readonly Machine[]) => Promise<T> | T): Promise<T> {
  const patterns = call.list('machines');
  const isAll = call.flag('all');
  if (isAll && patterns.length > 0) throw usageFailure('--all and names of machines exclude each other');
  if (!isAll && patterns.length === 0) throw usageFailure('name a machine, or give --all');
  return withAllMachines(call, async (list) => {
    const selected = isAll ? list.machines : selectMachines(list, patterns);
    reportUnread(call, list.unread, patterns);
    return use(selected);
  });
}

/**
 * Opens the selected services and calls a function with the machine of the argument `machine`.
 * @throws {CommandFailure} also if the argument is a glob that matches several machines.
 */
export async function withMachine<T>(call: Call, use: (machine: Machine) => Promise<T> | T): Promise<T> {
  return withAllMachines(call, async (list) => {
    const name = call.argument('machine');
    const [machine, ...others] = selectMachines(list, [name]);
    if (machine === undefined || others.length > 0)
      throw new CommandFailure(exitCode.noMatch, `'${name}' matches ${others.length + 1} machines: name one of them`);
    return use(machine);
  });
}
