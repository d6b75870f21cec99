/**
 * Measures a daemon with many machines: the collection, `$expand`, memory, and a GET while a client
 * starts all machines at once.
 *
 *     npm run bench:fleet -w @rackless/bmc-daemon [-- --machines N] [--few N] [--hosts N] [--storms N]
 *       [--connections N] [--gets N] [--fake]
 *
 * Needs libvirtd, and `npm run build` first. Starts a private libvirtd with its test driver, or
 * uses machines in memory (--fake). Compares with a bare server that sends the same bytes, and with
 * a daemon that has few machines. Times without waits for a CPU decide, because other processes use
 * the CPUs too: those of the benchmark are libvirtd and two clients. Exits 1 above a goal.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startLibvirtd } from '../../libvirt/test/harness/libvirtd.js';
import { fetchWhole, startBareServer } from './bare-process.js';
import { measureFigures, type Figures } from './fleet/figures.js';
import { report } from './fleet/report.js';
import { fetchOnce, Machines, startMeasured, until, type MeasuredDaemon } from './measured-daemon.js';

const { values: flags } = parseArgs({
  options: {
    machines: { type: 'string', default: '2000' },
    few: { type: 'string', default: '10' },
    hosts: { type: 'string', default: '1' },
    storms: { type: 'string', default: '3' },
    connections: { type: 'string', default: '2000' },
    gets: { type: 'string', default: '500' },
    fake: { type: 'boolean', default: false },
  },
});
const figureOptions = {
  gets: Number(flags.gets),
  storms: Number(flags.storms),
  connections: Number(flags.connections),
};

async function measure(daemon: MeasuredDaemon, folder: string): Promise<Figures> {
  const answer = await fetchWhole(`${daemon.url}/redfish/v1/Systems`);
  const { Members: members } = JSON.parse(answer.body) as {
    readonly Members: readonly { readonly '@odata.id': string }[];
  }; // The service's own.
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

/** Starts a host. @param first the number of its first machine. */
async function startHost(count: number, first: number): Promise<LabHost> {
  const libvirtd = await startLibvirtd({ driver: 'test' });
  const machines = await Machines.open(libvirtd.uri);
  await machines.define(count, 'in a fleet', first);
  return {
    uri: libvirtd.uri,
    stop: async () => {
      await machines.close();
      await libvirtd.stop();
    },
  };
}

/** Returns the lines of the configuration for these hosts. */
function linesOf(hosts: readonly LabHost[]): string {
  const [only] = hosts;
  if (only !== undefined && hosts.length === 1) return `EMULATOR_LIBVIRT_URI = '${only.uri}'\n`;
  return `EMULATOR_LIBVIRT_URI = {${hosts.map(({ uri }, index) => `'host-${index}': '${uri}'`).join(', ')}}\n`;
}

/** Starts a daemon with this number of machines, and measures it. */
async function measureFleet(count: number, hostCount: number): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'bmc-bench-'));
  const hosts: LabHost[] = [];
  const each = Math.ceil(count / hostCount);
  try {
    for (let first = 1; !flags.fake && first <= count; first += each) {
      hosts.push(await startHost(Math.min(each, count + 1 - first), first));
    }
    const daemon = await startMeasured(folder, {
      arguments: flags.fake ? ['--fake'] : [],
      lines: flags.fake ? `EMULATOR_FAKE_MACHINES = '${await fakeMachines(folder, count)}'\n` : linesOf(hosts),
    });
    try {
      await until('all machines', async () => {
        const { body } = await fetchOnce(`${daemon.url}/redfish/v1/Systems`);
        return body.includes(`"Members@odata.count":${count}`);
      });
      return await measure(daemon, folder);
    } finally {
      await daemon.stop();
    }
  } finally {
    for (const host of hosts) await host.stop();
    await rm(folder, { recursive: true });
  }
}

const few = await measureFleet(Number(flags.few), 1);
const many = await measureFleet(Number(flags.machines), Number(flags.hosts));
const where = flags.fake ? 'in memory' : `on ${flags.hosts} hosts`;
const isMet = report(`${flags.machines} machines ${where}, ${flags.few} for comparison`, many, few);
process.exitCode = isMet ? 0 : 1;
