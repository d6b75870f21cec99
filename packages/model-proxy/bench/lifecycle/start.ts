/** Measures the time from the start of the command to the first accepted connection. */
import { freePorts, listening, startPinned, stop, TARGET_CORE } from '../processes.js';
import { median, short, table, type Figure } from '../report.js';
import type { Bench } from '../rounds.js';
import { PUBLIC_MODEL } from '../bodies.js';
import { bin, flagsOf, writeConfiguration } from '../targets.js';

/** Starts per round: several, because starts are short and their times vary. */
const STARTS_A_ROUND = 5;

export async function benchStart({ folder, rounds, print }: Bench): Promise<readonly Figure[]> {
  // The proxy sends no request at its start, so there is no upstream.
  const configuration = await writeConfiguration(folder, { [PUBLIC_MODEL]: { apiBase: 'http://127.0.0.1:1/v1' } });
  const proxyMs: number[] = [];
  const nodeMs: number[] = [];
  for (let start = 0; start < rounds * STARTS_A_ROUND; start += 1) {
    const [port = 0] = await freePorts(1);
    proxyMs.push(await startMs(port, [bin, ...flagsOf(configuration, port)]));
    nodeMs.push(await startMs(port, ['-e', `require('node:http').createServer().listen(${port}, '127.0.0.1')`]));
  }
  const row = (name: string, times: readonly number[]) => {
    const sorted = times.toSorted((a, b) => a - b);
    return [name, short(median(times)), short(sorted[0] ?? NaN), short(sorted.at(-1) ?? NaN)];
  };
  print(
    `Start to listening, ${proxyMs.length} starts\n\n${table(['command', 'median, ms', 'min', 'max'], [row('model-proxy', proxyMs), row('an empty node:http server', nodeMs)])}`,
  );
  return [{ what: 'start to listening', value: median(proxyMs), unit: 'ms', must: 400, aim: 250, better: 'lower' }];
}

async function startMs(port: number, command: readonly string[]): Promise<number> {
  const child = startPinned(TARGET_CORE, [process.execPath, ...command], ['ignore', 'ignore', 'inherit']);
  try {
    return await listening(port);
  } finally {
    await stop(child);
  }
}
