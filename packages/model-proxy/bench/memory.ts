/**
 * Measures memory: after the first answer, and the maximum during four concurrent requests of 10 MB
 * with an image.
 */
import { PUBLIC_MODEL, request10MB, request1KB } from './bodies.js';
import { startBodyUpstream } from './large-bodies.js';
import { loadTarget } from './load.js';
import { memoryMb } from './processes.js';
import { median, short, table, type Figure } from './report.js';
import type { Bench } from './rounds.js';
import { CLIENT_KEY, startModelProxy } from './targets.js';

const CONNECTIONS = 4;

export async function benchMemory({ folder, rounds, seconds, print }: Bench): Promise<readonly Figure[]> {
  const upstream = await startBodyUpstream(folder);
  const idle: number[] = [];
  const peaks: number[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      // A process does not free all memory of an earlier load, so each round starts a new proxy.
      const apiBase = `http://127.0.0.1:${upstream.port}/v1`;
      const proxy = await startModelProxy(folder, { [PUBLIC_MODEL]: { apiBase } });
      try {
        const { url } = proxy;
        const headers = { authorization: `Bearer ${CLIENT_KEY}`, 'content-type': 'application/json' };
        const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body: request1KB });
        await answer.text();
        // The log library loads up to a quarter of a second after the first log line, so the measurement waits.
        await new Promise((resolve) => setTimeout(resolve, 1000));
        idle.push((await memoryMb(proxy.pid)).now);
        await loadTarget(folder, proxy, { body: request10MB, connections: CONNECTIONS, seconds });
        peaks.push((await memoryMb(proxy.pid)).peak);
      } finally {
        await proxy.stop();
      }
    }
  } finally {
    await upstream.stop();
  }
  const rows = [
    ['idle', short(median(idle)), idle.map(short).join(' ')],
    [`peak with ${CONNECTIONS} x 10 MB`, short(median(peaks)), peaks.map(short).join(' ')],
  ];
  print(`Resident memory\n\n${table(['when', 'MB', 'rounds'], rows)}`);
  const common = { unit: 'MB', better: 'lower' } as const;
  return [
    { ...common, what: 'memory: idle', value: median(idle), must: 90, aim: 70 },
    { ...common, what: 'memory: peak', value: median(peaks), must: 220, aim: 120 },
  ];
}
