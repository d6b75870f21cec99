/**
 * Writes the events of the bus into the logs of the machines and of the service. If a Redfish client caused
 * the event, the entry also has the client's user and address.
 */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '@rackless/daemon/log/log.js';
import { removeLeftoversIn } from '@rackless/daemon/files/replace-file.js';
import { fileNameOf } from '@rackless/daemon/text/file-name.js';
import type { EventBus } from './event-bus.js';
import { LogFile, type LogRecord } from './log-file.js';
import { isEndOfMachine, logNameOf, recordOf, SERVICE_LOG } from './log-records.js';

export type { LogRecord } from './log-file.js';

/** One log. */
export interface EventLog {
  /**
   * Returns the entries, oldest first. Returns the same array until an entry is added, the log is
   * cleared, or its memory is freed for other logs.
   */
  read(): Promise<readonly LogRecord[]>;
  /** Removes all entries. */
  clear(): Promise<void>;
}

/** All logs of a service. Close them with the service. */
export interface EventLogs {
  /**
   * Returns the log of a machine.
   * @param uuid the canonical UUID of an existing machine.
   */
  ofSystem(uuid: string): EventLog;
  /** The log of events that belong to no machine, such as those of sessions, accounts, subscriptions and managers. */
  readonly ofService: EventLog;
  /**
   * Removes the logs of machines that were removed while the service did not run.
   * @param uuids the machines that exist.
   */
  retain(uuids: ReadonlySet<string>): Promise<void>;
  /** Maximum number of records in a log. */
  readonly limit: number;
  /** Stops logging. Resolves when all entries are written, or writing has failed. */
  close(): Promise<void>;
}

interface EventLogsOptions {
  readonly bus: EventBus;
  /** A folder for this service only; created with the first entry. */
  readonly folder: string;
  readonly limit: number;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Maximum number of logs whose entries are in memory: the most recently used ones. */
const IN_MEMORY = 16;

/** Opens the logs and subscribes to the bus. */
export function openEventLogs({ bus, folder, limit, log }: EventLogsOptions): EventLogs {
  const files = new Map<string, LogFile>();
  const removals = new Map<string, Promise<void>>();
  const recent: string[] = [];

  for (const leftover of removeLeftoversIn(folder, (name) => name.endsWith('.jsonl.new')))
    log.warn(`removed ${leftover}, which a killed process left`);
  /** Returns the file of a log; creates the object at its first use. */
  const fileOf = (name: string): LogFile => {
    const known = files.get(name);
    if (known !== undefined) return known;
    const file = new LogFile({ path: path.join(folder, `${name}.jsonl`), limit, log, after: removals.get(name) });
    files.set(name, file);
    return file;
  };
  /** Marks a log as used. Above {@link IN_MEMORY} logs, frees the records of the log with the oldest use. */
  const markUsed = (name: string): void => {
    if (recent.at(-1) === name) return;
    const place = recent.indexOf(name);
    if (place !== -1) recent.splice(place, 1);
    recent.push(name);
    const oldest = recent.length > IN_MEMORY ? recent.shift() : undefined;
    if (oldest !== undefined) files.get(oldest)?.forget();
  };
  const logOf = (name: string): EventLog => ({
    read: () => {
      markUsed(name);
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

  const unsubscribe = bus.subscribe((event) => {
    const name = logNameOf(event);
    if (name === null) return;
    if (isEndOfMachine(event)) {
      // A machine that is created later with the same UUID is a different machine, so it needs a new log.
      void remove(name);
      return;
    }
    markUsed(name);
    fileOf(name).append(recordOf(event));
  });

  return {
    ofSystem: (uuid) => logOf(fileNameOf(uuid)),
    ofService: logOf(SERVICE_LOG),
    async retain(uuids) {
      const names = await readdir(folder).catch(() => []);
      const obsolete = names
        .flatMap((name) => /^(.+)\.jsonl$/.exec(name)?.[1] ?? [])
        .filter((name) => name !== SERVICE_LOG && !uuids.has(name));
      await Promise.all(obsolete.map(remove));
    },
    limit,
    async close() {
      unsubscribe();
      await Promise.allSettled([...files.values()].map((file) => file.flush()));
    },
  };
}
