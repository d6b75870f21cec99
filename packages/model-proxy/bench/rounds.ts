/** What every part of the bench is given, and the turns that targets take. */
import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { load, loadTarget, type Loaded, type LoadOptions } from './load.js';
import { LOAD_CORE } from './processes.js';
import { answering, startNginx, type Nginx } from './nginx.js';
import type { Target } from './targets.js';

export interface Bench {
  /** For its files; ended with the bench. */
  readonly folder: string;
  /** How often each target has its turn. */
  readonly rounds: number;
  /** Of one turn. */
  readonly seconds: number;
  /** How many requests a soak sends, and a tenth as many streams. */
  readonly soakRequests: number;
  readonly print: (text: string) => void;
}

/** An upstream on the core of the load. @param core where else. */
export async function startUpstream(folder: string, answer: string, core = LOAD_CORE): Promise<Nginx> {
  const own = join(folder, 'upstream');
  await mkdir(own, { recursive: true });
  return startNginx(core, own, 1, ([port]) => `server { listen 127.0.0.1:${port}; ${answering(answer)} }`);
}

/**
 * Loads all targets in turn. @returns their rounds by name; the upstream without a proxy as `direct`, on the core where it serves them.
 */
export async function takeTurns(
  { folder, rounds, seconds }: Bench,
  targets: readonly Target[],
  upstreamUrl: string,
  request: Pick<LoadOptions, 'body' | 'connections'>,
): Promise<ReadonlyMap<string, readonly Loaded[]>> {
  for (const target of targets) await warmUp(folder, target, request);
  const results = new Map<string, Loaded[]>(['direct', ...targets.map(({ name }) => name)].map((name) => [name, []]));
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

/** After so many requests everything that V8 compiles has been compiled; of large ones, that costs most of itself long before. */
const WARM_REQUESTS = 20_000;
const WARM_MS = 10_000;

/** Lets a target do what it does once. */
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
