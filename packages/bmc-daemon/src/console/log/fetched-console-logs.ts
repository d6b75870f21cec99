/**
 * Console logs that the hypervisor records: the end of the output since the start of a machine,
 * without times.
 */
import type { HypervisorLogs } from '../../drivers/hypervisor-logs.js';
import type { ConsoleLogRecord, ConsoleLogs } from './console-log.js';
import { lastLines } from './console-log-lines.js';

/** Maximum number of records of a machine: one for the boot, the others for the last lines of the output. */
const MAX_RECORDS = 1000;
/** The number of the only boot, because the hypervisor does not number boots. */
const BOOT = 1;
/** Maximum number of machines whose last output and times are cached. */
const CACHED_MACHINES = 64;

/** The last output of a machine. */
interface Reading {
  readonly output: Buffer;
  readonly records: readonly ConsoleLogRecord[];
}

/**
 * Returns the logs that a hypervisor stores. Each `read` and `follow`, and each `text` of the boot, reads the output
 * from the hypervisor.
 * @param now milliseconds since 1970. Default: the clock.
 */
export function fetchedConsoleLogs(
  logs: Pick<HypervisorLogs, 'consoleOutput'>,
  now: () => number = Date.now,
): ConsoleLogs {
  /** By UUID. The order is the order of use: the first entry is evicted. */
  const readings = new Map<string, Reading>();
  const recordsOf = (uuid: string, output: Buffer): readonly ConsoleLogRecord[] => {
    const last = readings.get(uuid);
    const records = last?.output === output ? last.records : recordsIn(output, last?.records ?? [], now());
    readings.delete(uuid);
    readings.set(uuid, { output, records });
    const [first] = readings.keys();
    if (readings.size > CACHED_MACHINES && first !== undefined) readings.delete(first);
    return records;
  };
  return {
    limit: MAX_RECORDS,
    clearable: false,
    ofSystem: (uuid) => ({
      read: async () => recordsOf(uuid, await logs.consoleOutput(uuid)),
      text: async (boot) => (boot === BOOT ? await logs.consoleOutput(uuid) : undefined),
      follow: async (join) => join({ number: BOOT, text: await logs.consoleOutput(uuid) }),
      clear: () => Promise.reject(new Error('clearing the console log of a hypervisor: it cannot be cleared')),
    }),
    start: () => undefined,
    close: () => Promise.resolve(),
  };
}

/**
 * Returns the records of an output; none for an empty output. A line keeps its `firstReadAt` if the previous reading
 * had the same text at the same place. The boot keeps its `firstReadAt` until a reading is empty, or the machine
 * leaves the cache. A line without a previous reading gets the time `now`.
 */
function recordsIn(output: Buffer, previous: readonly ConsoleLogRecord[], now: number): readonly ConsoleLogRecord[] {
  if (output.length === 0) return [];
  const keyOf = (at: number, text: string): string => `${at} ${text}`;
  const times = new Map<string, number>();
  let began = now;
  for (const record of previous) {
    if (record.kind === 'boot' && record.boot.began === null) began = record.boot.firstReadAt;
    if (record.kind === 'line' && record.line.time === null) {
      times.set(keyOf(record.line.at, record.line.text), record.line.firstReadAt);
    }
  }
  const lines = lastLines({ start: 0, bytes: output, marks: [] }, MAX_RECORDS - 1, 0);
  return [
    { kind: 'boot', boot: { number: BOOT, began: null, firstReadAt: began, size: output.length } },
    ...lines.map(({ at, text }) => {
      const firstReadAt = times.get(keyOf(at, text)) ?? now;
      return { kind: 'line' as const, boot: BOOT, line: { at, time: null, firstReadAt, text } };
    }),
  ];
}
