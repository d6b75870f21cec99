/** The stored boots of a machine and their lines, as records. */
import type { ConsoleLogFolder, Boot } from './console-log-folder.js';
import { lastLines, type PrintedLine } from './console-log-lines.js';
import type { ConsoleRecording } from './console-log-recording.js';

/** When this service first read a record that the hypervisor stores, in milliseconds since 1970. */
interface FirstRead {
  readonly firstReadAt: number;
}

/**
 * A boot, or a line of one. If the hypervisor recorded the output, the times are unknown, and the
 * record has the time of its first read instead.
 */
export type ConsoleLogRecord =
  | {
      readonly kind: 'boot';
      readonly boot: Pick<Boot, 'number' | 'size'> &
        ({ readonly began: string } | ({ readonly began: null } & FirstRead));
    }
  | {
      readonly kind: 'line';
      readonly boot: number;
      readonly line: Pick<PrintedLine, 'at' | 'text'> &
        ({ readonly time: number } | ({ readonly time: null } & FirstRead));
    };

/** Maximum number of machines whose records are cached. */
const CACHED_MACHINES = 8;

/** Reads the records of machines, and caches those of the machines that were read last. */
export class ConsoleLogRecords {
  /** Maximum number of records of a machine. */
  readonly #max: number;
  /** By UUID. The order is the order of use: the first entry is evicted. */
  readonly #cache = new Map<string, { readonly version: number; readonly records: readonly ConsoleLogRecord[] }>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Returns the stored boots, oldest first. After each boot come its lines, of which only the
   * newest fit into the maximum number of records. Returns the same array until something changes, or
   * the machine leaves the cache.
   * @throws the errors of node:fs if the log is unreadable.
   */
  async read(uuid: string, recording: ConsoleRecording): Promise<readonly ConsoleLogRecord[]> {
    return await recording.read(async (folder) => {
      const { version } = recording;
      const known = this.#cache.get(uuid);
      this.#cache.delete(uuid);
      const records = known?.version === version ? known.records : await recordsIn(folder, this.#max);
      this.#cache.set(uuid, { version, records });
      const [first] = this.#cache.keys();
      if (this.#cache.size > CACHED_MACHINES && first !== undefined) this.#cache.delete(first);
      return records;
    });
  }

  /** Removes a machine from the cache. */
  forget(uuid: string): void {
    this.#cache.delete(uuid);
  }

  /** Removes all machines from the cache. */
  forgetAll(): void {
    this.#cache.clear();
  }
}

/** Returns the boots with their lines, `max` records at most. */
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

async function linesOf(folder: ConsoleLogFolder, boot: Boot, max: number): Promise<readonly PrintedLine[]> {
  let lines: readonly PrintedLine[] = [];
  for (const stretch of (await folder.stretches(boot.number)).toReversed()) {
    if (lines.length < max) lines = [...lastLines(stretch, max - lines.length, Date.parse(boot.began)), ...lines];
  }
  return lines;
}
