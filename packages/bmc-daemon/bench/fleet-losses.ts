/**
 * Measures a lab whose machines change all the time and whose hosts fail: 20 hosts with 100 machines
 * each, 200 power changes a second by another client of libvirt, and one libvirtd after another is
 * killed and started again. Counts the events that are missing or extra, also those of machines that
 * ended with their libvirtd. Measures GETs of the collection all the time, also right after the start
 * of the service, and compares them with the goal. Compares two sets of GETs of machines of running
 * hosts: those sent while a host is lost, and those sent while all hosts run. After a loss, the changes
 * of that host resume when the service shows its first machine as off. At this time, the service possibly
 * still compares the other machines of that host with their last known states.
 *
 *     npm run bench:losses -w @rackless/bmc-daemon [-- --hosts N] [--machines N] [--rate N] [--losses N]
 *       [--every SECONDS]
 *
 * Needs libvirtd, and `npm run build` first. Starts private libvirtds with their test driver. Takes a
 * minute for the start, and `--every` seconds (default: 60) for each loss. Exits 1 if an event is missing
 * or extra, or if the last event of a machine has the wrong state. Also exits 1 if the 99th percentile of
 * the GETs of the collection misses its goal, or if one of these GETs fails. Prints the events of the first
 * ten machines whose events differ from their changes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Hypervisor, type Domain } from '@rackless/libvirt';
import { startLibvirtd, type PrivateLibvirtd } from '../../libvirt/test/harness/libvirtd.js';
import { addChange, streamPower, type PowerChanges } from './fleet/event-stream.js';
import { check } from './fleet/report.js';
import { latencyOf, latencyText, timeGet, type Timing } from './fleet/latency.js';
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
import { memoryOf } from './process-use.js';

const flags = readFlags({
  hosts: 20,
  machines: 100,
  rate: 200,
  losses: 3,
  every: 60,
});
const machinesEach = flags.machines;
const hostCount = flags.hosts;
/** Time from the kill of a libvirtd until its next start, in milliseconds. */
const awayMs = 4_000;
/** Goal for the 99th percentile of GETs of the collection, in milliseconds. */
const collectionGoalMs = 50;

/** The changes that clients must see. */
const expected: PowerChanges = new Map();

/** A libvirtd, and a client that switches its machines on and off. */
class LabHost {
  readonly firstMachine: number;
  readonly libvirtd: PrivateLibvirtd;
  readonly #on = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #machines: Machines | undefined;
  #hypervisor: Hypervisor | undefined;
  #waiting: Domain[] = [];
  isUp = false;

  constructor(firstMachine: number, libvirtd: PrivateLibvirtd) {
    this.firstMachine = firstMachine;
    this.libvirtd = libvirtd;
  }

  async open(): Promise<void> {
    this.#machines = await Machines.open(this.libvirtd.uri);
    await this.#machines.define(machinesEach, { title: 'measured', first: this.firstMachine });
    this.#hypervisor = Hypervisor.connect(this.libvirtd.uri, { callTimeoutMs: 60_000 });
    this.#waiting = [...(await this.#hypervisor.listAllDomains())];
    this.isUp = true;
  }

  /** Switches the machine whose last change is the oldest. Does nothing if changes of all machines still run. */
  change(): void {
    const domain = this.#waiting.shift();
    if (domain === undefined) return;
    const running = this.#change(domain).finally(() => {
      this.#running.delete(running);
      this.#waiting.push(domain);
    });
    this.#running.add(running);
  }

  async #change(domain: Domain): Promise<void> {
    const { uuid } = domain;
    if (this.#on.delete(uuid)) {
      await domain.destroy();
      addChange(expected, uuid, 'Off');
      return;
    }
    await domain.createWithFlags(0);
    this.#on.add(uuid);
    addChange(expected, uuid, 'On');
  }

  /** Excludes the host from further changes, and waits for the changes that run. */
  async pause(): Promise<void> {
    this.isUp = false;
    await Promise.all(this.#running);
  }

  async disconnect(): Promise<void> {
    await this.pause();
    await this.#machines?.close();
    await this.#hypervisor?.close();
  }

  /**
   * Kills libvirtd and starts it again. Its machines are then off. Waits until the daemon shows the
   * first of them as off.
   */
  async lose(daemon: MeasuredDaemon): Promise<void> {
    await this.disconnect();
    await this.libvirtd.stopDaemon('SIGKILL');
    await sleep(awayMs);
    await this.libvirtd.start();
    for (const uuid of this.#on) addChange(expected, uuid, 'Off');
    this.#on.clear();
    await this.open();
    this.isUp = false;
    await until('the host', async () => {
      const { body } = await fetchOnce(daemon.url + systemUri(this.firstMachine));
      return body.includes('"PowerState":"Off"') && !body.includes('UnavailableOffline');
    });
    this.isUp = true;
  }
}

/** Calls a function at a rate, with the number of the call from 0. @returns a function that stops the calls. */
function atRate(perSecond: number, run: (count: number) => void): () => void {
  const began = performance.now();
  let count = 0;
  const timer = setInterval(() => {
    for (const due = ((performance.now() - began) / 1000) * perSecond; count < due; count += 1) run(count);
  }, 10);
  return () => clearInterval(timer);
}

/**
 * Compares the changes in the stream with the expected ones, and prints the first ten machines that differ.
 * @returns the numbers of missing and extra events, and of machines whose last event has another state.
 */
function differences(seen: PowerChanges): { readonly missing: number; readonly extra: number; readonly other: number } {
  let [missing, extra, other, printed] = [0, 0, 0, 0];
  for (const [uuid, changes] of expected) {
    const found = seen.get(uuid) ?? [];
    missing += Math.max(0, changes.length - found.length);
    extra += Math.max(0, found.length - changes.length);
    if (changes.at(-1) !== found.at(-1)) other += 1;
    if (changes.join() === found.join()) continue;
    printed += 1;
    if (printed <= 10) console.log(`  ${uuid}: expected ${changes.join(' ')}; received ${found.join(' ')}`);
  }
  return { missing, extra, other };
}

/**
 * Waits until the stream has all changes of a host. Call this before the libvirtd of the host is killed: a killed
 * libvirtd loses the events that it has not sent yet.
 */
async function untilReceived(stream: PowerChanges, { firstMachine }: LabHost): Promise<void> {
  const uuids = Array.from(
    { length: machinesEach },
    (_, index) =>
      systemUri(firstMachine + index)
        .split('/')
        .at(-1) ?? '',
  );
  const count = (changes: PowerChanges, uuid: string): number => changes.get(uuid)?.length ?? 0;
  await until('the events of a host', () =>
    Promise.resolve(uuids.every((uuid) => count(stream, uuid) >= count(expected, uuid))),
  );
}

function sum(changes: PowerChanges): number {
  return [...changes.values()].reduce((total, { length }) => total + length, 0);
}

async function measure(daemon: MeasuredDaemon, hosts: readonly LabHost[]): Promise<boolean> {
  const stream = await streamPower(daemon.url);
  const timings: Record<'allRunning' | 'oneLost', Timing[]> = { allRunning: [], oneLost: [] };
  const lists: Timing[] = [];
  let phase: keyof typeof timings = 'allRunning';
  const gets: Promise<unknown>[] = [];
  const up = (number: number): LabHost | undefined => {
    const all = hosts.filter(({ isUp }) => isUp);
    return all[number % all.length];
  };
  const endChanges = atRate(flags.rate, (number) => up(number)?.change());
  const endGets = atRate(20, (number) => {
    const uri = systemUri((up(number)?.firstMachine ?? 1) + (number % machinesEach));
    const timingsOfPhase = timings[phase];
    gets.push(timeGet(daemon, uri).then((timing) => timingsOfPhase.push(timing)));
  });
  const endLists = atRate(10, () => {
    gets.push(timeGet(daemon, '/redfish/v1/Systems').then((timing) => lists.push(timing)));
  });
  for (let loss = 0; loss < flags.losses; loss += 1) {
    await sleep(flags.every * 1000 - awayMs);
    const host = hosts[(loss * 7) % hosts.length];
    if (host === undefined) throw new Error('--hosts must be positive');
    // Only pauses here and does not disconnect: the test driver drops all machines when its last client
    // disconnects. The events of earlier changes must arrive first. `lose` disconnects.
    await host.pause();
    await untilReceived(stream.changes, host);
    phase = 'oneLost';
    await host.lose(daemon);
    phase = 'allRunning';
    console.log(`loss ${loss + 1}: ${sum(expected)} changes so far`);
  }
  endChanges();
  endGets();
  endLists();
  await Promise.all(gets);
  for (const host of hosts) await host.pause();
  await until('the last events', () => Promise.resolve(sum(stream.changes) >= sum(expected))).catch(() => undefined);
  stream.close();
  for (const host of hosts) await host.disconnect();
  const { missing, extra, other } = differences(stream.changes);
  console.log(
    `${hosts.length} hosts with ${machinesEach} machines each, ${flags.losses} losses, ${sum(expected)} changes`,
  );
  console.log(`  events              ${missing} missing, ${extra} extra, ${other} machines with another state`);
  const list = latencyOf(lists);
  console.log(`  GET /Systems        ${latencyText(list)}`);
  const [allRunning, oneLost] = [latencyOf(timings.allRunning), latencyOf(timings.oneLost)];
  console.log(`  GETs, all hosts     ${latencyText(allRunning)}`);
  console.log(`  GETs, one host lost ${latencyText(oneLost)}`);
  const ratio = oneLost.ownP99Ms / allRunning.ownP99Ms;
  console.log(`  p99 with a loss / p99 without a loss: ${ratio.toFixed(2)} (CPU waits excluded)`);
  console.log(`  memory              ${(await memoryOf(daemon.pid)).peak.toFixed(0)} MiB at most`);
  return [
    check('p99 of GET /Systems', list.ownP99Ms, collectionGoalMs, 'ms'),
    check('failed GETs of /Systems', list.failed, 0, ''),
    check('wrong events', missing + extra + other, 0, ''),
  ].every(Boolean);
}

const isMet = await inFolder(async (folder) => {
  const hosts: LabHost[] = [];
  try {
    for (let index = 0; index < hostCount; index += 1) {
      const host = new LabHost(1 + index * machinesEach, await startLibvirtd({ driver: 'test' }));
      hosts.push(host);
      await host.open();
    }
    console.log(`${hostCount} hosts with ${machinesEach} machines each have started`);
    const uris = hosts.map(({ libvirtd }) => libvirtd.uri);
    const daemon = await startMeasured(folder, { arguments: [], lines: hostsSetting(uris) });
    try {
      await untilListed(daemon, hostCount * machinesEach);
      return await measure(daemon, hosts);
    } finally {
      await daemon.stop();
    }
  } finally {
    for (const { libvirtd } of hosts) await libvirtd.stop();
  }
});
process.exitCode = isMet ? 0 : 1;
