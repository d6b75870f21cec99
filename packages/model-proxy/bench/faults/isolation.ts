/**
 * Measures a model while requests of another model wait for an upstream that does not answer: its p99 must stay near
 * its p99 without these requests. A triple has three short phases in changing order: two without these requests, and
 * one with them. The ratio of the two phases without them shows the noise. All times are without waits for a CPU.
 */
import { once } from 'node:events';
import { Agent, createServer, request, type ClientRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answer1KB, PUBLIC_MODEL, request1KB } from '../bodies.js';
import { median, medianRatio, quartilesOfRatios, short, table, type Figure } from '../report.js';
import { startUpstream, warmUp, type Bench } from '../rounds.js';
import { CLIENT_KEY, startModelProxy, type Target } from '../targets.js';
import { timeRequests } from './own-time.js';

/** Number of requests that wait at the slow upstream. */
const WAITING = 500;
/** The name of the slow upstream's model. */
const SLOW_MODEL = 'slow';
/** Number of triples of phases for each round of the benchmark. */
const TRIPLES = 8;
/** Number of measured requests in a phase. */
const REQUESTS = 1000;
/** Number of requests at the beginning of a phase. They are not measured, because the change of phases slows them. */
const SETTLING_REQUESTS = 200;
/** Maximum p99 beside a slow upstream, as a multiple of the p99 without it. */
const MAX_P99_RATIO = 1.2;

export async function benchIsolation({ folder, rounds, print }: Bench): Promise<readonly Figure[]> {
  const fast = await startUpstream(folder, answer1KB);
  const slow = createServer((incoming) => void incoming.resume());
  await once(slow.listen(0, '127.0.0.1'), 'listening');
  const { port } = slow.address() as AddressInfo; // the address of a TCP server is an object
  const target = await startModelProxy(folder, {
    [PUBLIC_MODEL]: { apiBase: `http://127.0.0.1:${fast.ports[0]}/v1` },
    [SLOW_MODEL]: { apiBase: `http://127.0.0.1:${port}/v1` },
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const time = (count: number) => timeRequests({ target, others: [fast.workerPid], agent, body: request1KB, count });
  const phase = async () => {
    await time(SETTLING_REQUESTS);
    return p99(await time(REQUESTS));
  };
  const alone: number[] = [];
  const again: number[] = [];
  const beside: number[] = [];
  try {
    await warmUp(folder, target, { body: request1KB, connections: 1 });
    await phase();
    for (let triple = 0; triple < rounds * TRIPLES; triple += 1) {
      const values: number[] = [];
      for (let place = 0; place < 3; place += 1) {
        if (place !== triple % 3) values.push(await phase());
        else beside.push(await besideSlow(target, slow, phase));
      }
      const [first = NaN, second = NaN] = values;
      alone.push(first);
      again.push(second);
    }
  } finally {
    agent.destroy();
    await target.stop();
    await fast.stop();
    slow.close();
    slow.closeAllConnections();
  }
  const both = alone.map((value, triple) => (value + (again[triple] ?? NaN)) / 2);
  const row = (what: string, values: readonly number[], others: readonly number[]) => [
    what,
    median(values).toFixed(2),
    short(medianRatio(values, others)),
    quartilesOfRatios(values, others),
  ];
  print(
    `${WAITING} requests wait for a slow upstream; ${alone.length} triples of phases with ${REQUESTS} requests\n\n${table(
      ['p99 without waits for a CPU', 'median, ms', 'relative to without them', 'quartiles'],
      [row('without them, first phase', alone, again), row('beside them', beside, both)],
    )}`,
  );
  return [
    {
      what: 'p99 beside a slow upstream / p99 without it',
      value: medianRatio(beside, both),
      unit: '',
      must: MAX_P99_RATIO,
      aim: null,
      better: 'lower',
    },
  ];
}

/** Measures a phase while requests wait for the slow upstream. */
async function besideSlow(
  target: Target,
  slow: ReturnType<typeof createServer>,
  phase: () => Promise<number>,
): Promise<number> {
  const arrived = arrivals(slow, WAITING);
  const waiting = Array.from({ length: WAITING }, () => sendSlow(target));
  await arrived;
  const value = await phase();
  const closed = waiting.map((sent) => new Promise((resolve) => sent.on('close', resolve)));
  for (const sent of waiting) sent.destroy();
  await Promise.all(closed);
  return value;
}

function p99(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * 0.99)] ?? NaN;
}

/** Resolves when the server has got a number of further requests. */
function arrivals(server: ReturnType<typeof createServer>, count: number): Promise<void> {
  let arrived = 0;
  return new Promise((resolve) => {
    const onRequest = () => {
      arrived += 1;
      if (arrived < count) return;
      server.removeListener('request', onRequest);
      resolve();
    };
    server.on('request', onRequest);
  });
}

/** Sends a request that gets no answer. */
function sendSlow({ url }: Target): ClientRequest {
  const agent = new Agent({ keepAlive: false });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${CLIENT_KEY}` };
  const sent = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers });
  // The benchmark closes the connection.
  sent.on('error', () => undefined);
  sent.end(JSON.stringify({ model: SLOW_MODEL, messages: [] }));
  return sent;
}
