/**
 * Measures whether one hanging host slows down requests for the others: the p99 while one of ten
 * hosts hangs, divided by the p99 while all answer. Half of the GETs read the collection, half a
 * machine of another host.
 *
 *     npm run bench:hosts -w @rackless/bmc-daemon [-- --hosts N] [--machines N] [--requests N] [--rounds N]
 *
 * Needs libvirtd, and `npm run build` first. Starts private libvirtds with their test driver,
 * behind relays. Each round measures both cases, so that the load of the computer affects both. The
 * measurement begins before the daemon notices the hang. Exits 1 if it misses the goal.
 */
import { startNetworkLibvirtd, type NetworkLibvirtd } from '../../libvirt/test/harness/network-libvirtd.js';
import { startRelay, type Relay } from '../../libvirt/test/harness/relay.js';
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
  requests: 3000,
  rounds: 6,
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
  await machines.define(machinesEach, 'measured', 1 + index * machinesEach);
  return { libvirtd, machines, relay: await startRelay(libvirtd.tcpPort) };
}

async function stopHost({ libvirtd, relay, machines }: LabHost): Promise<void> {
  await relay.stop();
  await machines.close();
  await libvirtd.stop();
}

/** Returns the machine with the given number, on any host but the first. */
const otherMachine = (number: number): string =>
  systemUri(1 + machinesEach + (number % (machinesEach * (hostCount - 1))));

/** Returns the times of requests in milliseconds, half of them of the collection. */
async function measure({ url }: MeasuredDaemon): Promise<readonly number[]> {
  const times: number[] = [];
  for (let number = 0; number < requests; number += 1) {
    const path = number % 2 === 0 ? '/redfish/v1/Systems' : otherMachine(number);
    const started = performance.now();
    const { status, body } = await fetchOnce(url + path);
    times.push(performance.now() - started);
    if (status !== 200) throw new Error(`reading ${path}: ${status} ${body.slice(0, 300)}`);
  }
  return times;
}

const p99 = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? NaN;

/** Waits until the machine of the first host has the given state. */
const reaches = (daemon: MeasuredDaemon, state: string): Promise<void> =>
  until(`state ${state}`, async () => {
    const { body } = await fetchOnce(daemon.url + systemUri(1));
    return body.includes(`"State":"${state}"`);
  });

async function compare(daemon: MeasuredDaemon, relay: Relay): Promise<boolean> {
  const healthy: number[] = [];
  const hanging: number[] = [];
  await measure(daemon); // The first requests compile code.
  for (let round = 0; round < rounds; round += 1) {
    // The order changes, so that a trend of the load affects both cases.
    if (round % 2 === 0) healthy.push(...(await measure(daemon)));
    relay.stall();
    hanging.push(...(await measure(daemon)));
    await reaches(daemon, 'UnavailableOffline');
    relay.resume();
    await reaches(daemon, 'Enabled');
    if (round % 2 === 1) healthy.push(...(await measure(daemon)));
  }
  const ratio = p99(hanging) / p99(healthy);
  console.log(`${hostCount} hosts with ${machinesEach} machines each, ${healthy.length} requests in each case`);
  console.log(`  p99, all hosts answer   ${p99(healthy).toFixed(2).padStart(8)} ms`);
  console.log(`  p99, one host hangs     ${p99(hanging).toFixed(2).padStart(8)} ms`);
  console.log(
    `  slowest, one host hangs ${Math.max(...hanging)
      .toFixed(0)
      .padStart(8)} ms`,
  );
  console.log(
    `  ratio of p99            ${ratio.toFixed(2).padStart(8)}  goal ${goal}${ratio <= goal ? '' : '  MISSED'}`,
  );
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
