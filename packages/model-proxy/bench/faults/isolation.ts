/**
 * Measures a model while requests of another model wait for an upstream that does not answer: its
 * p99 must stay near its p99 without these requests. Short phases with and without these requests
 * alternate, so that a slow time of a busy host affects both. Two phases without them, one after
 * the other, show the noise.
 */
import { once } from 'node:events';
import { Agent, createServer, request, type ClientRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answer1KB, PUBLIC_MODEL, request1KB } from '../bodies.js';
import { loadTarget } from '../load.js';
import { median, medianRatio, quartilesOfRatios, short, table, type Figure } from '../report.js';
import { startUpstream, warmUp, type Bench } from '../rounds.js';
import { CLIENT_KEY, startModelProxy, type Target } from '../targets.js';

/** Number of requests that wait at the slow upstream. */
const WAITING = 500;
/** The name of the slow upstream's model. */
const SLOW_MODEL = 'slow';
const CONNECTIONS = 16;
/** Number of phases in a round. */
const PHASES = 10;
/** Maximum p99 beside a slow upstream, as a multiple of the p99 without it. */
const MAX_P99_RATIO = 1.2;

export async function benchIsolation({ folder, rounds, seconds, print }: Bench): Promise<readonly Figure[]> {
  const fast = await startUpstream(folder, answer1KB);
  const slow = createServer((incoming) => void incoming.resume());
  await once(slow.listen(0, '127.0.0.1'), 'listening');
  const { port } = slow.address() as AddressInfo; // a TCP server
  const target = await startModelProxy(folder, {
    [PUBLIC_MODEL]: { apiBase: `http://127.0.0.1:${fast.ports[0]}/v1` },
    [SLOW_MODEL]: { apiBase: `http://127.0.0.1:${port}/v1` },
  });
  const load = { body: request1KB, connections: CONNECTIONS };
  const alone: number[] = [];
  const again: number[] = [];
  const beside: number[] = [];
  const p99 = async () => (await loadTarget(folder, target, { ...load, seconds })).p99Us;
  try {
    await warmUp(folder, target, load);
    for (let phase = 0; phase < rounds * PHASES; phase += 1) {
      // The first phase after the requests have gone would pay for their end.
      await p99();
      again.push(await p99());
      alone.push(await p99());
      const arrived = arrivals(slow, WAITING);
      const waiting = Array.from({ length: WAITING }, () => sendSlow(target));
      await arrived;
      await p99();
      beside.push(await p99());
      for (const sent of waiting) sent.destroy();
    }
  } finally {
    await target.stop();
    await fast.stop();
    slow.close();
    slow.closeAllConnections();
  }
  const row = (what: string, values: readonly number[]) => [
    what,
    (median(values) / 1000).toFixed(2),
    short(medianRatio(values, alone)),
    quartilesOfRatios(values, alone),
  ];
  print(
    `${WAITING} requests wait for a slow upstream; ${alone.length} alternating phases of ${seconds} s\n\n${table(
      ['p99', 'median, ms', 'relative to without them', 'quartiles'],
      [row('without them', alone), row('without them, the phase before', again), row('beside them', beside)],
    )}`,
  );
  return [
    {
      what: 'p99 beside a slow upstream / p99 without it',
      value: medianRatio(beside, alone),
      unit: '',
      must: MAX_P99_RATIO,
      aim: null,
      better: 'lower',
    },
  ];
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
