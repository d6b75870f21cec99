/**
 * Records the output of all serial ports on the disk, by machine and boot. The log is bounded,
 * survives restarts of the daemon, and lasts as long as the machine is defined.
 */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '@rackless/daemon/log/log.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import type { ConsoleHub } from './console-hub.js';
import { ConsoleLogFolder, type Boot, type ConsoleLogLimits } from './console-log-folder.js';
import { lastLines, type ConsoleLine } from './console-log-lines.js';
import { ConsoleRecording, type RecordingPace } from './console-log-recording.js';

export type { Boot } from './console-log-folder.js';

/** A boot, or a line of one. */
export type ConsoleLogRecord =
  | { readonly kind: 'boot'; readonly boot: Boot }
  | { readonly kind: 'line'; readonly boot: number; readonly line: ConsoleLine };

/** The log of one machine. */
export interface ConsoleLog {
  /**
   * Returns all stored boots, each followed by its lines among the last `limit` records. Returns
   * the same array until something changes.
   */
  read(): Promise<readonly ConsoleLogRecord[]>;
  /** Returns the stored text of a boot, as it was printed; undefined if there is no such boot. */
  text(boot: number): Promise<Buffer | undefined>;
  /** Removes all boots. */
  clear(): Promise<void>;
}

/** The logs of all machines. */
export interface ConsoleLogs {
  /** @param uuid canonical UUID of an existing machine. */
  ofSystem(uuid: string): ConsoleLog;
  /** Maximum number of records from {@link ConsoleLog.read}. */
  readonly limit: number;
  /** Starts recording as soon as the host lists its machines. */
  start(): void;
  /** Detaches from all consoles, and resolves when everything is on the disk. */
  close(): Promise<void>;
}

/** How much is stored, and how much is written at a time. */
export interface ConsoleLogBounds extends ConsoleLogLimits, RecordingPace {
  /** Maximum number of records of a machine, lines and boots. */
  readonly records: number;
  /**
   * On the disk, for all machines. Above it the oldest boots are removed, except the last boot of
   * each machine.
   */
  readonly totalBytes: number;
  /** The minimum time between two warnings about failed writes. */
  readonly warnEveryMs: number;
  /** The pause until the next request for the list of machines. */
  readonly lookEveryMs: number;
}

const KIB = 1024;

/** The default limits: at least the first and the last 256 KiB of a boot. */
export const consoleLogBounds: ConsoleLogBounds = {
  segmentBytes: 64 * KIB,
  firstSegments: 4,
  lastSegments: 5,
  boots: 8,
  records: 1_000,
  totalBytes: 512 * KIB * KIB,
  flushMs: 1_000,
  flushBytes: 32 * KIB,
  maxPending: 64 * KIB,
  bytesPerSecond: 16 * KIB,
  burstBytes: 512 * KIB,
  retryMs: 10_000,
  warnEveryMs: 600_000,
  lookEveryMs: 5_000,
};

/** Options of {@link openConsoleLogs}. */
interface ConsoleLogsOptions {
  readonly driver: Pick<HypervisorDriver, 'console' | 'listSystems' | 'onChange'>;
  readonly hub: Pick<ConsoleHub, 'attach'>;
  /** Used by this module alone; created with the first text. */
  readonly folder: string;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Default: {@link consoleLogBounds}. */
  readonly bounds?: ConsoleLogBounds;
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: () => number;
}

/** The recording of one machine. */
interface Recorded {
  readonly recording: ConsoleRecording;
  readonly folder: ConsoleLogFolder;
  readonly detach: () => void;
}

/** Number of machines whose records are cached. */
const IN_MEMORY = 8;

/** Registers with the driver; connects to no console until `start`. */
export function openConsoleLogs(options: ConsoleLogsOptions): ConsoleLogs {
  const { driver, hub, folder: root, log, bounds = consoleLogBounds, now = Date.now } = options;
  const machines = new Map<string, Recorded>();
  const removals = new Map<string, Promise<void>>();
  const cache = new Map<string, { readonly version: number; readonly records: readonly ConsoleLogRecord[] }>();
  /** A failure was logged, its end not yet. */
  let isFailing = false;
  let warnedAt = -Infinity;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  const total = (): number => [...machines.values()].reduce((sum, { folder }) => sum + folder.size, 0);
  const onWritten = (): void => {
    if (isFailing) log.info(`writing console logs works again in ${root}`);
    isFailing = false;
    if (total() > bounds.totalBytes) void makeRoom();
  };
  const onFailed = (error: unknown): void => {
    // Warns once: a full disk fails for every machine, again and again, with small writes that
    // succeed between.
    const time = performance.now();
    if (time - warnedAt < bounds.warnEveryMs) return;
    warnedAt = time;
    isFailing = true;
    log.warn(`writing console logs to ${root} failed: new output is not stored`, { error });
  };
  const instanceOf = async (uuid: string): Promise<string | null> => {
    try {
      return (await driver.console?.instance(uuid)) ?? null;
    } catch {
      // The machine stopped, or the host does not answer: the next text starts a new boot.
      return null;
    }
  };

  const record = (uuid: string): Recorded => {
    const known = machines.get(uuid);
    if (known !== undefined) return known;
    const folder = new ConsoleLogFolder(path.join(root, fileName(uuid)), bounds);
    const instance = () => instanceOf(uuid);
    const recording = new ConsoleRecording(
      { folder, instance, now, pace: bounds, onWritten, onFailed },
      removals.get(uuid),
    );
    const attachment = hub.attach(uuid, {
      data: (bytes) => recording.data(bytes),
      state: (state) => (state === 'open' ? recording.opened() : recording.closed()),
    });
    const recorded = { recording, folder, detach: () => attachment.detach() };
    machines.set(uuid, recorded);
    // Counts what the disk already has.
    recording.read((own) => own.boots()).catch(onFailed);
    return recorded;
  };
  const forget = async (uuid: string): Promise<void> => {
    const known = machines.get(uuid);
    if (known === undefined) return;
    known.detach();
    machines.delete(uuid);
    cache.delete(uuid);
    const removal = known.recording
      .remove()
      .catch((error: unknown) => log.warn(`removing the console log of ${uuid} failed`, { error }));
    removals.set(uuid, removal);
    await removal;
    if (removals.get(uuid) === removal) removals.delete(uuid);
  };

  /** Removes the oldest boots of all machines. */
  let makingRoom = false;
  const makeRoom = async (): Promise<void> => {
    if (makingRoom) return;
    makingRoom = true;
    try {
      while (total() > bounds.totalBytes) {
        const oldest = await findOldest([...machines.values()]);
        if (oldest === undefined) return;
        await oldest.read((own) => own.removeOldest());
        cache.clear();
      }
    } catch (error) {
      onFailed(error);
    } finally {
      makingRoom = false;
    }
  };

  const listMachines = async (): Promise<void> => {
    timer = undefined;
    try {
      const listed = new Set((await driver.listSystems()).map(({ uuid }) => uuid));
      if (isClosed) return;
      for (const uuid of listed) record(uuid);
      // Removes folders of machines that were undefined while the daemon did not run.
      const names = await readdir(root).catch(() => []);
      const present = new Set([...listed, ...machines.keys()].map(fileName));
      const gone = names.filter((name) => !present.has(name));
      await Promise.all(gone.map((name) => new ConsoleLogFolder(path.join(root, name), bounds).remove()));
    } catch {
      // The host does not answer yet.
      timer = setTimeout(() => void listMachines(), bounds.lookEveryMs).unref();
    }
  };
  const leave = driver.onChange(({ kind, uuid }) => {
    if (kind === 'undefined') {
      void forget(uuid);
      return;
    }
    const isThere = kind === 'defined' || kind === 'started';
    (isThere ? record(uuid) : machines.get(uuid))?.recording.changed(kind);
  });

  const read = async (uuid: string): Promise<readonly ConsoleLogRecord[]> => {
    const { recording } = record(uuid);
    return await recording.read(async (folder) => {
      const { version } = recording;
      const known = cache.get(uuid);
      // Map order is the order of use: the first entry is evicted.
      cache.delete(uuid);
      const records = known?.version === version ? known.records : await recordsIn(folder, bounds.records);
      cache.set(uuid, { version, records });
      const [first] = cache.keys();
      if (cache.size > IN_MEMORY && first !== undefined) cache.delete(first);
      return records;
    });
  };

  return {
    limit: bounds.records,
    start: () => void listMachines(),
    ofSystem: (uuid) => ({
      read: () => read(uuid),
      text: (boot) =>
        record(uuid).recording.read(async (folder) => {
          const isThere = (await folder.boots()).some(({ number }) => number === boot);
          return isThere ? await folder.text(boot) : undefined;
        }),
      clear: () => record(uuid).recording.clear(),
    }),
    async close() {
      isClosed = true;
      clearTimeout(timer);
      leave();
      for (const { detach } of machines.values()) detach();
      await Promise.allSettled([...machines.values()].map(({ recording }) => recording.flushed()));
    },
  };
}

/** Returns the machine whose oldest removable boot began first. */
async function findOldest(machines: readonly Recorded[]): Promise<ConsoleRecording | undefined> {
  let oldest: { readonly recording: ConsoleRecording; readonly began: string } | undefined;
  for (const { recording } of machines) {
    const [first, ...others] = await recording.read((folder) => folder.boots());
    if (first === undefined || others.length === 0) continue;
    if (oldest === undefined || first.began < oldest.began) oldest = { recording, began: first.began };
  }
  return oldest?.recording;
}

/** Returns the boots with their lines, `most` records at most. */
async function recordsIn(folder: ConsoleLogFolder, max: number): Promise<readonly ConsoleLogRecord[]> {
  const boots = await folder.boots();
  let left = max - boots.length;
  const newestFirst: (readonly ConsoleLogRecord[])[] = [];
  for (const boot of boots.toReversed()) {
    const lines = left > 0 ? await linesOf(folder, boot, left) : [];
    left -= lines.length;
    newestFirst.push([
      { kind: 'boot', boot },
      ...lines.map((line) => ({ kind: 'line' as const, boot: boot.number, line })),
    ]);
  }
  return newestFirst.reverse().flat();
}

async function linesOf(folder: ConsoleLogFolder, boot: Boot, max: number): Promise<readonly ConsoleLine[]> {
  let lines: readonly ConsoleLine[] = [];
  for (const stretch of (await folder.stretches(boot.number)).toReversed()) {
    if (lines.length < max) lines = [...lastLines(stretch, max - lines.length, Date.parse(boot.began)), ...lines];
  }
  return lines;
}

/** Makes a safe file name. A UUID stays as it is. */
function fileName(uuid: string): string {
  return uuid.replace(/[^\w-]/g, '_');
}
