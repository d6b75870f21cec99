/**
 * Measures hosts with many machines:
 *
 * 1. CPU time of one machine in `$expand` and `$filter`, relative to a plain GET of a system.
 * 2. CPU time of one manager, relative to a system in the same query.
 * 3. CPU time of a start.
 * 4. Whether the daemon answers while busy loops use the CPUs.
 *
 *     npm run bench:machines -w @rackless/bmc-daemon -- \
 *       [--machines N] [--start-machines N] [--rounds N] [--busy-loops N]
 *
 * Needs libvirtd, and `npm run build` first. Starts a private libvirtd with its test driver. Exits
 * 1 if it misses a goal.
 */
import { spawn } from 'node:child_process';
import { startLibvirtd } from '../../libvirt/test/harness/libvirtd.js';
import { inFolder, readFlags, report } from './harness/benchmark.js';
import {
  costOf,
  fetchOnce,
  Machines,
  median,
  startDaemon,
  systemUri,
  waitUntilIdle,
  type MeasuredDaemon,
} from './measured-daemon.js';

const flags = readFlags({
  machines: 300,
  'start-machines': 2000,
  rounds: 7,
  'busy-loops': 6,
});
const machineCount = flags.machines;
const rounds = flags.rounds;

/** Maximum values. */
const goals = {
  /** CPU time of a machine that was not read before, divided by that of a plain GET. */
  first: 2,
  /** CPU time of a machine that was read before, divided by that of a plain GET. */
  later: 0.7,
  /** CPU time of a manager, divided by that of a system in the same query. */
  manager: 1.2,
  /** CPU time of a start, in milliseconds. */
  startMs: 3000,
};
/** Number of concurrent plain GETs. An expansion reads the same number of machines at once. */
const atOnce = 8;

const expandedSystems = '/redfish/v1/Systems?$expand=.';
const expandedManagers = '/redfish/v1/Managers?$expand=.';
const filteredSystems = "/redfish/v1/Systems?$filter=PowerState eq 'Off'";
const filteredManagers = "/redfish/v1/Managers?$filter=PowerState eq 'On'";

/** Returns the CPU time of a GET in milliseconds, divided by the number of machines in it. */
async function perMachine(daemon: MeasuredDaemon, path: string): Promise<number> {
  const { ms, value } = await costOf(daemon, () => fetchOnce(`${daemon.url}${encodeURI(path)}`));
  if (value.status !== 200) throw new Error(`reading ${path}: ${value.status} ${value.body.slice(0, 500)}`);
  // The daemon wrote this body, so its type is known.
  const { Members: members } = JSON.parse(value.body) as { readonly Members: readonly unknown[] };
  if (members.length !== machineCount) throw new Error(`reading ${path}: ${members.length} members`);
  return ms / machineCount;
}

/** Reads each system once with a plain GET. @returns the mean CPU time of a GET in milliseconds. */
async function perPlainGet(daemon: MeasuredDaemon): Promise<number> {
  const { ms } = await costOf(daemon, async () => {
    const waiting = Array.from({ length: machineCount }, (_, index) => systemUri(index + 1));
    const walk = async (): Promise<void> => {
      for (let uri = waiting.pop(); uri !== undefined; uri = waiting.pop()) {
        const { status } = await fetchOnce(`${daemon.url}${uri}`);
        if (status !== 200) throw new Error(`reading ${uri}: ${status}`);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, walk));
  });
  return ms / machineCount;
}

async function measureRatios(daemon: MeasuredDaemon, machines: Machines): Promise<boolean> {
  const cold = await perMachine(daemon, expandedSystems);
  const samples = {
    plain: [],
    first: [],
    firstFilter: [],
    later: [],
    filter: [],
    manager: [],
    managerFilter: [],
  } as Record<'plain' | 'first' | 'firstFilter' | 'later' | 'filter' | 'manager' | 'managerFilter', number[]>;
  for (let round = 0; round < rounds; round += 1) {
    // A changed definition costs as much as an unknown one.
    await machines.define(machineCount, { title: `expanded in round ${round}` });
    await waitUntilIdle(daemon);
    samples.first.push(await perMachine(daemon, expandedSystems));
    samples.later.push(await perMachine(daemon, expandedSystems));
    // The first GETs fill caches. Only the second GETs count, because they show the recurring cost.
    await perPlainGet(daemon);
    samples.plain.push(await perPlainGet(daemon));
    samples.manager.push(await perMachine(daemon, expandedManagers));
    await machines.define(machineCount, { title: `filtered in round ${round}` });
    await waitUntilIdle(daemon);
    samples.firstFilter.push(await perMachine(daemon, filteredSystems));
    samples.filter.push(await perMachine(daemon, filteredSystems));
    samples.managerFilter.push(await perMachine(daemon, filteredManagers));
  }
  const plain = median(samples.plain);
  const relativeToGet = (values: readonly number[]): number => median(values) / plain;
  const managerInExpand = median(samples.manager) / median(samples.later);
  const managerInFilter = median(samples.managerFilter) / median(samples.filter);
  console.log(`${machineCount} machines; a plain GET of a system costs ${(plain * 1000).toFixed(0)} us of CPU`);
  console.log(
    `  first $expand after the start (V8 has not compiled the code): ${(cold / plain).toFixed(2)} times a plain GET`,
  );
  return [
    report('$expand, machine not read before (1 = a plain GET)', relativeToGet(samples.first), '', goals.first),
    report('$expand, machine read before (1 = a plain GET)', relativeToGet(samples.later), '', goals.later),
    report('$filter, machine not read before (1 = a plain GET)', relativeToGet(samples.firstFilter), '', goals.first),
    report('$filter, machine read before (1 = a plain GET)', relativeToGet(samples.filter), '', goals.later),
    report('$expand, manager (1 = a system in $expand)', managerInExpand, '', goals.manager),
    report('$filter, manager (1 = a system in $filter)', managerInFilter, '', goals.manager),
  ].every(Boolean);
}

/** Repeats the largest requests while busy loops use the CPUs. */
async function measureStarved(daemon: MeasuredDaemon, machines: Machines): Promise<boolean> {
  const loops = Array.from({ length: flags['busy-loops'] }, () =>
    spawn(process.execPath, ['-e', 'for (;;) { /* takes a processor */ }'], { stdio: 'ignore' }),
  );
  const failed: string[] = [];
  const times: number[] = [];
  try {
    await machines.define(machineCount, { title: 'read by a starved daemon' });
    for (const path of [expandedSystems, filteredSystems, expandedManagers, expandedSystems]) {
      const started = performance.now();
      const { status } = await fetchOnce(`${daemon.url}${encodeURI(path)}`);
      times.push(performance.now() - started);
      if (status !== 200) failed.push(`${path}: ${status}`);
    }
  } finally {
    for (const loop of loops) loop.kill('SIGKILL');
  }
  const slowest = (Math.max(...times) / 1000).toFixed(1);
  console.log(
    `with ${loops.length} busy loops: ${failed.length} of ${times.length} failed, the slowest took ${slowest} s`,
  );
  for (const failure of failed) console.log(`  MISSED ${failure}`);
  return failed.length === 0;
}

/** Measures the CPU time of a start until the daemon is idle. */
async function measureStart(folder: string, libvirtUri: string): Promise<boolean> {
  const daemon = await startDaemon(folder, libvirtUri);
  try {
    const used = await waitUntilIdle(daemon);
    console.log(`a start with ${flags['start-machines']} machines, until the daemon is idle`);
    return report('CPU time', used, ' ms', goals.startMs);
  } finally {
    await daemon.stop();
  }
}

const isMet = await inFolder(async (folder) => {
  const libvirtd = await startLibvirtd({ driver: 'test' });
  const machines = await Machines.open(libvirtd.uri);
  try {
    await machines.define(machineCount, { title: 'as defined' });
    const daemon = await startDaemon(folder, libvirtd.uri);
    const goalsMet: boolean[] = [];
    try {
      goalsMet.push(await measureRatios(daemon, machines));
      goalsMet.push(await measureStarved(daemon, machines));
    } finally {
      await daemon.stop();
    }
    await machines.define(flags['start-machines'], { title: 'for the start' });
    goalsMet.push(await measureStart(folder, libvirtd.uri));
    return goalsMet.every(Boolean);
  } finally {
    await machines.close();
    await libvirtd.stop();
  }
});
process.exitCode = isMet ? 0 : 1;
