/**
 * Measures small requests: requests per second on one core, and the added latency of a single
 * request.
 */
import { join } from 'node:path';
import { answer1KB, request1KB } from './bodies.js';
import { load, type LoadResult } from './load.js';
import { TARGET_CORE } from './processes.js';
import { median, medianRatio, short, table, type Figure } from './report.js';
import { startUpstream, takeTurns, type Bench } from './rounds.js';
import { startTarget, targetNames, type Target } from './targets.js';

type Results = ReadonlyMap<string, readonly LoadResult[]>;

const CONNECTIONS = 64;
/**
 * Minimum of the upstream's requests/s divided by nginx's. Below it, the upstream would limit the
 * results.
 */
const VOID_BELOW = 2;

export async function benchRequests(bench: Bench): Promise<readonly Figure[]> {
  const { folder, print } = bench;
  const upstream = await startUpstream(folder, answer1KB);
  const targets: Target[] = [];
  try {
    const [port = 0] = upstream.ports;
    for (const name of targetNames) targets.push(await startTarget(name, folder, port));
    const direct = `http://127.0.0.1:${port}`;
    const many = await takeTurns(bench, targets, direct, { body: request1KB, connections: CONNECTIONS });
    const alone = await measureAlone(bench);
    print(manyTable(many));
    const one = await takeTurns(bench, targets, direct, { body: request1KB, connections: 1 });
    print(oneTable(one));
    return [aloneFigure(alone, many), ...manyFigures(many), oneFigure(one)];
  } finally {
    await Promise.all([upstream.stop(), ...targets.map((target) => target.stop())]);
  }
}

/**
 * Measures the upstream on the core of the targets.
 * @returns requests per second, by round.
 */
async function measureAlone({ folder, rounds, seconds }: Bench): Promise<readonly number[]> {
  // The upstream of the targets uses the subfolder `upstream`, so this one needs another subfolder.
  const upstream = await startUpstream(join(folder, 'alone'), answer1KB, TARGET_CORE);
  try {
    const alone: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const url = `http://127.0.0.1:${upstream.ports[0]}`;
      const { perSecond } = await load(folder, { url, body: request1KB, connections: CONNECTIONS, seconds });
      alone.push(perSecond);
    }
    return alone;
  } finally {
    await upstream.stop();
  }
}

const aloneFigure = (alone: readonly number[], results: Results): Figure => ({
  what: 'upstream alone on a core: requests/s relative to nginx (below the limit, all results are void)',
  value: medianRatio(alone, rates(results, 'nginx')),
  unit: '',
  must: VOID_BELOW,
  aim: null,
  better: 'higher',
});

const rates = (results: Results, name: string) => (results.get(name) ?? []).map(({ perSecond }) => perSecond);

function manyTable(results: Results): string {
  const rows = [...results].map(([name, all]) => [
    name,
    median(all.map(({ perSecond }) => perSecond)).toFixed(0),
    short(medianRatio(rates(results, name), rates(results, 'nginx'))),
    short(median(all.map(({ cpuUs }) => cpuUs))),
    short(median(all.map(({ p50Us }) => p50Us)) / 1000),
    all.map(({ perSecond }) => (perSecond / 1000).toFixed(1)).join(' '),
  ]);
  const head = ['target', 'requests/s', 'of nginx', 'CPU, µs', 'p50, ms', 'rounds, 1000/s'];
  return `1 KB, ${CONNECTIONS} connections\n\n${table(head, rows)}`;
}

function manyFigures(results: Results): readonly Figure[] {
  const ours = rates(results, 'model-proxy');
  const common = { unit: '', better: 'higher' } as const;
  return [
    {
      ...common,
      what: '1 KB: requests/s relative to nginx',
      value: medianRatio(ours, rates(results, 'nginx')),
      must: 0.18,
      aim: 0.27,
    },
    {
      ...common,
      what: '1 KB: requests/s relative to the naive proxy',
      value: medianRatio(ours, rates(results, 'naive')),
      must: 4,
      aim: 6,
    },
  ];
}

/** Returns the added latency of a proxy in microseconds, by round. */
function added(results: Results, name: string): readonly number[] {
  const direct = results.get('direct') ?? [];
  return (results.get(name) ?? []).map(({ p50Us }, round) => p50Us - (direct[round]?.p50Us ?? NaN));
}

function oneTable(results: Results): string {
  const rows = [...results].map(([name, all]) => [
    name,
    short(median(all.map(({ p50Us }) => p50Us))),
    name === 'direct' ? '–' : short(median(added(results, name))),
    short(median(all.map(({ cpuUs }) => cpuUs))),
  ]);
  return `1 KB, one connection\n\n${table(['target', 'p50, µs', 'added, µs', 'CPU, µs'], rows)}`;
}

const oneFigure = (results: Results): Figure => ({
  what: 'one connection: added p50 relative to http-pipe',
  value: medianRatio(added(results, 'model-proxy'), added(results, 'http-pipe')),
  unit: '',
  must: 1.4,
  aim: 0.8,
  better: 'lower',
});
