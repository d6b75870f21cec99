/**
 * Measures whether one hanging host slows down requests for the others: the p99 while one of ten
 * hosts hangs, divided by the p99 while all answer. Half of the GETs read the collection, half a
 * machine of another host.
 *
 *     npm run bench:hosts -w @rackless/bmc-daemon [-- --hosts N] [--machines N] [--requests N] [--rounds N]
 *
 * Needs libvirtd, and `npm run build` first. Starts private libvirtds with their test driver,
 * behind relays. A round has three phases: two in which all hosts answer, and one in which a host
 * hangs, in changing order. Each round gives the ratios of p99 and p50 for the hang. It also gives the
 * ratio of the p99 of the two other phases, which shows the noise of the computer. The median of the
 * hang's ratios of p99 decides, because single rounds depend on the load of a shared computer. A phase
 * with a hang begins before the daemon notices the hang. `--requests` is the number of GETs of a phase.
 * Exits 1 if the median misses the goal, or if a GET fails.
 */
import { startNetworkLibvirtd, type NetworkLibvirtd } from '../../libvirt/test/harness/network-libvirtd.js';
import { startRelay, type Relay } from '../../libvirt/test/harness/relay.js';
import { latencyOf, quantile, timeGet, type Timing } from './fleet/latency.js';
import { inFolder, readFlags } from './harness/benchmark.js';
import {
  fetchOnce,
  hostsSetting,
  Machines,
  startMeasured,
  systemUri,
  until,
  untilListed,
  type MeasuredDaemon,
} from './measured-daemon.js';

const flags = readFlags({
  hosts: 10,
  machines: 20,
  requests: 1000,
  rounds: 20,
});
const hostCount = flags.hosts;
const machinesEach = flags.machines;
const requests = flags.requests;
const rounds = flags.rounds;

/** p99 with a hanging host, divided by p99 without. */
const goal = 1.1;

interface LabHost {
  readonly libvirtd: NetworkLibvirtd;
  readonly relay: Relay;
  readonly machines: Machines;
}

async function startHost(index: number): Promise<LabHost> {
  const libvirtd = await startNetworkLibvirtd({ driver: 'test' });
  const machines = await Machines.open(libvirtd.daemon.uri);
  await machines.define(machinesEach, { title: 'measured', first: 1 + index * machinesEach });
  return { libvirtd, machines, relay: await startRelay(libvirtd.tcpPort) };
}

async function stopHost({ libvirtd, relay, machines }: LabHost): Promise<void> {
  await relay.stop();
  await machines.close();
  await libvirtd.stop();
}

/** Returns the URI of a machine of any host but the first. @param number any number; it selects the machine. */
const otherMachine = (number: number): string =>
  systemUri(1 + machinesEach + (number % (machinesEach * (hostCount - 1))));

/** Sends the requests of one phase, half of them for the collection. */
async function measure(daemon: MeasuredDaemon): Promise<readonly Timing[]> {
  const timings: Timing[] = [];
  for (let number = 0; number < requests; number += 1) {
    const path = number % 2 === 0 ? '/redfish/v1/Systems' : otherMachine(number);
    const timing = await timeGet(daemon, path);
    if (timing.failed) throw new Error(`reading ${path}: not 200`);
    timings.push(timing);
  }
  return timings;
}

/** The phases of one round. */
interface Round {
  readonly healthy: readonly [readonly Timing[], readonly Timing[]];
  readonly hanging: readonly Timing[];
}

/** Measures a round. @param hangAt the place of the hang among the three phases. */
async function measureRound(daemon: MeasuredDaemon, relay: Relay, hangAt: number): Promise<Round> {
  const phases: (readonly Timing[])[] = [];
  for (let phase = 0; phase < 3; phase += 1) {
    if (phase !== hangAt) {
      phases.push(await measure(daemon));
      continue;
    }
    relay.stall();
    phases.push(await measure(daemon));
    await untilState(daemon, 'UnavailableOffline');
    relay.resume();
    await untilState(daemon, 'Enabled');
  }
  const [hanging = []] = phases.splice(hangAt, 1);
  const [first = [], second = []] = phases;
  return { healthy: [first, second], hanging };
}

/** Waits until the first machine of the first host, which is the one that hangs, has the given state. */
const untilState = (daemon: MeasuredDaemon, state: string): Promise<void> =>
  until(`the state ${state}`, async () => {
    const { body } = await fetchOnce(daemon.url + systemUri(1));
    return body.includes(`"State":"${state}"`);
  });

const ms = (value: number): string => `${value.toFixed(2).padStart(8)} ms`;

/** Prints a distribution of ratios. @returns the median. */
function printRatios(what: string, ratios: readonly number[]): number {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(ratios, share));
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)];
  const numbers = [middle, low, high, least, most].map((value = NaN) => value.toFixed(2));
  const [median = '', quarter = '', threeQuarters = '', minimum = '', maximum = ''] = numbers;
  console.log(
    `  ${what.padEnd(32)} median ${median}, half of them ${quarter} to ${threeQuarters}, all ${minimum} to ${maximum}`,
  );
  return middle ?? NaN;
}

async function compare(daemon: MeasuredDaemon, relay: Relay): Promise<boolean> {
  await measure(daemon); // The first requests compile code.
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round += 1) measured.push(await measureRound(daemon, relay, round % 3));
  const hangRatios = measured.map(
    ({ healthy, hanging }) => latencyOf(hanging).ownP99Ms / latencyOf(healthy.flat()).ownP99Ms,
  );
  const noiseRatios = measured.map(
    ({ healthy: [first, second] }) => latencyOf(first).ownP99Ms / latencyOf(second).ownP99Ms,
  );
  const medianRatios = measured.map(
    ({ healthy, hanging }) => latencyOf(hanging).p50Ms / latencyOf(healthy.flat()).p50Ms,
  );
  const healthy = latencyOf(measured.flatMap((round) => round.healthy.flat()));
  const hanging = latencyOf(measured.flatMap((round) => round.hanging));
  console.log(
    `${hostCount} hosts with ${machinesEach} machines each, ${rounds} rounds with ${requests} GETs in each phase`,
  );
  console.log('p99 excludes waits for a CPU; the slowest times and p50 include them');
  console.log(`  p99, all hosts answer            ${ms(healthy.ownP99Ms)}`);
  console.log(`  p99, one host hangs              ${ms(hanging.ownP99Ms)}`);
  console.log(`  slowest, all hosts answer        ${ms(healthy.maxMs)}`);
  console.log(`  slowest, one host hangs          ${ms(hanging.maxMs)}`);
  printRatios('noise: ratio of p99 without hang', noiseRatios);
  printRatios('ratio of p50', medianRatios);
  const ratio = printRatios('ratio of p99', hangRatios);
  console.log(`  median of the ratios of p99 ${ratio.toFixed(2)}, goal ${goal}${ratio <= goal ? '' : '  MISSED'}`);
  return ratio <= goal;
}

const isMet = await inFolder(async (folder) => {
  const hosts: LabHost[] = [];
  try {
    for (let index = 0; index < hostCount; index += 1) hosts.push(await startHost(index));
    const [first] = hosts;
    if (first === undefined) throw new Error('--hosts must be positive');
    const uris = hosts.map(({ relay }) => `test+tcp://127.0.0.1:${relay.port}/default`);
    const daemon = await startMeasured(folder, { arguments: [], lines: hostsSetting(uris) });
    try {
      await untilListed(daemon, hostCount * machinesEach);
      return await compare(daemon, first.relay);
    } finally {
      await daemon.stop();
    }
  } finally {
    for (const host of hosts) await stopHost(host);
  }
});
process.exitCode = isMet ? 0 : 1;
