/**
 * Measures a group of two deployments while one of them fails: no request may fail, and the median
 * latency must stay near that of a group that works.
 */
import { writeFile } from 'node:fs/promises';
import { Agent, createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { answer1KB, PUBLIC_MODEL, request1KB } from '../bodies.js';
import { freePorts, listening, startPinned, stop, TARGET_CORE } from '../processes.js';
import { median, table, type Figure } from '../report.js';
import type { Bench } from '../rounds.js';
import { bin, flagsOf } from '../targets.js';

const CALLS = 10_000;
const CONNECTIONS = 16;
/** Maximum of the added median in milliseconds. */
const MAX_ADDED_MS = 1;

type Fault = 'none' | 'not running' | 'resets' | 'answers 500' | 'answers 429' | 'sends half an answer';
const faults: readonly Fault[] = [
  'none',
  'not running',
  'resets',
  'answers 500',
  'answers 429',
  'sends half an answer',
];

export async function benchFailover({ folder, print }: Bench): Promise<readonly Figure[]> {
  const working = await startServer('none');
  const rows: string[][] = [];
  const medians: number[] = [];
  let failed = 0;
  try {
    for (const fault of faults) {
      const { p50Ms, failures } = await measure(folder, fault, portOf(working));
      failed += failures;
      medians.push(p50Ms);
      rows.push([fault, String(failures), p50Ms.toFixed(2)]);
    }
  } finally {
    working.close();
    working.closeAllConnections();
  }
  print(
    `${CALLS} calls, ${CONNECTIONS} connections\n\n${table(['one of two deployments', 'failed', 'p50, ms'], rows)}`,
  );
  const added = Math.max(...medians.slice(1)) - (medians[0] ?? NaN);
  return [
    { what: 'one of two deployments fails: failed calls', value: failed, unit: '', must: 0, aim: 0, better: 'lower' },
    {
      what: 'one of two deployments fails: added p50',
      value: added,
      unit: 'ms',
      must: MAX_ADDED_MS,
      aim: null,
      better: 'lower',
    },
  ];
}

/** Starts a proxy in front of a working and a faulty upstream, and sends all calls. */
async function measure(folder: string, fault: Fault, workingPort: number) {
  const faulty = await startServer(fault);
  const ports = [portOf(faulty), workingPort];
  if (fault === 'not running') faulty.close();
  const entries = ports.map((port) => ({
    model_name: PUBLIC_MODEL,
    litellm_params: { model: 'hosted_vllm/m', api_base: `http://127.0.0.1:${port}/v1`, api_key: 'sk-bench' },
  }));
  const configuration = join(folder, 'failover.yaml');
  await writeFile(configuration, JSON.stringify({ model_list: entries }));
  const [port = 0] = await freePorts(1);
  const proxy = startPinned(
    TARGET_CORE,
    [process.execPath, bin, ...flagsOf(configuration, port)],
    ['ignore', 'ignore', 'inherit'],
  );
  try {
    await listening(port);
    return await sendAll(port);
  } finally {
    await stop(proxy);
    faulty.close();
    faulty.closeAllConnections();
  }
}

async function sendAll(port: number): Promise<{ readonly p50Ms: number; readonly failures: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const times: number[] = [];
  let failures = 0;
  let started = 0;
  const worker = async () => {
    while (started < CALLS) {
      started += 1;
      const startedAt = performance.now();
      if ((await sendOne(agent, port)) !== 200) failures += 1;
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  agent.destroy();
  return { p50Ms: median(times), failures };
}

function sendOne(agent: Agent, port: number): Promise<number> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json' };
    const path = '/v1/chat/completions';
    const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
      response.once('error', () => resolve(0));
    });
    sent.once('error', () => resolve(0));
    sent.end(request1KB);
  });
}

/** Starts an upstream on a free port. */
function startServer(fault: Fault): Promise<Server> {
  const server = createServer((received, response) => {
    received.resume();
    received.on('end', () => {
      if (fault === 'resets') received.socket.resetAndDestroy();
      else if (fault === 'answers 500') response.writeHead(500).end();
      else if (fault === 'answers 429') response.writeHead(429).end();
      else if (fault === 'sends half an answer') {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '9999' });
        response.write('{', () => received.socket.resetAndDestroy());
      } else response.writeHead(200, { 'content-type': 'application/json' }).end(answer1KB);
    });
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

const portOf = (server: Server) => (server.address() as AddressInfo).port; // a TCP server has an AddressInfo
