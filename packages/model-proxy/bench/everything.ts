/**
 * Measures a 1 KB request with everything enabled that a gateway for a team needs: a virtual key with all
 * limits and a budget, usage in a store, two deployments, retries, fallbacks, affinity and health checks.
 * nginx and http-pipe, which do none of this, take turns with it, and so does this build with a master key only.
 * With the folder of another build in RACKLESS_BENCH_BEFORE, measures that build in the same turns, with a
 * master key only.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { answer1KB, PUBLIC_MODEL, request1KB } from './bodies.js';
import { createKey } from './keys.js';
import type { LoadResult } from './load.js';
import { outsidePath } from './outside.js';
import { median, medianRatio, quartilesOfRatios, short, table, type Figure } from './report.js';
import { startUpstream, takeTurns, type Bench } from './rounds.js';
import { MASTER_KEY, startModelProxy, startModelProxyWith, startTarget, type Target } from './targets.js';

const CONNECTIONS = 64;

export async function benchEverything(bench: Bench): Promise<readonly Figure[]> {
  const { folder, print } = bench;
  const upstream = await startUpstream(folder, answer1KB);
  const [port = 0] = upstream.ports;
  const targets: Target[] = [];
  try {
    for (const peer of ['nginx', 'http-pipe'] as const) targets.push(await startTarget(peer, folder, port));
    const model = { [PUBLIC_MODEL]: { apiBase: `http://127.0.0.1:${port}/v1` } };
    const before = outsidePath('RACKLESS_BENCH_BEFORE');
    if (before !== undefined) {
      const command = join(before, 'packages/model-proxy/bin/model-proxy.js');
      targets.push({
        ...(await startModelProxy(await makeFolder(folder, 'before'), model, { command })),
        name: 'before',
      });
    }
    targets.push({ ...(await startModelProxy(await makeFolder(folder, 'key'), model)), name: 'master key' });
    const everything = await startEverything(await makeFolder(folder, 'everything'), port);
    targets.push(everything);
    await createKey(everything.url);
    const direct = `http://127.0.0.1:${port}`;
    const results = await takeTurns(bench, targets, direct, { body: request1KB, connections: CONNECTIONS });
    print(resultsTable(results));
    return figures(results);
  } finally {
    await Promise.all([upstream.stop(), ...targets.map((target) => target.stop())]);
  }
}

async function makeFolder(folder: string, name: string): Promise<string> {
  const own = join(folder, name);
  await mkdir(own);
  return own;
}

async function startEverything(folder: string, port: number): Promise<Target> {
  const entry = (id: string, name: string) => ({
    model_name: name,
    litellm_params: {
      model: 'hosted_vllm/bench-model',
      api_base: `http://127.0.0.1:${port}/v1`,
      api_key: 'sk-bench-upstream',
      rpm: 1e9,
      tpm: 1e12,
      max_parallel_requests: 1e6,
    },
    model_info: { id, input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 },
  });
  const configuration = join(folder, 'config.yaml');
  const text = JSON.stringify({
    model_list: [entry('a', PUBLIC_MODEL), entry('b', PUBLIC_MODEL), entry('c', 'spare')],
    router_settings: {
      num_retries: 2,
      allowed_fails: 3,
      cooldown_time: 5,
      fallbacks: [{ [PUBLIC_MODEL]: ['spare'] }],
      optional_pre_call_checks: ['session_affinity', 'prompt_caching'],
    },
    general_settings: {
      master_key: MASTER_KEY,
      store: join(folder, 'store'),
      max_in_flight_requests_per_worker: 1000,
      background_health_checks: true,
      health_check_interval: 60,
    },
  });
  await writeFile(configuration, text);
  return { ...(await startModelProxyWith(configuration, folder)), name: 'everything' };
}

type Results = ReadonlyMap<string, readonly LoadResult[]>;

const cpu = (results: Results, name: string) => (results.get(name) ?? []).map(({ cpuUs }) => cpuUs);
const rates = (results: Results, name: string) => (results.get(name) ?? []).map(({ perSecond }) => perSecond);

function resultsTable(results: Results): string {
  const reference = results.has('before') ? 'before' : 'master key';
  const rows = [...results].map(([name, all]) => [
    name,
    short(median(cpu(results, name))),
    short(medianRatio(cpu(results, name), cpu(results, reference))),
    quartilesOfRatios(cpu(results, name), cpu(results, reference)),
    median(rates(results, name)).toFixed(0),
    short(medianRatio(rates(results, name), rates(results, 'nginx'))),
    short(median(all.map(({ p50Us }) => p50Us)) / 1000),
  ]);
  const head = ['target', 'CPU, µs', `of ${reference}`, 'quartiles', 'requests/s', 'of nginx', 'p50, ms'];
  return `1 KB with everything enabled, ${CONNECTIONS} connections\n\n${table(head, rows)}`;
}

function figures(results: Results): readonly Figure[] {
  const ofNginx: Figure = {
    what: 'everything enabled: requests/s relative to nginx',
    value: medianRatio(rates(results, 'everything'), rates(results, 'nginx')),
    unit: '',
    must: 0.27,
    aim: 0.4,
    better: 'higher',
  };
  if (!results.has('before')) return [ofNginx];
  const ofBefore: Figure = {
    what: 'everything enabled: CPU relative to the other build with a master key',
    value: medianRatio(cpu(results, 'everything'), cpu(results, 'before')),
    unit: '',
    must: 1.1,
    aim: null,
    better: 'lower',
  };
  return [ofNginx, ofBefore];
}
