/** Logs of a machine, of its managers and of its chassis. */
import { CommandFailure, exitCode } from '../failure.js';
import { readMembers, readPossibleMembers } from '../redfish/collection.js';
import { linkAt, linksAt, objectAt, textAt, textsAt, type Resource } from '../redfish/resource.js';
import { completeTask, type TaskOptions } from '../redfish/task.js';
import { managersOf, type Machine } from './machine.js';

/** A log: DMTF's LogService. */
export interface Log {
  readonly id: string;
  readonly name: string | undefined;
  /** `system`, `manager` or `chassis`. */
  readonly owner: string;
  readonly uri: string;
  /** URI of the collection of entries; undefined if the service reports none. */
  readonly entries: string | undefined;
  /** URI of the action that clears the log; undefined if the service offers no such action. */
  readonly clear: string | undefined;
}

/** An entry of a log. */
export interface LogEntry {
  /** URI of the entry; its `Id` if the service reports no URI. */
  readonly id: string;
  /** ISO 8601. */
  readonly time: string | undefined;
  readonly severity: string | undefined;
  readonly message: string;
}

/** Reads the logs of a machine, of its managers and of its chassis. @throws {CommandFailure} */
export async function readLogs(machine: Machine): Promise<readonly Log[]> {
  const { service, resource } = machine;
  const logs: Log[] = [];
  const owners = [
    { owner: 'system', uris: [undefined] },
    { owner: 'manager', uris: managersOf(machine) },
    { owner: 'chassis', uris: linksAt(resource, 'Links', 'Chassis') },
  ];
  for (const { owner, uris } of owners)
    for (const uri of uris) {
      const collection = linkAt(uri === undefined ? resource : await service.find(uri), 'LogServices');
      if (collection !== undefined)
        logs.push(...(await readMembers(service, collection)).flatMap((member) => logOf(member, owner)));
    }
  return logs;
}

function logOf(resource: Resource, owner: string): Log[] {
  const uri = linkAt(resource);
  if (uri === undefined) return [];
  return [
    {
      id: textAt(resource, 'Id') ?? uri.replace(/^.*\//, ''),
      name: textAt(resource, 'Name'),
      owner,
      uri,
      entries: linkAt(resource, 'Entries'),
      clear: linkAt(objectAt(resource, 'Actions', '#LogService.ClearLog'), 'target'),
    },
  ];
}

/** Ids that services usually give to their event logs. */
const EVENT_LOG = /^(event ?log|sel|log1?|iml|events?)$/i;

/**
 * Returns the log with an id; ignores case. Without an id, returns the first log whose id is usual for
 * event logs, or the first of all logs if there is no such log.
 * @throws {CommandFailure} if the machine has no logs, or none with the id, or if a read fails.
 */
export async function findLog(machine: Machine, id: string | undefined): Promise<Log> {
  const logs = await readLogs(machine);
  const [first] = logs;
  if (first === undefined) throw new CommandFailure(exitCode.failed, 'the service offers no logs for this machine');
  const found =
    id === undefined
      ? (logs.find((log) => EVENT_LOG.test(log.id)) ?? first)
      : logs.find((log) => log.id.toLowerCase() === id.toLowerCase());
  if (found !== undefined) return found;
  throw new CommandFailure(
    exitCode.noMatch,
    `there is no log '${id ?? ''}'. The logs are: ${logs.map((log) => `${log.id} (${log.owner})`).join(', ')}`,
  );
}

/** Entries of a log, the oldest first. */
interface LogReading {
  readonly entries: readonly LogEntry[];
  /** Why entries are missing; undefined if no entry is missing. */
  readonly failure: CommandFailure | undefined;
}

/**
 * Reads the entries of a log, as far as the service returns them.
 * @throws {CommandFailure} if the log has no collection of entries, if no entry can be read because of a
 *   failure, or as `readPossibleMembers`.
 */
export async function readEntries({ service }: Machine, { id, entries }: Log): Promise<LogReading> {
  if (entries === undefined) throw new CommandFailure(exitCode.failed, `the log ${id} has no entries to read`);
  const { members, failure } = await readPossibleMembers(service, entries);
  if (failure !== undefined && members.length === 0) throw failure;
  const read = members.map(entryOf);
  // Some services send the newest entry first. The sort does not change the order of entries with the same time,
  // so this function first reverses such a list.
  const newestFirst = timeOf(read[0]) > timeOf(read.at(-1));
  return { entries: (newestFirst ? read.reverse() : read).sort((a, b) => timeOf(a) - timeOf(b)), failure };
}

const timeOf = (entry: LogEntry | undefined): number => {
  const time = Date.parse(entry?.time ?? '');
  return Number.isNaN(time) ? 0 : time;
};

function entryOf(resource: Resource): LogEntry {
  return {
    id: linkAt(resource) ?? textAt(resource, 'Id') ?? '',
    time: textAt(resource, 'EventTimestamp') ?? textAt(resource, 'Created'),
    severity: textAt(resource, 'Severity'),
    message:
      textAt(resource, 'Message') ??
      [textAt(resource, 'MessageId'), ...(textsAt(resource, 'MessageArgs') ?? [])].filter((text) => text).join(' '),
  };
}

/** Clears a log. @throws {CommandFailure} also if the service offers no action for it. */
export async function clearLog({ service }: Machine, { id, clear }: Log, options: TaskOptions): Promise<void> {
  if (clear === undefined) throw new CommandFailure(exitCode.failed, `the log ${id} cannot be cleared`);
  await completeTask(service, await service.post(clear, {}, `clearing the log ${id}`), options);
}
