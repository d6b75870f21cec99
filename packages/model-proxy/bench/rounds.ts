/** The options that each part of the benchmark gets, and a function that loads the targets in turn. */
import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { load, loadTarget, type LoadResult, type LoadOptions } from './load.js';
import { LOAD_CORE } from './processes.js';
import { fixedAnswer, startNginx, type Nginx } from './peers/nginx.js';
import type { Target } from './targets.js';

export interface Bench {
  /** Folder for the files of the part; removed at the end. */
  readonly folder: string;
  /** Number of turns of each target. */
  readonly rounds: number;
  /** Duration of a turn in seconds; at most 2 for `direct` in {@link takeTurns}. */
  readonly seconds: number;
  /** Number of requests in a soak after its warm-up; the number of streams is a tenth. */
  readonly soakRequests: number;
  readonly print: (text: string) => void;
}

/**
 * Starts an upstream.
 * @param core default: the core of the load.
 * @throws {Error} as {@link startNginx}.
 */
export async function startUpstream(folder: string, answer: string, core = LOAD_CORE): Promise<Nginx> {
  const own = join(folder, 'upstream');
  await mkdir(own, { recursive: true });
  return startNginx(core, own, 1, ([port]) => `server { listen 127.0.0.1:${port}; ${fixedAnswer(answer)} }`);
}

/**
 * Loads all targets in turn.
 * @returns the results of the rounds, by the target's name. `direct` is the upstream without a
 *   proxy, on its usual core.
 * @throws {Error} as {@link load}, or if a target answers no request in a turn.
 */
export async function takeTurns(
  { folder, rounds, seconds }: Bench,
  targets: readonly Target[],
  upstreamUrl: string,
  request: Pick<LoadOptions, 'body' | 'connections'>,
): Promise<ReadonlyMap<string, readonly LoadResult[]>> {
  for (const target of targets) await warmUp(folder, target, request);
  const results = new Map<string, LoadResult[]>(
    ['direct', ...targets.map(({ name }) => name)].map((name) => [name, []]),
  );
  for (let round = 0; round < rounds; round += 1) {
    results.get('direct')?.push(await load(folder, { ...request, url: upstreamUrl, seconds: Math.min(seconds, 2) }));
    for (const target of targets) {
      const loaded = await loadTarget(folder, target, { ...request, seconds });
      if (loaded.requests === 0) throw new Error(`loading ${target.name}: no request was answered`);
      results.get(target.name)?.push(loaded);
    }
  }
  return results;
}

/** After this number of requests, V8 compiles only a little. */
const WARM_REQUESTS = 60_000;
/** Maximum duration of a warm-up, for large bodies. They need fewer requests. */
const WARM_MS = 10_000;

/** Warms up a target over at least four connections. @throws {Error} as {@link load}. */
export async function warmUp(
  folder: string,
  target: Target,
  request: Pick<LoadOptions, 'body' | 'connections'>,
): Promise<void> {
  const end = performance.now() + WARM_MS;
  let sent = 0;
  while (sent < WARM_REQUESTS && performance.now() < end) {
    sent += (
      await loadTarget(folder, target, { ...request, connections: Math.max(request.connections, 4), seconds: 1 })
    ).requests;
  }
}
