/**
 * What the serial ports of the machines print, kept on the disk by machine and by boot: bounded, over restarts of this service, and
 * for as long as the machine is defined.
 */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '@rackless/daemon/log.js';
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

/** Of one machine. */
export interface ConsoleLog {
  /** Every boot that is kept, each followed by those of its lines that are among the last; the same array until something comes. */
  read(): Promise<readonly ConsoleLogRecord[]>;
  /** All that is kept of a boot, as it was printed; undefined where there is none of that number. */
  text(boot: number): Promise<Buffer | undefined>;
  /** Forgets all of it. */
  clear(): Promise<void>;
}

export interface ConsoleLogs {
  /** @param uuid canonical, of a machine that there is. */
  ofSystem(uuid: string): ConsoleLog;
  /** Records that {@link ConsoleLog.read} gives at most. */
  readonly limit: number;
  /** Begins to record, as soon as the host says which machines there are. */
  start(): void;
  /** Lets go of the ports, and resolves when everything is on the disk. */
  close(): Promise<void>;
}

/** How much is kept and how much of it is written at a time. */
export interface ConsoleLogBounds extends ConsoleLogLimits, RecordingPace {
  /** Records of a machine, lines and boots. */
  readonly records: number;
  /** On the disk, of all machines; beyond it the oldest boots go, but for the last one of each machine. */
  readonly totalBytes: number;
  /** Between two lines in the service's log about what can not be written. */
  readonly warnEveryMs: number;
  /** Until the host is asked again for its machines. */
  readonly lookEveryMs: number;
}

const KIB = 1024;

/** What the service keeps to. Of a boot at least the first and the last 256 KiB. */
export const consoleLogBounds: ConsoleLogBounds = {
  segmentBytes: 64 * KIB,
  firstSegments: 4,
  lastSegments: 5,
  boots: 8,
  records: 1_000,
  totalBytes: 512 * KIB * KIB,
  flushMs: 1_000,
  flushBytes: 32 * KIB,
  mostPending: 64 * KIB,
  bytesPerSecond: 16 * KIB,
  burstBytes: 512 * KIB,
  retryMs: 10_000,
  warnEveryMs: 600_000,
  lookEveryMs: 5_000,
};

export interface ConsoleLogsOptions {
  readonly driver: Pick<HypervisorDriver, 'console' | 'listSystems' | 'onChange'>;
  readonly hub: Pick<ConsoleHub, 'attach'>;
  /** Of this service alone; made with the first text. */
  readonly folder: string;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Default: {@link consoleLogBounds}. */
  readonly bounds?: ConsoleLogBounds;
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: () => number;
}

/** One machine: what is recorded, and what ends that. */
interface Recorded {
  readonly recording: ConsoleRecording;
  readonly folder: ConsoleLogFolder;
  readonly detach: () => void;
}

/** Logs whose records are in memory: those that were read last. */
const IN_MEMORY = 8;

/** Listens to the driver; connects to nothing yet. */
export function openConsoleLogs(options: ConsoleLogsOptions): ConsoleLogs {
  const { driver, hub, folder: root, log, bounds = consoleLogBounds, now = Date.now } = options;
  const machines = new Map<string, Recorded>();
  const removals = new Map<string, Promise<void>>();
  const kept = new Map<string, { readonly version: number; readonly records: readonly ConsoleLogRecord[] }>();
  /** It was said, and that it is over was not. */
  let isFailing = false;
  let warnedAt = -Infinity;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  const total = (): number => [...machines.values()].reduce((sum, { folder }) => sum + folder.size, 0);
  const onWritten = (): void => {
    if (isFailing) log.info(`console logs are written again to ${root}`);
    isFailing = false;
    if (total() > bounds.totalBytes) void makeRoom();
  };
  const onFailed = (error: unknown): void => {
    // Once: a full disk fails for every machine, again and again, with a piece of text that fits in between.
    const time = performance.now();
    if (time - warnedAt < bounds.warnEveryMs) return;
    warnedAt = time;
    isFailing = true;
    log.warn(`writing console logs to ${root} failed: what is printed now is not kept`, { error });
  };
  const instanceOf = async (uuid: string): Promise<string | null> => {
    try {
      return (await driver.console?.instance(uuid)) ?? null;
    } catch {
      // It went off in the meantime, or the host does not answer: what comes next is a boot of its own.
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
    // What there is from before counts, too.
    recording.read((own) => own.boots()).catch(onFailed);
    return recorded;
  };
  const forget = async (uuid: string): Promise<void> => {
    const known = machines.get(uuid);
    if (known === undefined) return;
    known.detach();
    machines.delete(uuid);
    kept.delete(uuid);
    const removal = known.recording
      .remove()
      .catch((error: unknown) => log.warn(`removing the console log of ${uuid} failed`, { error }));
    removals.set(uuid, removal);
    await removal;
    if (removals.get(uuid) === removal) removals.delete(uuid);
  };

  /** The oldest boots go, whosever they are. */
  let makingRoom = false;
  const makeRoom = async (): Promise<void> => {
    if (makingRoom) return;
    makingRoom = true;
    try {
      while (total() > bounds.totalBytes) {
        const oldest = await oldestOf([...machines.values()]);
        if (oldest === undefined) return;
        await oldest.read((own) => own.removeOldest());
        kept.clear();
      }
    } catch (error) {
      onFailed(error);
    } finally {
      makingRoom = false;
    }
  };

  const look = async (): Promise<void> => {
    timer = undefined;
    try {
      const listed = new Set((await driver.listSystems()).map(({ uuid }) => uuid));
      if (isClosed) return;
      for (const uuid of listed) record(uuid);
      // Of machines that went while nobody listened.
      const names = await readdir(root).catch(() => []);
      const present = new Set([...listed, ...machines.keys()].map(fileName));
      const gone = names.filter((name) => !present.has(name));
      await Promise.all(gone.map((name) => new ConsoleLogFolder(path.join(root, name), bounds).remove()));
    } catch {
      // The host is not there yet.
      timer = setTimeout(() => void look(), bounds.lookEveryMs).unref();
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
      const known = kept.get(uuid);
      // Used last: forgotten last.
      kept.delete(uuid);
      const records = known?.version === version ? known.records : await recordsIn(folder, bounds.records);
      kept.set(uuid, { version, records });
      const [first] = kept.keys();
      if (kept.size > IN_MEMORY && first !== undefined) kept.delete(first);
      return records;
    });
  };

  return {
    limit: bounds.records,
    start: () => void look(),
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

/** Whose first boot began before all others that may go. */
async function oldestOf(machines: readonly Recorded[]): Promise<ConsoleRecording | undefined> {
  let oldest: { readonly recording: ConsoleRecording; readonly began: string } | undefined;
  for (const { recording } of machines) {
    const [first, ...others] = await recording.read((folder) => folder.boots());
    if (first === undefined || others.length === 0) continue;
    if (oldest === undefined || first.began < oldest.began) oldest = { recording, began: first.began };
  }
  return oldest?.recording;
}

/** The boots, and the last lines of them all. */
async function recordsIn(folder: ConsoleLogFolder, most: number): Promise<readonly ConsoleLogRecord[]> {
  const boots = await folder.boots();
  let left = most - boots.length;
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

async function linesOf(folder: ConsoleLogFolder, boot: Boot, most: number): Promise<readonly ConsoleLine[]> {
  let lines: readonly ConsoleLine[] = [];
  for (const stretch of (await folder.stretches(boot.number)).toReversed()) {
    if (lines.length < most) lines = [...lastLines(stretch, most - lines.length, Date.parse(boot.began)), ...lines];
  }
  return lines;
}

/** A UUID is a file name; anything else is not to become one. */
function fileName(uuid: string): string {
  return uuid.replace(/[^\w-]/g, '_');
}
