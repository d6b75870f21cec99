/**
 * Measures `--num_workers`: the requests per second of two workers relative to one process. All
 * processes may use all cores, so the load and the upstream take a part of the second core: on two cores, the ratio
 * is far below 2.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { answer1KB, PUBLIC_MODEL, request1KB } from '../bodies.js';
import type { LoadResult } from '../load.js';
import { freePorts, listening, pidOf, stop } from '../processes.js';
import { median, medianRatio, table, type Figure } from '../report.js';
import { startUpstream, takeTurns, type Bench } from '../rounds.js';
import { bin, CLIENT_KEY, flagsOf, MASTER_KEY, writeConfiguration, type Target } from '../targets.js';

const CONNECTIONS = 64;

export async function benchWorkers(bench: Bench): Promise<readonly Figure[]> {
  const { folder, print } = bench;
  const upstream = await startUpstream(folder, answer1KB);
  const targets: Target[] = [];
  try {
    const direct = `http://127.0.0.1:${upstream.ports[0]}`;
    for (const count of [1, 2]) {
      const target = await startWorkers(join(folder, String(count)), count, `${direct}/v1`);
      targets.push(target);
      await createKey(target.url);
    }
    const results = await takeTurns(bench, targets, direct, { body: request1KB, connections: CONNECTIONS });
    const perSecond = (name: string) => (results.get(name) ?? []).map((one) => one.perSecond);
    print(resultsTable(results));
    return [
      {
        what: 'requests/s of 2 workers relative to 1',
        value: medianRatio(perSecond('2 workers'), perSecond('1 workers')),
        unit: '',
        must: 1,
        aim: 1.5,
        better: 'higher',
      },
    ];
  } finally {
    await Promise.all([upstream.stop(), ...targets.map((target) => target.stop())]);
  }
}

async function startWorkers(folder: string, count: number, apiBase: string): Promise<Target> {
  await mkdir(folder);
  const configuration = await writeConfiguration(folder, { [PUBLIC_MODEL]: { apiBase } }, join(folder, 'store'));
  const [port = 0] = await freePorts(1);
  const output = openSync(join(folder, 'model-proxy.log'), 'a');
  const flags = [...flagsOf(configuration, port), '--num_workers', String(count)];
  const child = spawn(process.execPath, [bin, ...flags], { stdio: ['ignore', output, 'inherit'] });
  closeSync(output);
  await listening(port);
  return {
    name: `${count} workers`,
    url: `http://127.0.0.1:${port}`,
    pid: pidOf(child),
    stop: () => stop(child),
  };
}

/** Makes {@link CLIENT_KEY} a virtual key without limits. @throws {Error} if the proxy does not accept it. */
async function createKey(url: string): Promise<void> {
  const answer = await fetch(`${url}/key/generate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${MASTER_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ key: CLIENT_KEY }),
  });
  if (!answer.ok) throw new Error(`creating the key: ${await answer.text()}`);
}

function resultsTable(results: ReadonlyMap<string, readonly LoadResult[]>): string {
  const rows = [...results].map(([name, of]) => [
    name,
    median(of.map(({ perSecond }) => perSecond)).toFixed(0),
    (median(of.map(({ p50Us }) => p50Us)) / 1000).toFixed(2),
    (median(of.map(({ p99Us }) => p99Us)) / 1000).toFixed(2),
  ]);
  return `1 KB, ${CONNECTIONS} connections, all cores\n\n${table(['target', 'requests/s', 'p50, ms', 'p99, ms'], rows)}`;
}
