/**
 * Measures the limits of virtual keys: CPU time per request of a key with all limits, with the store in
 * Redis relative to the store in files. Requests with the master key are measured for comparison.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { answer1KB, PUBLIC_MODEL, request1KB } from './bodies.js';
import type { LoadResult } from './load.js';
import { freePorts, listening, LOAD_CORE, startPinned, stop } from './processes.js';
import { median, medianRatio, short, table, type Figure } from './report.js';
import { startUpstream, takeTurns, type Bench } from './rounds.js';
import { CLIENT_KEY, MASTER_KEY, startModelProxy, type Target } from './targets.js';

/** Few connections, so that requests seldom share a call of Redis. */
const CONNECTIONS = 4;
/** Limits that no load reaches. */
const LIMITS = { rpm_limit: 1e9, tpm_limit: 1e9, max_parallel_requests: 1e6, max_budget: 1e9 };

export async function benchKeys(bench: Bench): Promise<readonly Figure[]> {
  const { folder, print } = bench;
  const upstream = await startUpstream(folder, answer1KB);
  const [redisPort = 0] = await freePorts(1);
  // Debian's package redis-tools has the server under another name.
  const server = `exec -a redis-server redis-check-rdb --port ${redisPort} --bind 127.0.0.1 --save ''`;
  const redis = startPinned(LOAD_CORE, ['bash', '-c', server], ['ignore', 'ignore', 'inherit']);
  const targets: Target[] = [];
  try {
    await listening(redisPort);
    const direct = `http://127.0.0.1:${upstream.ports[0]}`;
    const models = { [PUBLIC_MODEL]: { apiBase: `${direct}/v1` } };
    const cases = { 'master key': undefined, files: join(folder, 'store'), Redis: `redis://127.0.0.1:${redisPort}` };
    for (const [name, store] of Object.entries(cases)) {
      const own = join(folder, name);
      await mkdir(own);
      const target = await startModelProxy(own, models, store === undefined ? {} : { store });
      targets.push({ ...target, name });
      if (store !== undefined) await createKey(target.url);
    }
    const results = await takeTurns(bench, targets, direct, { body: request1KB, connections: CONNECTIONS });
    print(resultsTable(results));
    return figures(results);
  } finally {
    await Promise.all([upstream.stop(), stop(redis), ...targets.map((target) => target.stop())]);
  }
}

/** Makes {@link CLIENT_KEY} a virtual key with all limits. @throws {Error} if the proxy does not accept it. */
export async function createKey(url: string): Promise<void> {
  const answer = await fetch(`${url}/key/generate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${MASTER_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ key: CLIENT_KEY, ...LIMITS }),
  });
  if (!answer.ok) throw new Error(`creating the key: ${await answer.text()}`);
}

type Results = ReadonlyMap<string, readonly LoadResult[]>;

const cpu = (results: Results, name: string) => (results.get(name) ?? []).map(({ cpuUs }) => cpuUs);

function resultsTable(results: Results): string {
  const rows = [...results].map(([name, of]) => [
    name,
    short(median(of.map(({ cpuUs }) => cpuUs))),
    short(medianRatio(cpu(results, name), cpu(results, 'files'))),
    median(of.map(({ perSecond }) => perSecond)).toFixed(0),
    short(median(of.map(({ p50Us }) => p50Us)) / 1000),
  ]);
  const head = ['key or store', 'CPU, µs', 'CPU / CPU with files', 'requests/s', 'p50, ms'];
  return `1 KB with the master key and with a limited key, ${CONNECTIONS} connections\n\n${table(head, rows)}`;
}

function figures(results: Results): readonly Figure[] {
  return [
    {
      what: 'limited key: CPU with Redis / CPU with files',
      value: medianRatio(cpu(results, 'Redis'), cpu(results, 'files')),
      unit: '',
      must: 1.15,
      aim: 1.05,
      better: 'lower',
    },
  ];
}
