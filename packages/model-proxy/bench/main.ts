/**
 * Measures model-proxy against nginx, a naive proxy and a `node:http` pipe. The current target has
 * one core; the load and the upstream share the other. In `workers` and `limits`, all processes may use
 * all cores. Targets take turns, and the median of the rounds' ratios counts. CPU per request is the
 * most stable value on a busy host.
 *
 *     npm run bench -w @rackless/model-proxy [-- PART… --rounds N --seconds N --soak-requests N]
 *
 * Needs two cores, nginx, wrk, taskset and openssl, and `npm run build` first. `keys` and `limits` also need
 * redis-check-rdb of Debian's package redis-tools. Default: all parts except `soak` and `gateways`. `gateways`
 * needs the executable of LiteLLM in RACKLESS_LITELLM, or that of Bifrost in RACKLESS_BIFROST, or both. Prints
 * Markdown. Exits 1 if a figure misses its limit.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { benchBodies } from './large-bodies.js';
import { benchEverything } from './everything.js';
import { benchFailover } from './faults/failover.js';
import { benchGateways } from './gateways.js';
import { benchKeys } from './keys.js';
import { benchLimits } from './groups/limits.js';
import { benchIsolation } from './faults/isolation.js';
import { benchMemory } from './memory.js';
import { benchReload } from './lifecycle/reload.js';
import { benchRequests } from './requests.js';
import { figuresTable, isReached, type Figure } from './report.js';
import { benchSoak } from './soak.js';
import { benchStart } from './lifecycle/start.js';
import { benchStreams } from './streams.js';
import { benchTls } from './tls.js';
import { benchWorkers } from './groups/workers.js';
import type { Bench } from './rounds.js';

const parts: Readonly<Record<string, (bench: Bench) => Promise<readonly Figure[]>>> = {
  requests: benchRequests,
  bodies: benchBodies,
  streams: benchStreams,
  tls: benchTls,
  keys: benchKeys,
  workers: benchWorkers,
  limits: benchLimits,
  everything: benchEverything,
  failover: benchFailover,
  isolation: benchIsolation,
  memory: benchMemory,
  start: benchStart,
  reload: benchReload,
  soak: benchSoak,
  gateways: benchGateways,
};

/** Parts that run only if they are named: `soak` takes minutes, `gateways` needs LiteLLM or Bifrost. */
const onlyIfNamed: ReadonlySet<string> = new Set(['soak', 'gateways']);

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    'soak-requests': { type: 'string', default: '1000000' },
  },
});
const wanted = positionals.length > 0 ? positionals : Object.keys(parts).filter((name) => !onlyIfNamed.has(name));
const unknown = wanted.find((name) => !(name in parts));
if (unknown !== undefined) throw new Error(`bench: there is no part ${unknown}, only ${Object.keys(parts).join(', ')}`);
if (cpus().length < 2) throw new Error('bench: two cores are needed');

const folder = await mkdtemp(join(tmpdir(), 'rackless-proxy-bench-'));
const figures: Figure[] = [];
try {
  for (const name of wanted) {
    const own = join(folder, name);
    await mkdir(own);
    const print = (text: string) => console.log(`${text}\n`);
    const bench: Bench = {
      folder: own,
      rounds: Number(flags.rounds),
      seconds: Number(flags.seconds),
      soakRequests: Number(flags['soak-requests']),
      print,
    };
    figures.push(...((await parts[name]?.(bench)) ?? []));
  }
} finally {
  await rm(folder, { recursive: true });
}
console.log(figuresTable(figures));
process.exitCode = figures.every(isReached) ? 0 : 1;
