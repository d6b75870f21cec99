/**
 * Measures the fake driver with machines from a file: the start, the memory, the collection, the power-on of
 * all machines, and changes of all machines, without and with a receiver of events. Some power-ons fail.
 *
 *     npm run bench:fake -w @rackless/bmc-daemon [-- --machines N] [--rounds N] [--clients N]
 *
 * Needs `npm run build` first. Compares the start with a start with the three sample machines. Compares a GET
 * of the collection with a bare `node:http` server that sends the same bytes. Both comparisons are by CPU
 * time. Exits 1 if it misses a goal, or if a power-on has an unexpected status. Also exits 1 if the share of
 * failed power-ons is not between 3 % and 7 %.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fetchWhole, startBareServer } from './bare-process.js';
import { readFlags, report } from './harness/benchmark.js';
import { openStream, openWebhook, type EventReceiver } from './harness/event-receivers.js';
import {
  costOf,
  fetchOnce,
  median,
  startMeasured,
  until,
  waitUntilIdle,
  type MeasuredDaemon,
} from './measured-daemon.js';

const flags = readFlags({
  machines: 10000,
  rounds: 3,
  clients: 200,
});
const machineCount = flags.machines;
const rounds = flags.rounds;
const clients = flags.clients;

/**
 * CPU time of a start and of a power-on for each machine in milliseconds, and memory for each machine in KiB.
 * Ratios: CPU time of the collection to that of the bare server, elapsed time of all power-ons to the ideal time.
 */
const goals = { startMs: 0.5, memoryKiB: 24, collection: 2, powerOnMs: 3, powerOnTime: 1.25 };

/** Returns the entry of one machine. Each machine has its own entry, as in a lab file exported from an inventory. */
function entry(index: number): string {
  const mac = (index * 2)
    .toString(16)
    .padStart(8, '0')
    .replace(/..(?=.)/g, '$&:');
  return `- {name: node-${index}, cpus: 32, memory_mib: 131072, disks_gib: [480, 960], nics: [{mac: "52:54:${mac}"}]}`;
}

/** Each power-on takes 0.5 to 3 s. On average, one of twenty fails. */
const schedule = `delays: {power_on: [0.5, 3]}
failures:
- {effect: error, operation: power_on, share: 0.05}
`;

const folder = await mkdtemp(join(tmpdir(), 'bmc-bench-'));
const lab = join(folder, 'lab.yaml');
const entries = Array.from({ length: machineCount }, (_, index) => entry(index + 1));
await writeFile(lab, `${schedule}machines:\n${entries.join('\n')}\n`);
const samples = 'EMULATOR_FAKE_DRIVER = True\n';
const many = `${samples}EMULATOR_FAKE_MACHINES = ${JSON.stringify(lab)}\nEMULATOR_TASK_AFTER_SECONDS = 60\n`;

/** Returns the resident memory of a process in KiB. */
async function memoryKiB({ pid }: MeasuredDaemon): Promise<number> {
  return Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** Starts a daemon. @returns the daemon, its CPU time until it is idle, the time until it answers, and its memory. */
async function start(lines: string) {
  const begin = performance.now();
  const daemon = await startMeasured(folder, { arguments: [], lines });
  const answersMs = performance.now() - begin;
  return { daemon, answersMs, cpuMs: await waitUntilIdle(daemon), memory: await memoryKiB(daemon) };
}

async function measureStart(): Promise<boolean> {
  const found = { small: [] as number[], large: [] as number[], answers: [] as number[], memory: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    const small = await start(samples);
    await small.daemon.stop();
    const large = await start(many);
    await large.daemon.stop();
    found.small.push(small.cpuMs);
    found.large.push(large.cpuMs);
    found.answers.push(large.answersMs);
    found.memory.push(large.memory - small.memory);
  }
  console.log(`a start with ${machineCount} machines`);
  report('time until it answers, in seconds', median(found.answers) / 1000, ' s');
  report('CPU time relative to three sample machines', median(found.large) / median(found.small), '');
  const startMs = (median(found.large) - median(found.small)) / machineCount;
  const cost = report('CPU time of a machine', startMs, ' ms', goals.startMs);
  return report('memory of a machine', median(found.memory) / machineCount, ' KiB', goals.memoryKiB) && cost;
}

/** Compares GETs of the collection with a bare server. */
async function measureCollection(daemon: MeasuredDaemon): Promise<boolean> {
  const url = `${daemon.url}/redfish/v1/Systems`;
  const answer = await fetchWhole(url);
  const bare = await startBareServer(folder, answer);
  try {
    const times = async (server: { readonly pid: number }, address: string): Promise<number> => {
      const { ms } = await costOf({ ...server, url: address, stop: () => Promise.resolve() }, async () => {
        for (let count = 0; count < 100; count += 1) await fetchOnce(address);
      });
      return ms;
    };
    const ratios: number[] = [];
    for (let round = 0; round < rounds + 1; round += 1)
      ratios.push((await times(daemon, url)) / (await times(bare, bare.url)));
    console.log(`GET of the collection, ${(answer.body.length / 1024).toFixed(0)} KiB`);
    // The first round compiles the code.
    return report('CPU time relative to bare node:http', median(ratios.slice(1)), '', goals.collection);
  } finally {
    await bare.stop();
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: clients });

/** Sends a write. @returns the status of the answer. */
function write(method: 'POST' | 'PATCH', url: string, value: unknown): Promise<number> {
  const body = JSON.stringify(value);
  return new Promise((resolve, reject) => {
    request(
      url,
      { agent, method, headers: { 'Content-Type': 'application/json', 'Content-Length': body.length } },
      (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)),
    )
      .on('error', reject)
      .end(body);
  });
}

async function machineUris({ url }: MeasuredDaemon): Promise<string[]> {
  const list = JSON.parse((await fetchOnce(`${url}/redfish/v1/Systems`)).body) as {
    readonly Members: readonly { readonly '@odata.id': string }[];
  }; // The service under test sends this object.
  return list.Members.map((member) => member['@odata.id']);
}

/**
 * Sends a write to each machine, from `--clients` parallel clients.
 * @returns the number of answers by status, the daemon's CPU time for each machine, and the elapsed seconds.
 */
async function writeToEach(daemon: MeasuredDaemon, send: (uri: string) => Promise<number>) {
  const waiting = await machineUris(daemon);
  const statuses = new Map<number, number>();
  const client = async (): Promise<void> => {
    for (let uri = waiting.pop(); uri !== undefined; uri = waiting.pop()) {
      const status = await send(uri);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const begin = performance.now();
  const { ms } = await costOf(daemon, () => Promise.all(Array.from({ length: clients }, client)));
  return { statuses, cpuMs: ms / machineCount, seconds: (performance.now() - begin) / 1000 };
}

/** Powers all machines on. Some power-ons fail, as `schedule` says. */
async function measurePower(daemon: MeasuredDaemon): Promise<boolean> {
  const { statuses, cpuMs, seconds } = await writeToEach(daemon, (uri) =>
    write('POST', `${daemon.url}${uri}/Actions/ComputerSystem.Reset`, { ResetType: 'On' }),
  );
  console.log(`power-ons of ${machineCount} machines, 0.5 to 3 s each, by ${clients} clients`);
  for (const [status, count] of [...statuses].sort()) report(`answers with ${status}`, count, '');
  const inTime = report(
    'time relative to the ideal (all delays divided by the number of clients)',
    seconds / ((machineCount * 1.75) / clients),
    '',
    goals.powerOnTime,
  );
  const isCheap = report('CPU time of a power-on', cpuMs, ' ms', goals.powerOnMs);
  const failed = statuses.get(500) ?? 0;
  const share = failed / machineCount;
  const isPlanned = [...statuses.keys()].every((status) => [200, 204, 500].includes(status));
  return inTime && isCheap && isPlanned && share > 0.03 && share < 0.07;
}

/** Changes all machines without a receiver of events, and then with each kind of receiver. */
async function measureEvents(daemon: MeasuredDaemon): Promise<boolean> {
  const change = async (tag: string): Promise<number> =>
    (await writeToEach(daemon, (uri) => write('PATCH', `${daemon.url}${uri}`, { AssetTag: tag }))).cpuMs;
  await change('warm-up');
  console.log(`PATCH of ${machineCount} machines by ${clients} clients`);
  report('CPU time of a PATCH without a receiver of events', await change('none'), ' ms');
  const receivers: readonly [string, (url: string) => Promise<EventReceiver>][] = [
    ['a stream of events', openStream],
    ['a webhook', openWebhook],
  ];
  const goalsMet: boolean[] = [];
  for (const [name, open] of receivers) {
    const receiver = await open(daemon.url);
    const cpuMs = await change(name);
    const machines = await machineUris(daemon);
    const missing = (): number => machines.filter((uri) => !receiver.origins.has(uri)).length;
    await until('events of all machines', () => Promise.resolve(missing() === 0)).catch(() => undefined);
    report(`CPU time of a PATCH with ${name}`, cpuMs, ' ms');
    goalsMet.push(report(`machines without an event in ${name}`, missing(), '', 0));
    await receiver.close();
  }
  report('memory of the daemon', (await memoryKiB(daemon)) / 1024, ' MiB');
  return goalsMet.every(Boolean);
}

try {
  const goalsMet = [await measureStart()];
  const { daemon } = await start(many);
  try {
    await until('machines', async () => (await fetchOnce(`${daemon.url}/redfish/v1/Systems`)).status === 200);
    goalsMet.push(await measureCollection(daemon));
    goalsMet.push(await measurePower(daemon));
    goalsMet.push(await measureEvents(daemon));
  } finally {
    await daemon.stop();
  }
  process.exitCode = goalsMet.every(Boolean) ? 0 : 1;
} finally {
  await rm(folder, { recursive: true });
}
