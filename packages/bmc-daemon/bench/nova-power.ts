/**
 * Measures the daemon in front of Nova, against direct calls to the same Nova in the same run: the
 * list of servers, and power operations at a constant rate. Counts the requests to Nova.
 *
 *     npm run bench:nova -w @rackless/bmc-daemon [-- --servers N] [--rate N] [--seconds N] [--idle
 * SECONDS] [--clouds clouds.yaml]
 *
 * Needs `npm run build` first. Without --clouds, Nova is a server of the benchmark in a process of
 * its own, so the figures show what the daemon itself can do. --clouds takes the path that
 * `scripts/openstack-lab up --virt fake --servers 1000` prints. Exits 1 if it misses a goal or an
 * operation fails.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readCloud, type CloudSettings } from '../src/drivers/nova/cloud/cloud-settings.js';
import { createSession } from '../src/drivers/nova/http/session.js';
import { startRelay } from '../test/nova/relay.js';
import { listServers } from '../test/support/listed-servers.js';
import { PASSWORD, startCloudServer } from '../test/support/cloud-server.js';
import { inFolder, readFlags } from './harness/benchmark.js';
import { cpuMs, fetchOnce, median, startMeasured, type MeasuredDaemon } from './measured-daemon.js';

const flags = readFlags({
  servers: 1000,
  rate: 50,
  seconds: 20,
  idle: 60,
  clouds: '',
  'as-nova': false,
});
const { rate, seconds } = flags;

/**
 * `ratio`: operations/s through the daemon, divided by operations/s of direct calls.
 * `requestsPerMinute`: requests to Nova while no client sends any.
 */
const goals = { ratio: 0.9, requestsPerMinute: 10 };

type Action = 'os-start' | 'os-stop';
/** Executes one operation. @returns whether the operation succeeded. */
type Operate = (id: string, action: Action) => Promise<boolean>;

/** Operations of one run. */
interface Run {
  readonly done: number;
  readonly failed: number;
  /** Completed operations per second, until the last one has ended. */
  readonly perSecond: number;
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** Begins operations at the rate, on one server after the other, and waits for all of them. */
async function operateAtRate(ids: readonly string[], state: { next: number }, operate: Operate): Promise<Run> {
  const total = rate * seconds;
  const times: number[] = [];
  const started = performance.now();
  const operations: Promise<boolean>[] = [];
  for (let index = 0; index < total; index += 1) {
    const wait = started + (index * 1000) / rate - performance.now();
    if (wait > 0) await delay(wait);
    const turn = state.next;
    state.next += 1;
    const begun = performance.now();
    const operation = operate(ids[turn % ids.length] ?? '', isStart(turn, ids.length) ? 'os-start' : 'os-stop');
    // A failure of Nova is a result too.
    const ended = operation.catch(() => false).finally(() => times.push(performance.now() - begun));
    operations.push(ended);
  }
  const results = await Promise.all(operations);
  const took = (performance.now() - started) / 1000;
  const done = results.filter(Boolean).length;
  return {
    done,
    failed: total - done,
    perSecond: done / took,
    medianMs: median(times),
    p99Ms: times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? NaN,
  };
}

/** All servers run at first. Each round over them uses the other action. */
const isStart = (turn: number, count: number): boolean => Math.floor(turn / count) % 2 === 1;

const agent = new Agent({ keepAlive: true, maxSockets: 1000 });

/** Resets through the daemon, and waits for a task if the answer is one. */
function throughDaemon(daemon: MeasuredDaemon): Operate {
  return async (id, action) => {
    const body = JSON.stringify({ ResetType: action === 'os-start' ? 'On' : 'ForceOff' });
    const answer = await post(`${daemon.url}/redfish/v1/Systems/${id}/Actions/ComputerSystem.Reset`, body);
    if (answer.status === 204) return true;
    if (answer.status !== 202) return false;
    for (;;) {
      const monitor = await fetchOnce(`${daemon.url}${answer.location}`);
      if (monitor.status !== 202) return monitor.status < 300;
      await delay(1000);
    }
  };
}

function post(url: string, body: string): Promise<{ readonly status: number; readonly location: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
      response.resume().on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, location: response.headers.location ?? '' }),
      );
    });
    sent.on('error', reject).end(body);
  });
}

/** Calls Nova as a client of Nova does: the action, then the state until it is reached. */
function direct(cloud: CloudSettings): { readonly operate: Operate; readonly close: () => void } {
  const session = createSession(cloud, { timeoutMs: 600_000 });
  const headers = { 'openstack-api-version': 'compute 2.93' };
  return {
    close: () => session.close(),
    operate: async (id, action) => {
      const path = `/servers/${id}`;
      const body = { [action]: null };
      const { status } = await session.request({ method: 'POST', path: `${path}/action`, body, headers });
      if (status !== 202) return false;
      const wanted = action === 'os-start' ? '"active"' : '"stopped"';
      for (let pause = 100; ; pause = Math.min(2000, pause * 1.5)) {
        const { text } = await session.request({ method: 'GET', path, headers });
        if (text.includes(`"OS-EXT-STS:vm_state": ${wanted}`) || text.includes(`"OS-EXT-STS:vm_state":${wanted}`)) {
          return true;
        }
        await delay(pause);
      }
    },
  };
}

function report(what: string, { done, failed, perSecond, medianMs, p99Ms }: Run): void {
  const times = `median ${medianMs.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms`;
  console.log(`  ${what.padEnd(12)} ${done} done, ${failed} failed, ${perSecond.toFixed(1)}/s, ${times}`);
}

/** Sends a GET, and returns its duration in milliseconds. */
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

async function measure(folder: string, { file, cloud }: Target): Promise<boolean> {
  const session = createSession(cloud, { timeoutMs: 600_000 });
  const listing = performance.now();
  const headers = { 'openstack-api-version': 'compute 2.93' };
  const { text } = await session.request({
    method: 'GET',
    path: '/servers/detail',
    query: { limit: String(flags.servers) },
    headers,
  });
  const { servers } = JSON.parse(text) as { readonly servers: readonly { readonly id: string }[] }; // Nova sends this object.
  session.close();
  console.log(`${servers.length} servers; Nova alone lists them in ${(performance.now() - listing).toFixed(0)} ms`);
  const ids = servers.map(({ id }) => id);

  const endpoint = cloud.endpoints.compute ?? (await endpointOfNova(cloud));
  const relay = await startRelay(cloud, { nova: endpoint });
  const clouds = join(folder, 'clouds.json');
  await writeFile(clouds, relay.clouds);
  const daemon = await startMeasured(folder, {
    arguments: ['--os-cloud', 'lab'],
    lines: 'EMULATOR_OS_TIMEOUT_SECONDS = 300\n',
    environment: { OS_CLIENT_CONFIG_FILE: clouds },
  });
  try {
    const first = await timed(`${daemon.url}/redfish/v1/Systems`);
    const expanded = await timed(`${daemon.url}/redfish/v1/Systems?$expand=.`);
    console.log(`  Systems: ${first.members} in ${first.ms.toFixed(0)} ms, $expand in ${expanded.ms.toFixed(0)} ms`);
    const before = relay.seen.length;
    await delay(flags.idle * 1000);
    const perMinute = ((relay.seen.length - before) * 60) / flags.idle;
    console.log(`  idle: ${perMinute.toFixed(1)} requests to Nova a minute, goal ${goals.requestsPerMinute}`);

    const state = { next: 0 };
    const seen = relay.seen.length;
    const cpu = await cpuMs(daemon.pid);
    const through = await operateAtRate(ids, state, throughDaemon(daemon));
    const used = (await cpuMs(daemon.pid)) - cpu;
    const requests = (relay.seen.length - seen) / (through.done + through.failed);
    const nova = direct(cloud);
    const alone = await operateAtRate(ids, state, nova.operate);
    nova.close();
    console.log(`${rate} power operations a second for ${seconds} s on ${file}`);
    report('daemon', through);
    report('Nova alone', alone);
    const ratio = through.perSecond / alone.perSecond;
    console.log(`  ${requests.toFixed(1)} requests to Nova and ${(used / through.done).toFixed(1)} ms of CPU for each`);
    const isMet = ratio >= goals.ratio && through.failed === 0 && perMinute < goals.requestsPerMinute;
    console.log(
      `  rate of the daemon: ${ratio.toFixed(2)} of Nova alone, goal ${goals.ratio}${isMet ? '' : '  MISSED'}`,
    );
    return isMet;
  } finally {
    await daemon.stop();
    await relay.down();
  }
}

/** Returns the URL of Nova in the catalog. */
async function endpointOfNova({ identityUrl, credentials }: CloudSettings): Promise<string> {
  const answer = await fetch(`${identityUrl}/auth/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth: credentials.auth }),
  });
  const { token } = (await answer.json()) as {
    readonly token: {
      readonly catalog: readonly { readonly type: string; readonly endpoints: readonly { readonly url: string }[] }[];
    };
  }; // Keystone's answer
  const url = token.catalog.find(({ type }) => type === 'compute')?.endpoints[0]?.url;
  if (url === undefined) throw new Error('the catalog has no Nova');
  return url.replace(/\/+$/, '');
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
  const [url] = (await once(child, 'message')) as [string]; // serveAsNova sends it
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
