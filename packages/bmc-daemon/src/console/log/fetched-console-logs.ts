/**
 * Console logs that the hypervisor records: the end of the output since the start of a machine,
 * without times.
 */
import type { HypervisorLogs } from '../../drivers/hypervisor-logs.js';
import type { ConsoleLogRecord, ConsoleLogs } from './console-log.js';
import { lastLines } from './console-log-lines.js';

/** Maximum number of records of a machine: its output, and the last lines of it. */
const MAX_RECORDS = 1000;
/** The number of the only boot, because the hypervisor does not number boots. */
const BOOT = 1;

/** Returns the logs of a hypervisor, which reads them for each client. */
export function fetchedConsoleLogs(logs: Pick<HypervisorLogs, 'consoleOutput'>): ConsoleLogs {
  /** The records of an output that has not changed. */
  const known = new WeakMap<Buffer, readonly ConsoleLogRecord[]>();
  const recordsOf = (output: Buffer): readonly ConsoleLogRecord[] => {
    const records = known.get(output) ?? recordsIn(output);
    known.set(output, records);
    return records;
  };
  return {
    limit: MAX_RECORDS,
    clearable: false,
    ofSystem: (uuid) => ({
      read: async () => recordsOf(await logs.consoleOutput(uuid)),
      text: async (boot) => (boot === BOOT ? await logs.consoleOutput(uuid) : undefined),
      follow: async (join) => join({ number: BOOT, text: await logs.consoleOutput(uuid) }),
      clear: () => Promise.reject(new Error('clearing the console log of a hypervisor: it cannot be cleared')),
    }),
    start: () => undefined,
    close: () => Promise.resolve(),
  };
}

function recordsIn(output: Buffer): readonly ConsoleLogRecord[] {
  if (output.length === 0) return [];
  const lines = lastLines({ start: 0, bytes: output, marks: [] }, MAX_RECORDS - 1, 0);
  return [
    { kind: 'boot', boot: { number: BOOT, began: null, size: output.length } },
    ...lines.map(({ at, text }) => ({ kind: 'line' as const, boot: BOOT, line: { at, time: null, text } })),
  ];
}
