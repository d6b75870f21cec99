/**
 * Measures the daemon in front of Nova: its start, the list of servers, an idle minute, and power
 * operations at a constant rate. Compares the power operations with direct calls to the same Nova in
 * the same run. Counts the requests to Nova, and prints the CPU time and the memory of the daemon.
 *
 *     npm run bench:nova -w @rackless/bmc-daemon [-- --servers N] [--rate N] [--seconds N] [--idle
 * SECONDS] [--clouds clouds.yaml]
 *
 * Needs `npm run build` first. Without --clouds, Nova is a server of the benchmark in a process of
 * its own, so the figures show what the daemon itself can do. --clouds takes the path that
 * `scripts/openstack-lab up --virt fake --copies 1000` prints. Exits 1 if it misses a goal, or if an
 * operation through the daemon fails.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readCloud, type CloudSettings } from '../src/drivers/nova/cloud/cloud-settings.js';
import { createSession } from '../src/drivers/nova/http/session.js';
import { startRelay, type Relay } from '../test/nova/relay.js';
import { listServers } from '../test/support/listed-servers.js';
import { PASSWORD, startCloudServer } from '../test/support/cloud-server.js';
import { inFolder, readFlags } from './harness/benchmark.js';
import { endpointOfNova } from './harness/nova-endpoint.js';
import { direct, throughDaemon, type Operate } from './harness/nova-operations.js';
import { cpuMs, fetchOnce, median, startMeasured, type MeasuredDaemon } from './measured-daemon.js';
import { memoryOf } from './process-use.js';

const flags = readFlags(
  {
    servers: 1000,
    rate: 50,
    seconds: 20,
    idle: 60,
    clouds: '',
    'as-nova': false,
  },
  ['clouds'],
);
const { rate, seconds } = flags;

/**
 * `ratio`: operations/s through the daemon, divided by operations/s of direct calls.
 * `requestsPerMinute`: requests of the daemon to Nova while no client sends requests to the daemon.
 */
const goals = { ratio: 0.9, requestsPerMinute: 10 };

/** Operations of one run, or of several runs together. */
interface Run {
  readonly done: number;
  /** Reasons of the failed operations. */
  readonly failures: readonly string[];
  /** Seconds until the last operation has ended. */
  readonly seconds: number;
  /** Duration of each operation in milliseconds. */
  readonly times: readonly number[];
}

function together(first: Run, second: Run): Run {
  return {
    done: first.done + second.done,
    failures: [...first.failures, ...second.failures],
    seconds: first.seconds + second.seconds,
    times: [...first.times, ...second.times],
  };
}

/** Returns the completed operations per second. */
const rateOf = ({ done, seconds: took }: Run): number => done / took;

/** The servers of the measurement. */
interface Turns {
  readonly ids: readonly string[];
  /** Servers that run, or will run after the operations that have begun. */
  readonly running: Set<string>;
  /** The number of operations that have begun. */
  next: number;
}

/** Begins operations at the rate, on one server after the other, and waits for all of them. */
async function operateAtRate(turns: Turns, operate: Operate): Promise<Run> {
  const { ids, running } = turns;
  const total = rate * seconds;
  const times: number[] = [];
  const started = performance.now();
  const operations: Promise<string | undefined>[] = [];
  for (let index = 0; index < total; index += 1) {
    const wait = started + (index * 1000) / rate - performance.now();
    if (wait > 0) await delay(wait);
    const id = ids[turns.next % ids.length] ?? '';
    turns.next += 1;
    const begun = performance.now();
    // Starts and stops of a server alternate.
    const operation = operate(id, running.delete(id) ? 'os-stop' : (running.add(id), 'os-start'));
    // A failed operation must not end the benchmark: its reason becomes the result.
    const ended = operation.catch(String).finally(() => times.push(performance.now() - begun));
    operations.push(ended);
  }
  const results = await Promise.all(operations);
  const took = (performance.now() - started) / 1000;
  const failures = results.filter((result) => result !== undefined);
  return { done: total - failures.length, failures, seconds: took, times };
}

function report(what: string, run: Run): void {
  const { done, failures, times } = run;
  const p99Ms = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? NaN;
  const durations = `median ${median(times).toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms`;
  for (const failure of new Set(failures.map((text) => text.replaceAll(/[0-9a-f-]{36}/g, '…').slice(0, 600)))) {
    console.log(`  ${what} failed: ${failure}`);
  }
  console.log(
    `  ${what.padEnd(12)} ${done} done, ${failures.length} failed, ${rateOf(run).toFixed(1)}/s, ${durations}`,
  );
}

/** Reads a collection. @returns the duration, and the number of members. @throws {Error} if the answer is not 200. */
async function timed(url: string): Promise<{ readonly ms: number; readonly members: number }> {
  const started = performance.now();
  const { status, body } = await fetchOnce(encodeURI(url));
  if (status !== 200) throw new Error(`reading ${url}: ${status} ${body.slice(0, 300)}`);
  const { Members: members } = JSON.parse(body) as { readonly Members: readonly unknown[] }; // The service under test sends this object.
  return { ms: performance.now() - started, members: members.length };
}

/** The cloud of the measurement: its file, and the settings for direct calls. */
interface Target {
  readonly file: string;
  readonly cloud: CloudSettings;
}

/** Prints what a step of the daemon took. @returns its requests to Nova. */
type Report = (what: string) => Promise<number>;

/** Returns a function that reports the time, the CPU time and the requests since its last call. */
function createReport({ pid }: MeasuredDaemon, relay: Relay, startedAt: number): Report {
  let [at, cpu, seen] = [startedAt, 0, 0];
  return async (what) => {
    const [now, used] = [performance.now(), await cpuMs(pid)];
    const requests = relay.seen.length - seen;
    const { now: memory, peak } = await memoryOf(pid);
    const took = `${((now - at) / 1000).toFixed(2)} s, ${(used - cpu).toFixed(0)} ms of CPU`;
    console.log(
      `  ${what.padEnd(28)} ${took}, ${requests} requests to Nova; memory ${memory.toFixed(0)} MiB, peak ${peak.toFixed(0)} MiB`,
    );
    [at, cpu, seen] = [performance.now(), await cpuMs(pid), relay.seen.length];
    return requests;
  };
}

/** A server as Nova lists it. */
interface ListedServer {
  readonly id: string;
  readonly 'OS-EXT-STS:vm_state': string;
}

/** Lists the servers without the daemon. */
async function listDirectly(cloud: CloudSettings): Promise<Turns> {
  const session = createSession(cloud, { timeoutMs: 600_000 });
  const listing = performance.now();
  const { text } = await session.request({
    method: 'GET',
    path: '/servers/detail',
    query: { limit: String(flags.servers) },
    headers: { 'openstack-api-version': 'compute 2.93' },
  });
  const { servers } = JSON.parse(text) as { readonly servers: readonly ListedServer[] }; // Nova sends this object.
  session.close();
  console.log(`${servers.length} servers; Nova alone lists them in ${(performance.now() - listing).toFixed(0)} ms`);
  const running = servers.filter((server) => server['OS-EXT-STS:vm_state'] === 'active');
  return { ids: servers.map(({ id }) => id), running: new Set(running.map(({ id }) => id)), next: 0 };
}

async function measure(folder: string, { file, cloud }: Target): Promise<boolean> {
  const turns = await listDirectly(cloud);
  const endpoint = cloud.endpoints.compute ?? (await endpointOfNova(cloud));
  const relay = await startRelay(cloud, { nova: endpoint });
  const clouds = join(folder, 'clouds.json');
  await writeFile(clouds, relay.clouds);
  const startedAt = performance.now();
  const daemon = await startMeasured(folder, {
    arguments: ['--os-cloud', 'lab'],
    lines: 'EMULATOR_OS_TIMEOUT_SECONDS = 300\n',
    environment: { OS_CLIENT_CONFIG_FILE: clouds },
  });
  try {
    const reported = createReport(daemon, relay, startedAt);
    await reported('start');
    const first = await timed(`${daemon.url}/redfish/v1/Systems`);
    await reported(`Systems: ${first.members} members`);
    const expanded = await timed(`${daemon.url}/redfish/v1/Systems?$expand=.`);
    await reported(`$expand: ${expanded.members} members`);
    await delay(flags.idle * 1000);
    const perMinute = ((await reported(`idle for ${flags.idle} s`)) * 60) / flags.idle;

    // The daemon and the direct calls use the same relay, so that it slows both.
    const nova = direct(cloudOf(clouds));
    // The order is: one run through the daemon, two direct runs, one run through the daemon.
    const run = (operate: Operate): Promise<Run> => operateAtRate(turns, operate);
    await reported('before the operations');
    const firstThrough = await run(throughDaemon(daemon));
    const firstRequests = await reported('operations');
    const alone = together(await run(nova.operate), await run(nova.operate));
    const requestsAlone = (await reported('while Nova works alone')) / alone.times.length;
    const through = together(firstThrough, await run(throughDaemon(daemon)));
    const requests = (firstRequests + (await reported('operations'))) / through.times.length;
    nova.close();
    console.log(`${rate} power operations a second, two runs of ${seconds} s each, on ${file}`);
    report('daemon', through);
    report('Nova alone', alone);
    const ratio = rateOf(through) / rateOf(alone);
    console.log(`  requests to Nova for each operation: ${requests.toFixed(1)}, alone ${requestsAlone.toFixed(1)}`);
    console.log(`  idle: ${perMinute.toFixed(1)} requests to Nova a minute, goal ${goals.requestsPerMinute}`);
    const isMet = ratio >= goals.ratio && through.failures.length === 0 && perMinute < goals.requestsPerMinute;
    console.log(
      `  rate of the daemon: ${ratio.toFixed(2)} of Nova alone, goal ${goals.ratio}${isMet ? '' : '  MISSED'}`,
    );
    return isMet;
  } finally {
    await daemon.stop();
    await relay.down();
  }
}

/** Serves as Nova, in its own process. */
async function serveAsNova(): Promise<void> {
  const cloud = await startCloudServer();
  const servers = listServers(cloud);
  for (let index = 0; index < flags.servers; index += 1) servers.put(index, {}, 0);
  process.send?.(cloud.url);
  process.on('disconnect', () => process.exit());
}

/** Starts the server in place of Nova. */
async function startNova(folder: string): Promise<Target & { readonly child: ChildProcess }> {
  const child = fork(process.argv[1] ?? '', ['--as-nova', '--servers', String(flags.servers)]);
  const [url] = (await once(child, 'message')) as [string]; // serveAsNova sends its URL
  const file = join(folder, 'clouds.yaml');
  const auth = { auth_url: `${url}/v3`, username: 'u', password: PASSWORD, project_name: 'p' };
  const domains = { user_domain_id: 'default', project_domain_id: 'default' };
  await writeFile(file, JSON.stringify({ clouds: { lab: { auth: { ...auth, ...domains } } } }));
  return { file: 'a server in place of Nova', cloud: cloudOf(file), child };
}

const cloudOf = (file: string): CloudSettings =>
  readCloud('lab', { environment: { OS_CLIENT_CONFIG_FILE: file }, directory: '/' });

if (flags['as-nova']) await serveAsNova();
else {
  const isMet = await inFolder(async (folder) => {
    const nova = flags.clouds === '' ? await startNova(folder) : undefined;
    try {
      return await measure(folder, nova ?? { file: flags.clouds, cloud: cloudOf(flags.clouds) });
    } finally {
      nova?.child.disconnect();
    }
  });
  process.exitCode = isMet ? 0 : 1;
}
