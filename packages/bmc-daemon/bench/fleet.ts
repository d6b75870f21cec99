/**
 * Measures a daemon with many machines: the collection, `$expand`, memory, and a GET while a client
 * starts all machines at once.
 *
 *     npm run bench:fleet -w @rackless/bmc-daemon [-- --machines N] [--few N] [--hosts N] [--storms N]
 *       [--connections N] [--gets N] [--fake]
 *
 * In a storm, a client starts all machines. --storms is the number of storms, and --connections that of
 * the parallel connections of this client. Before the storms, the benchmark sends --gets GETs each of the
 * collection, of single machines, and to the bare server.
 *
 * Needs `npm run build` first, and libvirtd unless it uses machines in memory (--fake). Starts a private
 * libvirtd with its test driver for each host (--hosts). Compares with a bare server that sends the same
 * bytes, and with a daemon that has few machines (--few) on one host. The goals of the times exclude
 * waits for a CPU, because libvirtd, the two clients of the benchmark and other processes use the CPUs
 * too. Exits 1 if it misses a goal, or if a GET or a start fails.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startLibvirtd } from '../../libvirt/test/harness/libvirtd.js';
import { fetchWhole, startBareServer } from './bare-process.js';
import { measureFigures, type Figures } from './fleet/figures.js';
import { report } from './fleet/report.js';
import { inFolder, readFlags } from './harness/benchmark.js';
import { hostsSetting, Machines, startMeasured, untilListed, type MeasuredDaemon } from './measured-daemon.js';

const flags = readFlags({
  machines: 2000,
  few: 10,
  hosts: 1,
  storms: 3,
  connections: 2000,
  gets: 500,
  fake: false,
});
const figureOptions = {
  gets: flags.gets,
  storms: flags.storms,
  connections: flags.connections,
};

async function measure(daemon: MeasuredDaemon, folder: string): Promise<Figures> {
  const answer = await fetchWhole(`${daemon.url}/redfish/v1/Systems`);
  const { Members: members } = JSON.parse(answer.body) as {
    readonly Members: readonly { readonly '@odata.id': string }[];
  }; // The service under test sends this object.
  const bare = await startBareServer(folder, answer);
  try {
    return await measureFigures(
      { daemon, bare, machines: members.map((member) => member['@odata.id']) },
      figureOptions,
    );
  } finally {
    await bare.stop();
  }
}

/** Writes a file with machines in memory. */
async function fakeMachines(folder: string, count: number): Promise<string> {
  const path = join(folder, 'machines.json');
  await writeFile(path, JSON.stringify({ machines: [{ count, name: 'machine-{n}' }] }));
  return path;
}

/** A libvirtd with its machines. */
interface LabHost {
  readonly uri: string;
  stop(): Promise<void>;
}

/** Starts a host with `count` machines. @param first the number of its first machine. */
async function startHost(count: number, first: number): Promise<LabHost> {
  const libvirtd = await startLibvirtd({ driver: 'test' });
  const machines = await Machines.open(libvirtd.uri);
  await machines.define(count, { title: 'in a fleet', first });
  return {
    uri: libvirtd.uri,
    stop: async () => {
      await machines.close();
      await libvirtd.stop();
    },
  };
}

/** Starts a daemon with the given number of machines, and measures it. */
async function measureFleet(folder: string, count: number, hostCount: number): Promise<Figures> {
  const hosts: LabHost[] = [];
  const each = Math.ceil(count / hostCount);
  try {
    for (let first = 1; !flags.fake && first <= count; first += each) {
      hosts.push(await startHost(Math.min(each, count + 1 - first), first));
    }
    const daemon = await startMeasured(folder, {
      arguments: flags.fake ? ['--fake'] : [],
      lines: flags.fake
        ? `EMULATOR_FAKE_MACHINES = '${await fakeMachines(folder, count)}'\n`
        : hostsSetting(hosts.map(({ uri }) => uri)),
    });
    try {
      await untilListed(daemon, count);
      return await measure(daemon, folder);
    } finally {
      await daemon.stop();
    }
  } finally {
    for (const host of hosts) await host.stop();
  }
}

const few = await inFolder((folder) => measureFleet(folder, flags.few, 1));
const many = await inFolder((folder) => measureFleet(folder, flags.machines, flags.hosts));
const where = flags.fake ? 'in memory' : `on ${flags.hosts} hosts`;
const isMet = report(`${flags.machines} machines ${where}, ${flags.few} for comparison`, many, few);
process.exitCode = isMet ? 0 : 1;
