/**
 * Measures whether deep expansions that no client reads starve other clients. In a storm, 300 connections
 * ask for `/redfish/v1?$expand=*($levels=6)` and read nothing. Meanwhile, another client repeatedly reads
 * one system. This client also expands all systems once, and repeats the expansion after each 503. The
 * benchmark runs two storms, to compare the memory.
 *
 *     npm run bench:storm -w @rackless/bmc-daemon [-- --machines N] [--connections N] [--seconds N]
 *
 * Needs libvirtd, and `npm run build` first; starts a private libvirtd with its test driver. Exits
 * 1 if it misses a goal.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { startLibvirtd } from '../../libvirt/test/harness/libvirtd.js';
import { inFolder, readFlags } from './harness/benchmark.js';
import { fetchOnce, Machines, startDaemon, systemUri, waitUntilIdle, type MeasuredDaemon } from './measured-daemon.js';

const flags = readFlags({
  machines: 300,
  connections: 300,
  seconds: 20,
});

/** `memory`: memory after the second storm, divided by memory after the first. */
const goals = { p99Ms: 1000, memory: 1.15 };
const storm = '/redfish/v1?$expand=*($levels=6)';

async function residentMiB({ pid }: MeasuredDaemon): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

async function openStorm({ url }: MeasuredDaemon): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets = Array.from({ length: flags.connections }, () => connect(Number(port), hostname));
  for (const socket of sockets) {
    // The daemon may close this connection.
    socket.on('error', () => undefined);
    if (socket.connecting) await once(socket, 'connect');
    socket.pause();
    socket.write(`GET ${encodeURI(storm)} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  }
  return sockets;
}

/**
 * Reads one system again and again, for the seconds of `--seconds`.
 * @returns the durations of all reads in milliseconds, ascending.
 */
async function readOneSystem({ url }: MeasuredDaemon): Promise<readonly number[]> {
  const times: number[] = [];
  for (const end = performance.now() + flags.seconds * 1000; performance.now() < end;) {
    const started = performance.now();
    const { status } = await fetchOnce(`${url}${systemUri(1)}`);
    if (status !== 200) throw new Error(`reading a system: ${status}`);
    times.push(performance.now() - started);
  }
  return times.toSorted((a, b) => a - b);
}

/**
 * Expands all systems, with at most 10 requests. After a 503, waits 5 s, the daemon's Retry-After.
 * @returns a text with the last status, the time and the number of requests.
 */
async function expandWithRetries({ url }: MeasuredDaemon): Promise<string> {
  const started = performance.now();
  for (let requests = 1; ; requests += 1) {
    const { status, body } = await fetchOnce(`${url}/redfish/v1/Systems?$expand=.`);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    if (status === 200) return `200 with ${body.length} characters after ${seconds} s and ${requests} requests`;
    if (status !== 503 || requests === 10) return `${status} after ${seconds} s and ${requests} requests`;
    await new Promise((resolve) => setTimeout(resolve, 5000));
  }
}

/**
 * Runs a storm.
 * @returns the memory after it, and the p99 of the concurrent reads.
 */
async function measureStorm(daemon: MeasuredDaemon) {
  await waitUntilIdle(daemon);
  const before = await residentMiB(daemon);
  let peak = before;
  const watch = setInterval(() => void residentMiB(daemon).then((now) => (peak = Math.max(peak, now))), 100);
  const sockets = await openStorm(daemon);
  const expansion = expandWithRetries(daemon);
  const times = await readOneSystem(daemon);
  console.log(`$expand of all systems during ${sockets.length} unread expansions: ${await expansion}`);
  for (const socket of sockets) socket.destroy();
  clearInterval(watch);
  await waitUntilIdle(daemon);
  const after = await residentMiB(daemon);
  const p99Ms = percentile(times, 0.99);
  const p50Ms = percentile(times, 0.5);
  console.log(`  GET of one system: ${times.length} reads, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`);
  console.log(`  memory: ${before.toFixed(0)} MiB before, ${peak.toFixed(0)} at most, ${after.toFixed(0)} after`);
  return { p99Ms, residentMiB: after };
}

const percentile = (times: readonly number[], share: number): number =>
  times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? NaN;

const isMet = await inFolder(async (folder) => {
  const libvirtd = await startLibvirtd({ driver: 'test' });
  const machines = await Machines.open(libvirtd.uri);
  try {
    await machines.define(flags.machines, { title: 'in a storm' });
    const daemon = await startDaemon(folder, libvirtd.uri);
    try {
      const alone = percentile(await readOneSystem(daemon), 0.99);
      // The first storm warms up. Its memory is the level for the second storm.
      const first = await measureStorm(daemon);
      const second = await measureStorm(daemon);
      const p99Ms = Math.max(first.p99Ms, second.p99Ms);
      const memory = second.residentMiB / first.residentMiB;
      console.log(
        `p99 of a GET: ${p99Ms.toFixed(1)} ms, goal ${goals.p99Ms}; ${(p99Ms / alone).toFixed(1)} times that ` +
          'of the daemon alone',
      );
      console.log(
        `memory after the second storm: ${memory.toFixed(2)} times that after the first, goal ${goals.memory}`,
      );
      return p99Ms <= goals.p99Ms && memory <= goals.memory;
    } finally {
      await daemon.stop();
    }
  } finally {
    await machines.close();
    await libvirtd.stop();
  }
});
process.exitCode = isMet ? 0 : 1;
