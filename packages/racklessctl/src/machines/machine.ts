/** The machines of a service, and how a user selects them. */
import { CommandFailure, exitCode } from '../failure.js';
import { readEachMember } from '../redfish/collection.js';
import { linkAt, linksAt, numberAt, textAt, type Resource } from '../redfish/resource.js';
import type { Service } from '../redfish/service.js';

/** A machine: DMTF's ComputerSystem, with the values that most commands show. */
export interface Machine {
  readonly service: Service;
  /** The context of the service; undefined if the command line names the service. */
  readonly context: string | undefined;
  /** URI of the ComputerSystem: a path within the service. */
  readonly uri: string;
  readonly name: string;
  readonly id: string;
  readonly uuid: string | undefined;
  /** The ComputerSystem, read at the start of the command. */
  readonly resource: Resource;
}

/** A machine that the service lists, but does not return. */
export interface UnreadMachine {
  readonly context: string | undefined;
  readonly uri: string;
  /** The last segment of the URI, which is the id in most services. */
  readonly id: string;
  readonly failure: CommandFailure;
}

/** The machines of services. */
export interface MachineList {
  /** In the order of their names. */
  readonly machines: readonly Machine[];
  readonly unread: readonly UnreadMachine[];
}

/** Sorts `node-2` before `node-10`. */
const names = new Intl.Collator('en', { numeric: true });

const lastSegment = (uri: string): string => uri.replace(/\/+$/, '').replace(/^.*\//, '');

/**
 * Reads the machines of a service. A machine that fails does not affect the others.
 * @throws {CommandFailure}
 */
export async function readMachines(service: Service, context: string | undefined): Promise<MachineList> {
  const systems = linkAt(service.root, 'Systems');
  if (systems === undefined)
    throw new CommandFailure(exitCode.unavailable, `${service.origin.origin} has no collection of systems`);
  const { members, failed } = await readEachMember(service, systems);
  const machines = members.flatMap((resource): Machine[] => {
    const link = linkAt(resource);
    if (link === undefined) return [];
    // Without its host, because enrollment files append the URI to the address of the service.
    const uri = service.pathOf(link);
    const id = textAt(resource, 'Id') ?? lastSegment(uri);
    const name = textAt(resource, 'Name') ?? id;
    return [{ service, context, uri, id, name, uuid: textAt(resource, 'UUID'), resource }];
  });
  const unread = failed.map(({ link, failure }): UnreadMachine => {
    const uri = service.pathOf(link);
    return { context, uri, id: lastSegment(uri), failure };
  });
  return {
    machines: machines.sort((a, b) => names.compare(a.name, b.name)),
    unread: unread.sort((a, b) => names.compare(a.id, b.id)),
  };
}

/** Returns the lists of several services as one. */
export function joinLists(lists: readonly MachineList[]): MachineList {
  return { machines: lists.flatMap(({ machines }) => machines), unread: lists.flatMap(({ unread }) => unread) };
}

/**
 * Returns the values of a machine that tables and `--json` show. Undefined values are missing in
 * JSON.
 */
export function summaryOf({ context, name, id, uuid, uri, resource }: Machine): MachineSummary {
  return {
    context,
    name,
    id,
    uuid,
    uri,
    power: textAt(resource, 'PowerState'),
    health: textAt(resource, 'Status', 'Health') ?? textAt(resource, 'Status', 'State'),
    state: textAt(resource, 'Status', 'State'),
    manufacturer: textAt(resource, 'Manufacturer'),
    model: textAt(resource, 'Model'),
    serial: textAt(resource, 'SerialNumber'),
    hostName: textAt(resource, 'HostName'),
    bios: textAt(resource, 'BiosVersion'),
    cpus:
      numberAt(resource, 'ProcessorSummary', 'LogicalProcessorCount') ??
      numberAt(resource, 'ProcessorSummary', 'Count'),
    memoryGib: numberAt(resource, 'MemorySummary', 'TotalSystemMemoryGiB'),
  };
}

/** See {@link summaryOf}. */
export interface MachineSummary {
  readonly context: string | undefined;
  readonly name: string;
  readonly id: string;
  readonly uuid: string | undefined;
  readonly uri: string;
  /** `On`, `Off`, `PoweringOn`, … */
  readonly power: string | undefined;
  /** `OK`, `Warning`, `Critical`; `State` if there is no health. */
  readonly health: string | undefined;
  readonly state: string | undefined;
  readonly manufacturer: string | undefined;
  readonly model: string | undefined;
  readonly serial: string | undefined;
  readonly hostName: string | undefined;
  readonly bios: string | undefined;
  /** Logical processors, or sockets if the service has no other number. */
  readonly cpus: number | undefined;
  readonly memoryGib: number | undefined;
}

/** Returns the URIs of the managers (BMCs) of a machine. */
export const managersOf = ({ resource }: Machine): readonly string[] => linksAt(resource, 'Links', 'ManagedBy');

/** Returns the URIs of a machine, its managers and its chassis. */
export const linksOf = (machine: Machine): readonly string[] => [
  machine.uri,
  ...managersOf(machine),
  ...linksAt(machine.resource, 'Links', 'Chassis'),
];

/** Returns all names by which a user may select a machine. */
const namesOf = ({ name, id, uuid, resource }: Machine): readonly string[] =>
  [name, id, uuid, textAt(resource, 'HostName'), textAt(resource, 'SerialNumber')].filter((text) => text !== undefined);

/**
 * Returns the machines that one of the patterns selects. A pattern is a name, an id, a UUID, a host
 * name, a serial number, a unique beginning of one of these, or a glob. While some machines cannot
 * be read, a beginning is not enough: it may be the full name of one of them.
 * @throws {CommandFailure} if a pattern selects none, or if a beginning is not unique.
 */
export function selectMachines(list: MachineList, patterns: readonly string[]): readonly Machine[] {
  const selected = new Set(patterns.flatMap((pattern) => matching(list, pattern)));
  return list.machines.filter((machine) => selected.has(machine));
}

/** Returns whether a pattern is a glob, so that it may select several machines. */
export const isGlob = (pattern: string): boolean => /[*?[]/.test(pattern);

function matching({ machines, unread }: MachineList, pattern: string): readonly Machine[] {
  if (isGlob(pattern)) {
    const expression = globExpression(pattern);
    return required(
      machines.filter((machine) => namesOf(machine).some((name) => expression.test(name))),
      pattern,
      { machines, unread },
    );
  }
  const wanted = pattern.toLowerCase();
  const having = (test: (name: string) => boolean): readonly Machine[] =>
    machines.filter((machine) => namesOf(machine).some((name) => test(name.toLowerCase())));
  const exact = having((name) => name === wanted);
  const isFull = exact.length > 0 || unread.length > 0;
  const found = isFull ? exact : having((name) => name.startsWith(wanted));
  if (found.length > 1)
    throw new CommandFailure(
      exitCode.noMatch,
      `'${pattern}' means ${found.length} machines: ${list(found)}. Name one of them, or use '${pattern}*'`,
    );
  return required(found, pattern, { machines, unread });
}

function required(found: readonly Machine[], pattern: string, all: MachineList): readonly Machine[] {
  if (found.length > 0) return found;
  const { machines, unread } = all;
  if (unread.length > 0) throw unreadFailure(pattern, unread);
  const hint = machines.length === 0 ? 'The service has no machines' : `The machines are: ${list(machines)}`;
  throw new CommandFailure(exitCode.noMatch, `no machine is named '${pattern}'. ${hint}`);
}

/** Returns the failure for a name that one of the unread machines may have. */
function unreadFailure(pattern: string, unread: readonly UnreadMachine[]): CommandFailure {
  const reasons = unread.slice(0, MAX_LISTED).map(({ id, failure }) => `${id}: ${failure.message}`);
  const more = unread.length > MAX_LISTED ? `; and ${unread.length - MAX_LISTED} more` : '';
  const count = unread.length === 1 ? '1 machine' : `${unread.length} machines`;
  return new CommandFailure(
    exitCode.failed,
    `no machine with the full name '${pattern}' was found, but ${count} could not be read: ${reasons.join('; ')}${more}`,
  );
}

const MAX_LISTED = 8;
function list(machines: readonly Machine[]): string {
  // Real BMCs often call every machine `System`.
  const isAmbiguous = new Set(machines.map(({ name }) => name)).size < machines.length;
  const names = machines
    .slice(0, MAX_LISTED)
    .map(({ context = '', name, id }) => (isAmbiguous ? `${id} (${name} ${context})` : name));
  return names.join(', ') + (machines.length > MAX_LISTED ? `, and ${machines.length - MAX_LISTED} more` : '');
}

/** Returns the regular expression of a glob with `*`, `?` and `[a-z]`. It ignores case. */
export function globExpression(glob: string): RegExp {
  const source = glob.replace(/\[!?[^\]]+\]|[^]/gu, (part) => {
    if (part === '*') return '.*';
    if (part === '?') return '.';
    if (part.length > 2 && part.startsWith('['))
      return `[${part
        .slice(1, -1)
        .replace(/^!/, '^')
        .replace(/[\\\]]/g, '\\$&')}]`;
    return part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  });
  try {
    return new RegExp(`^${source}$`, 'iu');
  } catch (error) {
    throw new CommandFailure(exitCode.usage, `'${glob}' is not a valid pattern`, { cause: error });
  }
}
