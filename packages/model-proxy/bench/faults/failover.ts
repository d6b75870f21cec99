/**
 * Measures a group of two deployments while one of them fails: no request may fail, and the median
 * latency must stay near that of a group that works. A proxy with a working group and one with a failing
 * group get requests in turns. So a slow time of a busy host affects both.
 */
import { writeFile } from 'node:fs/promises';
import { Agent, createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { answer1KB, PUBLIC_MODEL, request1KB } from '../bodies.js';
import { freePorts, listening, startPinned, stop, TARGET_CORE } from '../processes.js';
import { median, short, table, type Figure } from '../report.js';
import type { Bench } from '../rounds.js';
import { bin, flagsOf } from '../targets.js';

const CALLS = 10_000;
/** Each proxy gets the calls in this number of phases. */
const PHASES = 20;
const CONNECTIONS = 16;
/** Calls before the first phase, without a fault: V8 compiles the code during these calls. */
const WARM_CALLS = 3000;
/** Maximum added median latency in milliseconds. */
const MAX_ADDED_MS = 1;
/** `timeout` of the deployments, which ends the requests at a deployment that hangs. */
const TIMEOUT_SECONDS = 1;

const faults = ['not running', 'resets', 'hangs', 'answers 500', 'answers 429', 'sends half an answer'] as const;
type Fault = (typeof faults)[number] | 'none';

export async function benchFailover({ folder, print }: Bench): Promise<readonly Figure[]> {
  const working = await startUpstream();
  const rows: string[][] = [];
  const added: number[] = [];
  let failed = 0;
  const reference = await startGroup(folder, [portOf(working), portOf(working)]);
  try {
    await sendAll(reference.port, WARM_CALLS);
    for (const fault of faults) {
      const { failures, withoutFault, withFault } = await measure(folder, fault, portOf(working), reference.port);
      const differences = withFault.map((p50, phase) => p50 - (withoutFault[phase] ?? NaN)).toSorted((a, b) => a - b);
      const at = (share: number) => short(differences[Math.floor(differences.length * share)] ?? NaN);
      failed += failures;
      added.push(median(differences));
      rows.push([fault, String(failures), short(median(withoutFault)), short(median(withFault)), at(0.5)]);
      rows.at(-1)?.push(`${at(0.25)} to ${at(0.75)}`);
    }
  } finally {
    await stop(reference.process);
    working.server.close();
    working.server.closeAllConnections();
  }
  const head = ['one of two deployments', 'failed', 'p50 if both work, ms', 'p50, ms', 'added, ms', 'quartiles'];
  print(`${CALLS} calls in ${PHASES} phases, ${CONNECTIONS} connections\n\n${table(head, rows)}`);
  return [
    { what: 'one of two deployments fails: failed calls', value: failed, unit: '', must: 0, aim: 0, better: 'lower' },
    {
      what: 'one of two deployments fails: added p50',
      value: Math.max(...added),
      unit: 'ms',
      must: MAX_ADDED_MS,
      aim: null,
      better: 'lower',
    },
  ];
}

/** Sends all calls to a group with a faulty deployment, and as many to a group that works. */
async function measure(folder: string, fault: Fault, workingPort: number, referencePort: number) {
  const faulty = await startUpstream();
  const group = await startGroup(folder, [portOf(faulty), workingPort]);
  const withoutFault: number[] = [];
  const withFault: number[] = [];
  let failures = 0;
  try {
    await sendAll(group.port, WARM_CALLS);
    faulty.fault = fault;
    if (fault === 'not running') {
      faulty.server.close();
      faulty.server.closeAllConnections();
    }
    for (let phase = 0; phase < PHASES; phase += 1) {
      withoutFault.push((await sendAll(referencePort, CALLS / PHASES)).p50Ms);
      const sent = await sendAll(group.port, CALLS / PHASES);
      withFault.push(sent.p50Ms);
      failures += sent.failures;
    }
    return { failures, withoutFault, withFault };
  } finally {
    await stop(group.process);
    faulty.server.close();
    faulty.server.closeAllConnections();
  }
}

/** Starts a proxy in front of two upstreams. */
async function startGroup(folder: string, ports: readonly number[]) {
  const entries = ports.map((port, index) => ({
    model_name: PUBLIC_MODEL,
    litellm_params: {
      model: 'hosted_vllm/m',
      api_base: `http://127.0.0.1:${port}/v1`,
      api_key: 'sk-bench',
      timeout: TIMEOUT_SECONDS,
    },
    model_info: { id: String(index) },
  }));
  const [port = 0] = await freePorts(1);
  const configuration = join(folder, `failover-${port}.yaml`);
  await writeFile(configuration, JSON.stringify({ model_list: entries }));
  const command = [process.execPath, bin, ...flagsOf(configuration, port)];
  const proxy = startPinned(TARGET_CORE, command, ['ignore', 'ignore', 'inherit']);
  await listening(port);
  return { process: proxy, port };
}

async function sendAll(port: number, calls: number): Promise<{ readonly p50Ms: number; readonly failures: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const times: number[] = [];
  let failures = 0;
  let started = 0;
  const worker = async () => {
    while (started < calls) {
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

/** An upstream on a free port, whose fault can change. */
interface FaultyUpstream {
  readonly server: Server;
  fault: Fault;
}

function startUpstream(): Promise<FaultyUpstream> {
  const server = createServer((received, response) => {
    received.resume();
    received.on('end', () => answer(upstream.fault, received, response));
  });
  const upstream: FaultyUpstream = { server, fault: 'none' };
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(upstream)));
}

function answer(fault: Fault, { socket }: IncomingMessage, response: ServerResponse): void {
  if (fault === 'hangs') return;
  if (fault === 'resets') socket.resetAndDestroy();
  else if (fault === 'answers 500') response.writeHead(500).end();
  else if (fault === 'answers 429') response.writeHead(429).end();
  else if (fault === 'sends half an answer') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '9999' });
    response.write('{', () => socket.resetAndDestroy());
  } else response.writeHead(200, { 'content-type': 'application/json' }).end(answer1KB);
}

const portOf = ({ server }: FaultyUpstream) => (server.address() as AddressInfo).port; // a TCP server has an AddressInfo
