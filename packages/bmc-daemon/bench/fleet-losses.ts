/**
 * Measures a lab whose machines change all the time and whose hosts fail: 20 hosts with 100 machines
 * each, 200 power changes a second by another client of libvirt, and one libvirtd after another is
 * killed and started again. Counts the events that are missing or extra, also those of machines that
 * ended with their libvirtd, and compares GETs of other hosts while a host is lost with all others.
 *
 *     npm run bench:losses -w @rackless/bmc-daemon [-- --hosts N] [--machines N] [--rate N] [--losses N]
 *       [--every SECONDS]
 *
 * Needs libvirtd, and `npm run build` first. Starts private libvirtds with their test driver. Takes a
 * minute for each loss, and a minute for the start. Exits 1 if an event is missing or extra.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Hypervisor, type Domain } from '@rackless/libvirt';
import { startLibvirtd, type PrivateLibvirtd } from '../../libvirt/test/harness/libvirtd.js';
import { addChange, streamPower, type PowerChanges } from './fleet/event-stream.js';
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
const each = flags.machines;
const hostCount = flags.hosts;
/** How long a libvirtd is away, in milliseconds. */
const awayMs = 4_000;

/** The changes that clients must see. */
const expected: PowerChanges = new Map();

/** A libvirtd, and a client that switches its machines on and off. */
class LabHost {
  readonly first: number;
  readonly libvirtd: PrivateLibvirtd;
  readonly #on = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #machines: Machines | undefined;
  #hypervisor: Hypervisor | undefined;
  #waiting: Domain[] = [];
  isUp = false;

  constructor(first: number, libvirtd: PrivateLibvirtd) {
    this.first = first;
    this.libvirtd = libvirtd;
  }

  async open(): Promise<void> {
    this.#machines = await Machines.open(this.libvirtd.uri);
    await this.#machines.define(each, 'measured', this.first);
    this.#hypervisor = Hypervisor.connect(this.libvirtd.uri, { callTimeoutMs: 60_000 });
    this.#waiting = [...(await this.#hypervisor.listAllDomains())];
    this.isUp = true;
  }

  /** Switches the machine that waits longest. */
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

  async disconnect(): Promise<void> {
    this.isUp = false;
    await Promise.all(this.#running);
    await this.#machines?.close();
    await this.#hypervisor?.close();
  }

  /** Kills libvirtd and starts it again. Its machines are then off. */
  async lose(daemon: MeasuredDaemon): Promise<void> {
    await this.libvirtd.end('SIGKILL');
    await sleep(awayMs);
    await this.libvirtd.start();
    for (const uuid of this.#on) addChange(expected, uuid, 'Off');
    this.#on.clear();
    await this.open();
    this.isUp = false;
    await until('the host', async () => {
      const { body } = await fetchOnce(daemon.url + systemUri(this.first));
      return body.includes('"PowerState":"Off"') && !body.includes('UnavailableOffline');
    });
    this.isUp = true;
  }
}

/** Runs a function at a rate until its end is called. */
function atRate(perSecond: number, run: (count: number) => void): () => void {
  const began = performance.now();
  let count = 0;
  const timer = setInterval(() => {
    for (const due = ((performance.now() - began) / 1000) * perSecond; count < due; count += 1) run(count);
  }, 10);
  return () => clearInterval(timer);
}

function differences(seen: PowerChanges): { readonly missing: number; readonly extra: number; readonly other: number } {
  let [missing, extra, other] = [0, 0, 0];
  for (const [uuid, changes] of expected) {
    const found = seen.get(uuid) ?? [];
    missing += Math.max(0, changes.length - found.length);
    extra += Math.max(0, found.length - changes.length);
    if (changes.at(-1) !== found.at(-1)) other += 1;
  }
  return { missing, extra, other };
}

function sum(changes: PowerChanges): number {
  return [...changes.values()].reduce((total, { length }) => total + length, 0);
}

async function measure(daemon: MeasuredDaemon, hosts: readonly LabHost[]): Promise<boolean> {
  const stream = await streamPower(daemon.url);
  const timings: Record<'whole' | 'lost', Timing[]> = { whole: [], lost: [] };
  let phase: keyof typeof timings = 'whole';
  const gets: Promise<unknown>[] = [];
  const up = (number: number): LabHost | undefined => {
    const all = hosts.filter(({ isUp }) => isUp);
    return all[number % all.length];
  };
  const endChanges = atRate(flags.rate, (number) => up(number)?.change());
  const endGets = atRate(20, (number) => {
    const uri = systemUri((up(number)?.first ?? 1) + (number % each));
    const present = timings[phase];
    gets.push(timeGet(daemon, uri).then((timing) => present.push(timing)));
  });
  for (let loss = 0; loss < flags.losses; loss += 1) {
    await sleep(flags.every * 1000 - awayMs);
    const host = hosts[(loss * 7) % hosts.length];
    await host?.disconnect();
    // Events that libvirtd has not sent yet would end with it.
    await sleep(500);
    phase = 'lost';
    await host?.lose(daemon);
    phase = 'whole';
    console.log(`loss ${loss + 1}: ${sum(expected)} changes so far`);
  }
  endChanges();
  endGets();
  await Promise.all(gets);
  for (const host of hosts) await host.disconnect();
  await until('the last events', () => Promise.resolve(sum(stream.changes) >= sum(expected))).catch(() => undefined);
  stream.close();
  const { missing, extra, other } = differences(stream.changes);
  console.log(`${hosts.length} hosts with ${each} machines each, ${flags.losses} losses, ${sum(expected)} changes`);
  console.log(`  events              ${missing} missing, ${extra} extra, ${other} machines with another state`);
  const [whole, lost] = [latencyOf(timings.whole), latencyOf(timings.lost)];
  console.log(`  GETs, all hosts     ${latencyText(whole)}`);
  console.log(`  GETs, one host lost ${latencyText(lost)}`);
  console.log(
    `  p99 with a loss     ${(lost.ownP99Ms / whole.ownP99Ms).toFixed(2)} of that without, without waits for a CPU`,
  );
  console.log(`  memory              ${(await memoryOf(daemon.pid)).peak.toFixed(0)} MiB at most`);
  return missing + extra + other === 0;
}

const isMet = await inFolder(async (folder) => {
  const hosts: LabHost[] = [];
  try {
    for (let index = 0; index < hostCount; index += 1) {
      const host = new LabHost(1 + index * each, await startLibvirtd({ driver: 'test' }));
      hosts.push(host);
      await host.open();
    }
    console.log(`${hostCount} hosts with ${each} machines each have started`);
    const uris = hosts.map(({ libvirtd }) => libvirtd.uri);
    const daemon = await startMeasured(folder, { arguments: [], lines: hostsSetting(uris) });
    try {
      await untilListed(daemon, hostCount * each);
      return await measure(daemon, hosts);
    } finally {
      await daemon.stop();
    }
  } finally {
    for (const { libvirtd } of hosts) await libvirtd.stop();
  }
});
process.exitCode = isMet ? 0 : 1;
