/**
 * Measures how exactly proxies that share the limits of a key keep them under load: two workers of a group, and
 * two processes with one Redis. Two loads, each with its own connections, send requests as fast as they get answers.
 * All processes may use all cores.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { answer1KB, PUBLIC_MODEL, request1KB } from '../bodies.js';
import { load } from '../load.js';
import { freePorts, listening, stop } from '../processes.js';
import { table, type Figure } from '../report.js';
import { startUpstream, type Bench } from '../rounds.js';
import { bin, flagsOf, MASTER_KEY, writeConfiguration } from '../targets.js';

const SECONDS = 10;
/** Connections of each of the two loads. */
const CONNECTIONS = 32;
/** The tokens of a request and its answer, as the answer reports them. */
const TOKENS = answerTokens();
/** The limits are reached after about this share of the time. */
const LIMIT_SHARE = 0.4;

/** Proxies that share limits. Both loads may use the same address. */
interface Group {
  readonly name: string;
  readonly urls: readonly [string, string];
  stop(): Promise<void>;
}

/** A load of a key with a limit. */
interface Measured {
  readonly group: string;
  readonly type: string;
  /** The number of requests that the limit allows. */
  readonly limit: number;
  readonly admitted: number;
  readonly perSecond: number;
}

export async function benchLimits(bench: Bench): Promise<readonly Figure[]> {
  const upstream = await startUpstream(bench.folder, answer1KB);
  const measured: Measured[] = [];
  try {
    for (const start of [startWorkers, startProcesses]) {
      const group = await start(bench.folder, `http://127.0.0.1:${upstream.ports[0]}/v1`);
      try {
        for (let round = 0; round < bench.rounds; round += 1) measured.push(...(await measure(bench, group, round)));
      } finally {
        await group.stop();
      }
    }
  } finally {
    await upstream.stop();
  }
  bench.print(resultsTable(measured));
  const worst = (type: string) => Math.max(...measured.filter((one) => one.type === type).map(errorOf));
  const figure = { unit: '', must: 0.02, aim: 0, better: 'lower' } as const;
  return [
    {
      what: 'rpm_limit of a key at two proxies: share of requests above or below it',
      value: worst('rpm_limit'),
      ...figure,
    },
    {
      what: 'tpm_limit of a key at two proxies: the same share, without the requests in progress',
      value: worst('tpm_limit'),
      ...figure,
    },
  ];
}

/**
 * Returns how far the admitted requests differ from the limit, as a share of the limit. The tokens of a request are
 * known at its end. So when a tpm_limit is reached, each connection may have one more request in progress.
 */
function errorOf({ type, limit, admitted }: Measured): number {
  const inProgress = type === 'tpm_limit' ? 2 * CONNECTIONS : 0;
  return Math.max(limit - admitted, admitted - limit - inProgress, 0) / limit;
}

function resultsTable(measured: readonly Measured[]): string {
  const rows = measured.map((one) => [
    `${one.group}, ${one.type}`,
    ...[one.perSecond, one.limit, one.admitted].map((value) => value.toFixed(0)),
    `${((one.admitted / one.limit - 1) * 100).toFixed(2)} %`,
  ]);
  const title = `The limits of a key, in requests; two loads with ${CONNECTIONS} connections each`;
  return `${title}\n\n${table(['proxies and limit', 'requests/s', 'limit', 'admitted', 'difference'], rows)}`;
}

/** Measures both limits, each with a new key. @throws {Error} if a load does not reach its limit. */
async function measure(bench: Bench, group: Group, round: number): Promise<readonly Measured[]> {
  const free = await putKey(group, `free-${round}`, { rpm_limit: 1e9 });
  // The first load is not measured. In the first round it is longer, so that V8 compiles the code.
  await loadBoth(bench, group, free, round === 0 ? 5 : 1);
  const { perSecond } = await loadBoth(bench, group, free, 3);
  const limit = Math.floor(perSecond * SECONDS * LIMIT_SHARE);
  const measured: Measured[] = [];
  for (const [type, value] of [
    ['rpm_limit', limit],
    ['tpm_limit', limit * TOKENS],
  ] as const) {
    const key = await putKey(group, `${type}-${round}`, { [type]: value });
    const { admitted, rejected, perSecond: rate } = await loadBoth(bench, group, key, SECONDS);
    if (rejected === 0) throw new Error(`the load did not reach the ${type} of ${limit} requests: repeat it`);
    measured.push({ group: group.name, type, limit, admitted, perSecond: rate });
  }
  return measured;
}

/** Loads both addresses of a group at the same time. */
async function loadBoth({ folder }: Bench, { urls }: Group, key: string, seconds: number) {
  const request = { body: request1KB, connections: CONNECTIONS, seconds, allowsErrors: true, key };
  const results = await Promise.all(
    urls.map(async (url, index) => {
      const own = join(folder, `load-${index}`);
      await mkdir(own, { recursive: true });
      return load(own, { ...request, url });
    }),
  );
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  const rejected = sum(results.map(({ errors }) => errors));
  return {
    admitted: sum(results.map(({ requests }) => requests)) - rejected,
    rejected,
    perSecond: sum(results.map((one) => one.perSecond)),
  };
}

/**
 * Creates a key, and waits until each address accepts it.
 * @returns the key.
 * @throws {Error} if the proxy does not create it.
 */
async function putKey({ urls }: Group, name: string, settings: object): Promise<string> {
  const key = `sk-bench-limited-${name}`;
  const answer = await fetch(`${urls[0]}/key/generate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${MASTER_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ key, ...settings }),
  });
  if (!answer.ok) throw new Error(`creating a key: ${await answer.text()}`);
  for (const url of urls) {
    const models = () => fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    while ((await models()).status !== 200) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return key;
}

async function startWorkers(folder: string, apiBase: string): Promise<Group> {
  const own = join(folder, 'workers');
  await mkdir(own);
  const configuration = await writeConfiguration(own, { [PUBLIC_MODEL]: { apiBase } }, join(own, 'store'));
  const { url, child } = await startProxy(own, configuration, ['--num_workers', '2']);
  return { name: 'two workers', urls: [url, url], stop: () => stop(child) };
}

async function startProcesses(folder: string, apiBase: string): Promise<Group> {
  const own = join(folder, 'processes');
  await mkdir(own);
  const [redisPort = 0] = await freePorts(1);
  // Debian's package redis-tools has the server under another name.
  const server = `exec -a redis-server redis-check-rdb --port ${redisPort} --bind 127.0.0.1 --save ''`;
  const redis = spawn('bash', ['-c', server], { stdio: ['ignore', 'ignore', 'inherit'] });
  await listening(redisPort);
  const model = { [PUBLIC_MODEL]: { apiBase } };
  const configuration = await writeConfiguration(own, model, `redis://127.0.0.1:${redisPort}`);
  const [first, second] = [await startProxy(own, configuration), await startProxy(own, configuration)];
  return {
    name: 'two processes with Redis',
    urls: [first.url, second.url],
    stop: async () => {
      await Promise.all([stop(first.child), stop(second.child)]);
      await stop(redis);
    },
  };
}

async function startProxy(
  folder: string,
  configuration: string,
  flags: readonly string[] = [],
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const [port = 0] = await freePorts(1);
  const output = openSync(join(folder, 'model-proxy.log'), 'a');
  const command = [bin, ...flagsOf(configuration, port), ...flags];
  const child = spawn(process.execPath, command, { stdio: ['ignore', output, 'inherit'] });
  closeSync(output);
  await listening(port);
  return { url: `http://127.0.0.1:${port}`, child };
}

function answerTokens(): number {
  // `answer1KB` of bodies.ts has a usage.
  const { usage } = JSON.parse(answer1KB) as { readonly usage: { readonly total_tokens: number } };
  return usage.total_tokens;
}
