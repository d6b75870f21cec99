/** Measures large requests: their cost in the proxy, against a proxy that parses nothing. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answer1KB, request10MB, request200KB } from './bodies.js';
import { freePorts, LOAD_CORE, listening, startPinned, stop } from './processes.js';
import { median, medianRatio, short, table, type Figure } from './report.js';
import { takeTurns, type Bench } from './rounds.js';
import { startTarget, type Target } from './targets.js';

const sizes = [
  { name: '200 KB', body: request200KB, connections: 16 },
  { name: '10 MB', body: request10MB, connections: 4 },
];

/**
 * Starts an upstream that accepts bodies of any size, on the core of the load. The caller stops it.
 * @throws as {@link listening}.
 */
export async function startBodyUpstream(folder: string): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const [port = 0] = await freePorts(1);
  const answerFile = join(folder, 'answer.json');
  await writeFile(answerFile, answer1KB);
  const path = fileURLToPath(new URL('peers/body-upstream.js', import.meta.url));
  const command = [process.execPath, path, String(port), answerFile];
  const child = startPinned(LOAD_CORE, command, ['ignore', 'ignore', 'inherit']);
  await listening(port);
  return { port, stop: () => stop(child) };
}

export async function benchBodies(bench: Bench): Promise<readonly Figure[]> {
  const { folder, print } = bench;
  const upstream = await startBodyUpstream(folder);
  const targets: Target[] = [];
  const figures: Figure[] = [];
  try {
    for (const name of ['nginx', 'http-pipe', 'naive', 'model-proxy'] as const)
      targets.push(await startTarget(name, folder, upstream.port));
    for (const { name, body, connections } of sizes) {
      const results = await takeTurns(bench, targets, `http://127.0.0.1:${upstream.port}`, { body, connections });
      const costs = (target: string) => (results.get(target) ?? []).map(({ cpuUs }) => cpuUs / 1000);
      const rows = targets.map(({ name: target }) => [
        target,
        short(median(costs(target))),
        short(medianRatio(costs(target), costs('http-pipe'))),
        short(median((results.get(target) ?? []).map(({ perSecond }) => perSecond))),
        costs(target).map(short).join(' '),
      ]);
      const head = ['target', 'CPU, ms', 'of http-pipe', 'requests/s', 'rounds, ms'];
      print(`${name} bodies, ${connections} connections\n\n${table(head, rows)}`);
      figures.push({
        what: `${name} bodies: CPU time relative to http-pipe`,
        value: medianRatio(costs('model-proxy'), costs('http-pipe')),
        unit: '',
        must: 1.8,
        aim: 1.1,
        better: 'lower',
      });
    }
    return figures;
  } finally {
    await Promise.all([upstream.stop(), ...targets.map((target) => target.stop())]);
  }
}
