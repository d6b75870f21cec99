/** The logs of the machines and of the service, written from the bus: what happened, who asked for it, and from where. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '@rackless/daemon/log.js';
import { removeLeftoversIn } from '@rackless/daemon/replace-file.js';
import { taskEventRegistry } from '../redfish/task-event-registry.js';
import type { EventBus, ServiceEvent } from './event-bus.js';
import { eventText } from './event-record.js';
import { LogFile, type LogRecord } from './log-file.js';

export type { LogRecord } from './log-file.js';

/** One of the logs. */
export interface EventLog {
  /** Oldest first; the same array until an entry is added. */
  read(): Promise<readonly LogRecord[]>;
  clear(): Promise<void>;
}

/** All logs of a service; closed with it. */
export interface EventLogs {
  /** @param uuid canonical, of a machine that there is. */
  ofSystem(uuid: string): EventLog;
  /** Of the service: sessions, accounts, subscriptions, settings. */
  readonly ofService: EventLog;
  /** Removes the logs of machines that went while nobody listened. */
  retain(uuids: ReadonlySet<string>): Promise<void>;
  /** Records in a log. */
  readonly limit: number;
  /** Resolves when everything is on the disk. */
  close(): Promise<void>;
}

export interface EventLogsOptions {
  readonly bus: EventBus;
  /** Of this service alone; made with the first entry. */
  readonly folder: string;
  readonly limit: number;
  readonly log: Pick<Log, 'warn'>;
}

const SERVICE = 'service';
/** Logs whose entries are in memory: those that were used last. */
const IN_MEMORY = 16;
/** The longest text of an entry. */
const LONGEST = 1_000;

/** Begins to listen. */
export function openEventLogs({ bus, folder, limit, log }: EventLogsOptions): EventLogs {
  const files = new Map<string, LogFile>();
  const removals = new Map<string, Promise<void>>();
  const recent: string[] = [];

  for (const leftover of removeLeftoversIn(folder, (name) => name.endsWith('.jsonl.new')))
    log.warn(`removed ${leftover}, which a killed process left`);
  const fileOf = (name: string): LogFile => {
    const known = files.get(name);
    if (known !== undefined) return known;
    const file = new LogFile({ path: path.join(folder, `${name}.jsonl`), limit, log, after: removals.get(name) });
    files.set(name, file);
    return file;
  };
  const touch = (name: string): void => {
    if (recent.at(-1) === name) return;
    const place = recent.indexOf(name);
    if (place !== -1) recent.splice(place, 1);
    recent.push(name);
    const oldest = recent.length > IN_MEMORY ? recent.shift() : undefined;
    if (oldest !== undefined) files.get(oldest)?.forget();
  };
  const logOf = (name: string): EventLog => ({
    read: () => {
      touch(name);
      return fileOf(name).read();
    },
    clear: () => fileOf(name).clear(),
  });
  const remove = async (name: string): Promise<void> => {
    const file = fileOf(name);
    files.delete(name);
    const removal = file.remove().catch((error: unknown) => log.warn(`removing the log of ${name} failed`, { error }));
    removals.set(name, removal);
    await removal;
    if (removals.get(name) === removal) removals.delete(name);
  };

  const leave = bus.subscribe((event) => {
    const name = placeOf(event);
    if (name === null) return;
    if (isEndOfMachine(event)) {
      // A machine that is made anew under the same UUID is another one.
      void remove(name);
      return;
    }
    touch(name);
    fileOf(name).append(recordOf(event));
  });

  return {
    ofSystem: (uuid) => logOf(fileName(uuid)),
    ofService: logOf(SERVICE),
    async retain(uuids) {
      const names = await readdir(folder).catch(() => []);
      const left = names
        .flatMap((name) => /^(.+)\.jsonl$/.exec(name)?.[1] ?? [])
        .filter((name) => name !== SERVICE && !uuids.has(name));
      await Promise.all(left.map(remove));
    },
    limit,
    async close() {
      leave();
      await Promise.allSettled([...files.values()].map((file) => file.flushed()));
    },
  };
}

/** The log that an event goes into; null for none. */
function placeOf({ messageId, origin, system }: ServiceEvent): string | null {
  // How far a task is, and that a client has put it away, is of no interest later.
  if (messageId === `${taskEventRegistry}.TaskProgressChanged`) return null;
  if (origin.startsWith('/redfish/v1/TaskService/') && !messageId.startsWith('TaskEvent.')) return null;
  if (system === null) return SERVICE;
  // The manager's own settings; its drives are the machine's.
  const isManager = origin.startsWith('/redfish/v1/Managers/') && !origin.includes('/VirtualMedia');
  return isManager ? SERVICE : fileName(system);
}

/** A UUID is a file name; anything else that a URI may hold is not to become one. */
function fileName(uuid: string): string {
  return uuid.replace(/[^\w-]/g, '_');
}

function isEndOfMachine({ messageId, origin, system }: ServiceEvent): boolean {
  return system !== null && messageId.endsWith('.ResourceRemoved') && /^\/redfish\/v1\/Systems\/[^/]+$/.test(origin);
}

function recordOf(event: ServiceEvent): Omit<LogRecord, 'id'> {
  const { message } = eventText(event);
  const text = event.detail === undefined ? message : `${message} ${event.detail}`;
  return {
    time: event.time.toISOString(),
    messageId: event.messageId,
    args: [...event.messageArgs],
    severity: event.severity,
    message: text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text,
    origin: event.origin,
    ...(event.actor === null ? {} : { actor: { user: event.actor.user, address: event.actor.address } }),
  };
}
