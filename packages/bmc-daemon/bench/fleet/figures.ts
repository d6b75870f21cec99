/** The figures of one daemon with many machines. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { costOf, fetchOnce, median, waitUntilIdle, type MeasuredDaemon } from '../measured-daemon.js';
import type { BareServer } from '../bare-process.js';
import { memoryOf, type Memory } from '../process-use.js';
import { latencyOf, timeGet, type Latency, type Target, type Timing } from './latency.js';

const stormPath = fileURLToPath(new URL('storm-client.js', import.meta.url));
const collection = '/redfish/v1/Systems';
const expanded = '/redfish/v1/Systems?$expand=.';

/** A daemon with its machines, and a bare server that sends the bytes of their collection. */
export interface MeasuredFleet {
  readonly daemon: MeasuredDaemon;
  /** URIs of the machines. */
  readonly machines: readonly string[];
  readonly bare: BareServer;
}

/** Numbers of requests, storms and connections. */
export interface FigureOptions {
  readonly gets: number;
  readonly storms: number;
  /** Parallel connections of the client that starts the machines. */
  readonly connections: number;
}

/** The results. */
export interface Figures {
  /** CPU time of the first `$expand` after the start, in milliseconds. */
  readonly firstExpandMs: number;
  /** CPU time of a repeated `$expand`, in milliseconds. */
  readonly expandMs: number;
  readonly collection: Latency;
  readonly bareCollection: Latency;
  /** GETs of single machines while the daemon is idle. */
  readonly idle: Latency;
  /** GETs of single machines while a client starts all machines. */
  readonly storm: Latency;
  /** GETs of the collection from the bare server, while a client starts all machines. */
  readonly bareStorm: Latency;
  /** Answers to the starts, by status. 0: no answer. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Median duration of a storm. */
  readonly stormSeconds: number;
  readonly memory: Memory;
}

/** Measures a daemon that has just started, and whose machines are off. */
export async function measureFigures(fleet: MeasuredFleet, options: FigureOptions): Promise<Figures> {
  const { daemon, machines, bare } = fleet;
  const progress = progressOf(machines.length);
  await waitUntilIdle(daemon);
  progress('the daemon is idle');
  const firstExpandMs = await expandMs(fleet);
  const repeated: number[] = [];
  for (let round = 0; round < 3; round += 1) repeated.push(await expandMs(fleet));
  const [lists, bareLists, singles]: [Timing[], Timing[], Timing[]] = [[], [], []];
  for (let number = 0; number < options.gets; number += 1) {
    lists.push(await timeGet(daemon, collection));
    bareLists.push(await timeGet(bare, collection));
    singles.push(await timeGet(daemon, machines[number % machines.length] ?? ''));
  }
  progress('read the machines');
  const storms = await measureStorms(fleet, options);
  progress('started them all');
  return {
    firstExpandMs,
    expandMs: median(repeated),
    collection: latencyOf(lists),
    bareCollection: latencyOf(bareLists),
    idle: latencyOf(singles),
    ...storms,
    memory: await memoryOf(daemon.pid),
  };
}

/** Returns a function that prints how long a step took, because the benchmark takes minutes. */
function progressOf(machines: number): (step: string) => void {
  let since = performance.now();
  return (step) => {
    console.log(`${machines} machines: ${step} (${((performance.now() - since) / 1000).toFixed(1)} s)`);
    since = performance.now();
  };
}

async function expandMs({ daemon, machines }: MeasuredFleet): Promise<number> {
  const { ms, value } = await costOf(daemon, () => fetchOnce(`${daemon.url}${encodeURI(expanded)}`));
  if (value.status !== 200) throw new Error(`expanding: ${value.status} ${value.body.slice(0, 300)}`);
  const { Members: members } = JSON.parse(value.body) as { readonly Members: readonly unknown[] }; // The service under test sends this object.
  if (members.length !== machines.length)
    throw new Error(`expanding: ${members.length} machines instead of ${machines.length}`);
  return ms;
}

type Storms = Pick<Figures, 'storm' | 'bareStorm' | 'statuses' | 'stormSeconds'>;

async function measureStorms(fleet: MeasuredFleet, options: FigureOptions): Promise<Storms> {
  const [timings, bareTimings]: [Timing[], Timing[]] = [[], []];
  const statuses: Record<string, number> = {};
  const seconds: number[] = [];
  for (let round = 0; round < options.storms; round += 1) {
    const storm = runStorm(fleet, 'On', options.connections);
    const [own, bare] = await Promise.all([
      watch(fleet.daemon, fleet.machines, storm),
      watch(fleet.bare, [collection], storm),
    ]);
    timings.push(...own);
    bareTimings.push(...bare);
    const result = await storm;
    seconds.push(result.seconds);
    for (const [status, count] of Object.entries(result.statuses)) statuses[status] = (statuses[status] ?? 0) + count;
    await runStorm(fleet, 'ForceOff', 16);
    await waitUntilIdle(fleet.daemon);
  }
  return {
    storm: latencyOf(timings),
    bareStorm: latencyOf(bareTimings),
    statuses,
    stormSeconds: median(seconds),
  };
}

interface StormResult {
  readonly statuses: Readonly<Record<string, number>>;
  readonly seconds: number;
}

async function runStorm({ daemon, machines }: MeasuredFleet, type: string, connections: number): Promise<StormResult> {
  const child = spawn(process.execPath, [stormPath, type, String(connections)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  child.stdin.end(machines.map((uri) => `${daemon.url}${uri}/Actions/ComputerSystem.Reset`).join('\n'));
  const output = await text(child.stdout);
  await ended;
  return JSON.parse(output) as StormResult; // storm-client.ts wrote it.
}

/** Time between two GETs during a storm. A slow answer does not delay the next GET. */
const paceMs = 20;

/** Sends GETs at a fixed pace until `end` resolves, and waits for their answers. */
async function watch(target: Target, paths: readonly string[], end: Promise<unknown>): Promise<readonly Timing[]> {
  const running: Promise<Timing>[] = [];
  const timer = setInterval(() => {
    // Reaches machines in another order than the storm does.
    running.push(timeGet(target, paths[(running.length * 7919) % paths.length] ?? ''));
  }, paceMs);
  await end.finally(() => clearInterval(timer));
  return await Promise.all(running);
}
