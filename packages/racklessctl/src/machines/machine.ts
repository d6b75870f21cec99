/** The machines of a service, and how a user selects them. */
import { CommandFailure, exitCode } from '../failure.js';
import { readEachMember } from '../redfish/collection.js';
import { globExpression, isGlob } from './glob.js';
import { lastSegment, linkAt, linksAt, numberAt, textAt, type Resource } from '../redfish/resource.js';
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
  /** The ComputerSystem as the command has read it. The command may have changed the machine since then. */
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
  /** In the order of the services. Within a service, by name. */
  readonly machines: readonly Machine[];
  readonly unread: readonly UnreadMachine[];
  /** Contexts that failed, so that all their machines are missing. */
  readonly failedContexts: readonly string[];
}

/** Sorts `node-2` before `node-10`. */
const nameOrder = new Intl.Collator('en', { numeric: true });

/**
 * Reads the machines of a service. A machine that the service does not return is in `unread`. Leaves out
 * a machine that the service lists, but does not have or does not show (403, 404, 405, 501).
 * @throws {CommandFailure} if the collection of machines cannot be read, or if the service rejects the
 *   credentials.
 */
export async function readMachines(service: Service, context: string | undefined): Promise<MachineList> {
  const systems = linkAt(service.root, 'Systems');
  if (systems === undefined)
    throw new CommandFailure(exitCode.unavailable, `${service.origin.origin} has no collection of systems`);
  const { members, failed } = await readEachMember(service, systems);
  const machines = members.flatMap((resource): Machine[] => {
    const link = linkAt(resource);
    if (link === undefined) return [];
    // Removes the host of the link, because enrollment files append the URI to the address of the service.
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
    machines: machines.sort((a, b) => nameOrder.compare(a.name, b.name)),
    unread: unread.sort((a, b) => nameOrder.compare(a.id, b.id)),
    failedContexts: [],
  };
}

/** Returns the lists of several services as one. */
export function joinLists(lists: readonly MachineList[], failedContexts: readonly string[]): MachineList {
  return {
    machines: lists.flatMap(({ machines }) => machines),
    unread: lists.flatMap(({ unread }) => unread),
    failedContexts,
  };
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
    chassis: chassisOf({ id, resource }),
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
  /** Ids of the chassis that contain the machine, without a chassis that has the id of the machine. */
  readonly chassis: readonly string[];
  /** `On`, `Off`, `PoweringOn`, … */
  readonly power: string | undefined;
  /** `OK`, `Warning`, `Critical`; the value of `state` if there is no health. */
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

/**
 * Returns the ids of the chassis that contain a machine. Leaves out a chassis that has the id of the machine,
 * because it does not tell the user where the machine is.
 */
export const chassisOf = ({ id, resource }: Pick<Machine, 'id' | 'resource'>): readonly string[] =>
  linksAt(resource, 'Links', 'Chassis')
    .map(lastSegment)
    .filter((chassis) => chassis !== id);

/** Returns the URIs of a machine, its managers and its chassis. */
export const linksOf = (machine: Machine): readonly string[] => [
  machine.uri,
  ...managersOf(machine),
  ...linksAt(machine.resource, 'Links', 'Chassis'),
];

/** Returns all names by which a user may select a machine. */
export const namesOf = ({ name, id, uuid, resource }: Machine): readonly string[] =>
  [name, id, uuid, textAt(resource, 'HostName'), textAt(resource, 'SerialNumber')].filter((text) => text !== undefined);

/**
 * Returns the machines that one of the patterns selects. A pattern is a name, an id, a UUID, a host
 * name, a serial number, a unique beginning of one of these, or a glob. If machines are missing, a
 * glob selects those of the other machines that it matches. All other patterns must then be complete
 * texts that no missing machine can have: a UUID, a serial number, or the id or name of a machine to
 * whose service all missing machines belong.
 * @throws {CommandFailure} if a pattern selects no machine, is an invalid glob, or is no glob and may mean several.
 */
export function selectMachines(list: MachineList, patterns: readonly string[]): readonly Machine[] {
  return selectBy(list, patterns, (pattern) => {
    if (isGlob(pattern)) return required(matching(list, pattern), pattern, list);
    const machine = named(list, pattern);
    if (!isUnique(list, machine, pattern)) throw sharedNameFailure(list, machine, pattern);
    return [machine];
  });
}

/**
 * Returns the machines that a command only shows. If machines are missing, a complete name is enough,
 * although a missing machine may have the same name. A glob that matches only unread machines is no
 * error.
 * @throws {CommandFailure} in all other cases, as {@link selectMachines}.
 */
export function selectShownMachines(list: MachineList, patterns: readonly string[]): readonly Machine[] {
  return selectBy(list, patterns, (pattern) => {
    if (!isGlob(pattern)) return [named(list, pattern)];
    const found = matching(list, pattern);
    return unreadMatching(list, pattern).length > 0 ? found : required(found, pattern, list);
  });
}

/** Returns the unread machines whose id matches a glob. */
export function unreadMatching({ unread }: MachineList, glob: string): readonly UnreadMachine[] {
  const expression = globExpression(glob);
  return unread.filter(({ id }) => expression.test(id));
}

/** Returns the machines that a function finds for the patterns, in the order of the list. */
function selectBy(
  { machines }: MachineList,
  patterns: readonly string[],
  find: (pattern: string) => readonly Machine[],
): readonly Machine[] {
  const selected = new Set(patterns.flatMap(find));
  return machines.filter((machine) => selected.has(machine));
}

function matching({ machines }: MachineList, glob: string): readonly Machine[] {
  const expression = globExpression(glob);
  return machines.filter((machine) => namesOf(machine).some((name) => expression.test(name)));
}

const isComplete = ({ unread, failedContexts }: MachineList): boolean =>
  unread.length === 0 && failedContexts.length === 0;

/**
 * Returns the machine with a name. If there is none and no machine is missing, returns the machine with a name that
 * begins with the pattern.
 * @throws {CommandFailure} if there is no such machine, or if there are several.
 */
function named(all: MachineList, pattern: string): Machine {
  const wanted = pattern.toLowerCase();
  const having = (test: (name: string) => boolean): readonly Machine[] =>
    all.machines.filter((machine) => namesOf(machine).some((name) => test(name.toLowerCase())));
  const exact = having((name) => name === wanted);
  const isFull = exact.length > 0 || !isComplete(all);
  const [machine, ...others] = required(isFull ? exact : having((name) => name.startsWith(wanted)), pattern, all);
  if (others.length > 0)
    throw new CommandFailure(
      exitCode.noMatch,
      `'${pattern}' matches ${others.length + 1} machines: ${list([machine, ...others])}. ` +
        `Name one of them, or use '${pattern}*'`,
    );
  return machine;
}

/** Returns the texts of a machine that no missing machine can have. */
function uniqueNames({ unread, failedContexts }: MachineList, machine: Machine): readonly string[] {
  const { context, id, name, uuid, resource } = machine;
  // Ids and names are unique only within a service. Many real BMCs have one machine with the id `1`
  // and the name `System`.
  const isAlone = failedContexts.length === 0 && unread.every((each) => each.context === context);
  return [uuid, textAt(resource, 'SerialNumber'), ...(isAlone ? [id, name] : [])].filter((text) => text !== undefined);
}

/** Returns whether no missing machine can have the name that selects a machine. */
function isUnique(all: MachineList, machine: Machine, pattern: string): boolean {
  if (isComplete(all)) return true;
  const wanted = pattern.toLowerCase();
  const isOfUnread = all.unread.some(({ id }) => id.toLowerCase() === wanted);
  return !isOfUnread && uniqueNames(all, machine).some((name) => name.toLowerCase() === wanted);
}

/** Returns the found machines. @throws {CommandFailure} if there are none. */
function required(found: readonly Machine[], pattern: string, all: MachineList): readonly [Machine, ...Machine[]] {
  const [first, ...others] = found;
  if (first !== undefined) return [first, ...others];
  if (!isComplete(all)) throw missingFailure(pattern, all);
  const hint = all.machines.length === 0 ? 'The service has no machines' : `The machines are: ${list(all.machines)}`;
  throw new CommandFailure(exitCode.noMatch, `there is no machine '${pattern}'. ${hint}`);
}

/** Returns the failure for a pattern that one of the missing machines may match. */
function missingFailure(pattern: string, all: MachineList): CommandFailure {
  const found = isGlob(pattern)
    ? `no machine matches '${pattern}'`
    : `no machine with the full name '${pattern}' was found`;
  return new CommandFailure(exitCode.failed, `${found}, but ${missingText(all)}`);
}

/** Returns the failure for a name that one of the missing machines may also have. */
function sharedNameFailure(all: MachineList, machine: Machine, pattern: string): CommandFailure {
  const { context = '' } = machine;
  const unique = uniqueNames(all, machine).find((name) => name.toLowerCase() !== pattern.toLowerCase());
  const hint = unique === undefined ? `Select its context with --context '${context}'` : `Name it '${unique}'`;
  return new CommandFailure(
    exitCode.failed,
    `'${pattern}' may also be the name of another machine, because ${missingText(all)}. ${hint}`,
  );
}

/** Says which machines are missing, and why. */
function missingText({ unread, failedContexts }: MachineList): string {
  const contexts = failedContexts.length === 0 ? [] : [`these contexts failed: ${failedContexts.join(', ')}`];
  if (unread.length === 0) return contexts.join();
  const reasons = unread.slice(0, MAX_LISTED).map(({ id, failure }) => `${id}: ${failure.message}`);
  const more = unread.length > MAX_LISTED ? `; and ${unread.length - MAX_LISTED} more` : '';
  const count = unread.length === 1 ? '1 machine' : `${unread.length} machines`;
  return [...contexts, `${count} could not be read: ${reasons.join('; ')}${more}`].join('; ');
}

const MAX_LISTED = 8;
function list(machines: readonly Machine[]): string {
  // Real BMCs often call every machine `System`. Then only the ids help the user.
  const isAmbiguous = new Set(machines.map(({ name }) => name)).size < machines.length;
  const names = machines.slice(0, MAX_LISTED).map((machine) => {
    const { context, name, id } = machine;
    const label = [context === undefined ? name : `${name} in ${context}`, ...chassisOf(machine)].join(', ');
    return isAmbiguous ? `${id} (${label})` : name;
  });
  return names.join(', ') + (machines.length > MAX_LISTED ? `, and ${machines.length - MAX_LISTED} more` : '');
}
