/**
 * Measures a daemon with many machines: the collection, `$expand`, memory, and a GET while a client
 * starts all machines at once.
 *
 *     npm run bench:fleet -w @rackless/bmc-daemon [-- --machines N] [--few N] [--storms N]
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
import { Machines, startMeasured, type MeasuredDaemon } from './measured-daemon.js';

const { values: flags } = parseArgs({
  options: {
    machines: { type: 'string', default: '2000' },
    few: { type: 'string', default: '10' },
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

/** Starts a daemon with this number of machines, and measures it. */
async function measureOneHost(count: number): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'bmc-bench-'));
  const libvirtd = flags.fake ? null : await startLibvirtd({ driver: 'test' });
  const machines = libvirtd === null ? null : await Machines.open(libvirtd.uri);
  try {
    await machines?.define(count, 'in a fleet');
    const daemon = await startMeasured(folder, {
      arguments: libvirtd === null ? ['--fake'] : ['--libvirt-uri', libvirtd.uri],
      lines: libvirtd === null ? `EMULATOR_FAKE_MACHINES = '${await fakeMachines(folder, count)}'\n` : '',
    });
    try {
      return await measure(daemon, folder);
    } finally {
      await daemon.stop();
    }
  } finally {
    await machines?.close();
    await libvirtd?.stop();
    await rm(folder, { recursive: true });
  }
}

const few = await measureOneHost(Number(flags.few));
const many = await measureOneHost(Number(flags.machines));
const held = report(`one host with ${flags.machines} machines, ${flags.few} for comparison`, many, few);
process.exitCode = held ? 0 : 1;
