/**
 * Measures model-proxy beside other gateways: requests per second of one core, latency and memory.
 * LiteLLM reads model-proxy's file, with a master key, and with limits of requests and tokens that no
 * request reaches. Bifrost has neither a key nor limits, because it needs a database for them. So
 * Bifrost does less for each request.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { answer1KB, request1KB } from './bodies.js';
import type { LoadResult } from './load.js';
import { outsidePath } from './outside.js';
import { startBifrost } from './peers/bifrost.js';
import { startLitellm } from './peers/litellm.js';
import { memoryMb } from './processes.js';
import { median, medianRatio, short, table, type Figure } from './report.js';
import { startUpstream, takeTurns, type Bench } from './rounds.js';
import { CLIENT_KEY, startModelProxyWith, type Target } from './targets.js';

const CONNECTIONS = 16;
/** Bifrost needs the provider before the model's name. */
const MODEL = 'openai/bench';
const body = JSON.stringify({ ...(JSON.parse(request1KB) as object), model: MODEL });
/** A limit that no request reaches. */
const UNREACHED = 1_000_000_000;

export async function benchGateways(bench: Bench): Promise<readonly Figure[]> {
  const { folder, print } = bench;
  const upstream = await startUpstream(folder, answer1KB);
  const targets: Target[] = [];
  try {
    const direct = `http://127.0.0.1:${upstream.ports[0]}`;
    const configuration = await writeLimited(folder, `${direct}/v1`);
    targets.push(await startModelProxyWith(configuration, folder));
    const [litellm, bifrost] = [outsidePath('RACKLESS_LITELLM'), outsidePath('RACKLESS_BIFROST')];
    if (litellm !== undefined) targets.push(await startLitellm(litellm, folder, configuration));
    if (bifrost !== undefined) targets.push(await startBifrost(bifrost, folder, direct));
    const peers = targets.slice(1).map(({ name }) => name);
    if (peers.length === 0) throw new Error('RACKLESS_LITELLM or RACKLESS_BIFROST must name an executable');
    const many = await takeTurns(bench, targets, direct, { body, connections: CONNECTIONS });
    const one = await takeTurns(bench, targets, direct, { body, connections: 1 });
    const memory = new Map<string, number>();
    for (const { name, pid } of targets) memory.set(name, (await memoryMb(pid)).now);
    print(resultsTable(many, one, memory));
    return peers.flatMap((peer) => figuresOf(peer, many, one, memory));
  } finally {
    await Promise.all([upstream.stop(), ...targets.map((target) => target.stop())]);
  }
}

/** Writes the configuration. @returns its path. */
async function writeLimited(folder: string, apiBase: string): Promise<string> {
  const params = { model: 'hosted_vllm/bench-model', api_base: apiBase, api_key: 'sk-bench-upstream' };
  const configuration = {
    model_list: [{ model_name: MODEL, litellm_params: { ...params, rpm: UNREACHED, tpm: UNREACHED } }],
    // LiteLLM enforces rpm and tpm only with this check. model-proxy always does.
    router_settings: { optional_pre_call_checks: ['enforce_model_rate_limits'] },
    general_settings: { master_key: CLIENT_KEY },
  };
  const path = join(folder, 'gateways.yaml');
  // JSON is valid YAML.
  await writeFile(path, JSON.stringify(configuration));
  return path;
}

type Results = ReadonlyMap<string, readonly LoadResult[]>;

const valuesOf = (results: Results, name: string, member: keyof LoadResult) =>
  (results.get(name) ?? []).map((result) => result[member]);

function resultsTable(many: Results, one: Results, memory: ReadonlyMap<string, number>): string {
  const rows = [...memory].map(([name, mb]) => [
    name,
    short(median(valuesOf(many, name, 'perSecond'))),
    short(median(valuesOf(many, name, 'p99Us')) / 1000),
    short(median(valuesOf(one, name, 'p50Us')) / 1000),
    short(median(valuesOf(many, name, 'cpuUs')) / 1000),
    short(mb),
  ]);
  const head = ['gateway', 'requests/s', `p99 of ${CONNECTIONS}, ms`, 'p50 of one, ms', 'CPU, ms', 'memory, MB'];
  return `1 KB, key and limits\n\n${table(head, rows)}`;
}

function figuresOf(peer: string, many: Results, one: Results, memory: ReadonlyMap<string, number>): readonly Figure[] {
  const ratio = (results: Results, member: keyof LoadResult) =>
    medianRatio(valuesOf(results, 'model-proxy', member), valuesOf(results, peer, member));
  const behind = { unit: '', must: 1, aim: null, better: 'lower' } as const;
  return [
    { ...behind, what: `requests/s relative to ${peer}`, value: ratio(many, 'perSecond'), better: 'higher' },
    { ...behind, what: `p99 of ${CONNECTIONS} connections relative to ${peer}`, value: ratio(many, 'p99Us') },
    { ...behind, what: `p50 of one connection relative to ${peer}`, value: ratio(one, 'p50Us') },
    {
      ...behind,
      what: `memory after the load relative to ${peer}`,
      value: (memory.get('model-proxy') ?? NaN) / (memory.get(peer) ?? NaN),
    },
  ];
}
