/**
 * Counts how often a client treats an unsolicited answer as the answer to its next request: our
 * client, Node's agent and undici (Node's `fetch`), in parallel. The upstream sends the unsolicited
 * answer 0 to 20 ms after a real one. The next request follows 0 to 20 ms after the real answer, and its
 * answer takes 3 ms. After a request is sent, HTTP/1.1 cannot distinguish the unsolicited answer from the
 * real one, so no client reaches 0. Exits 1 if our client is worse than the better of the others
 * beyond chance.
 *
 *     npm run bench:unsolicited -w @rackless/model-proxy [-- --requests N]
 */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createUpstream } from '../../src/upstream/send.js';
import { makeDeployment } from '../../test/support/deployment.js';
import { table } from '../report.js';

const { values: flags } = parseArgs({ options: { requests: { type: 'string', default: '1500' } } });
const requests = Number(flags.requests);
const LATEST_MS = 20;
const ANSWER_MS = 3;
/** Tolerated difference, in standard deviations. */
const CHANCE = 3;

const answerOf = (text: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => undefined);
  socket.on('data', (bytes: Buffer) => {
    const id = /id-\d+-/.exec(bytes.toString('latin1'))?.[0];
    if (id === undefined) return;
    const write = (text: string) => {
      if (!socket.destroyed) socket.write(answerOf(text));
    };
    setTimeout(() => {
      write(id);
      setTimeout(() => write('unsolicited'), Math.random() * LATEST_MS);
    }, ANSWER_MS);
  });
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo; // a TCP server has an AddressInfo
const base = `http://127.0.0.1:${port}/v1`;

/** Sends a request. Resolves with the text of its answer. */
type Ask = (id: string) => Promise<string>;

const deployment = makeDeployment({ apiBase: base, upstreamModel: 'm' });
const upstream = createUpstream({ deployments: [deployment], environment: {}, log: console });
const ours: Ask = (id) =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const { timeouts } = deployment;
    const sent = { deployment, method: 'POST', url: `${base}/${id}`, headers: [], body: [Buffer.from('{}')], timeouts };
    upstream.send(sent, {
      onHead: () => undefined,
      onData: (chunk) => chunks.push(chunk),
      onEnd: () => resolve(Buffer.concat(chunks).toString()),
      onError: reject,
    });
  });

const agent = new Agent({ keepAlive: true });
const node: Ask = (id) =>
  new Promise((resolve, reject) => {
    const sent = request(`${base}/${id}`, { method: 'POST', agent }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve(text)).on('error', reject);
    });
    sent.on('error', reject).end('{}');
  });

const undici: Ask = async (id) => (await fetch(`${base}/${id}`, { method: 'POST', body: '{}' })).text();

const clients = { 'model-proxy': ours, "Node's agent": node, undici } as const;
type Name = keyof typeof clients;
const names = Object.keys(clients) as Name[]; // the keys of the literal above
const counts = new Map(names.map((name) => [name, { wrong: 0, failed: 0 }]));

const worker = async (name: Name) => {
  const count = counts.get(name) ?? { wrong: 0, failed: 0 };
  for (let sent = 0; sent < requests; sent += 1) {
    const id = `id-${sent}-`;
    const text = await clients[name](id).catch(() => null);
    if (text === null) count.failed += 1;
    else if (text !== id) count.wrong += 1;
    await delay(Math.random() * LATEST_MS);
  }
};
// Runs the clients in parallel, so that a busy host delays all of them alike.
await Promise.all(names.map(worker));

const percent = (value: number) => `${((100 * value) / requests).toFixed(2)} %`;
const rows = names.map((name) => {
  const { wrong, failed } = counts.get(name) ?? { wrong: NaN, failed: NaN };
  return [name, percent(wrong), percent(failed)];
});
console.log(table(['client', 'another answer', 'an error'], rows));
const wrongOf = (name: Name) => counts.get(name)?.wrong ?? NaN;
const best = Math.min(wrongOf("Node's agent"), wrongOf('undici'));
const isWorse = wrongOf('model-proxy') > best + CHANCE * Math.sqrt(2 * Math.max(1, best));
agent.destroy();
await upstream.close();
process.exit(isWorse ? 1 : 0);
