/** Tests the limits of a key that several proxies share through Redis. Several clients send requests at once. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';
import { whileRedisAnswers } from '../harness/answering-redis.js';
import { call } from '../harness/call.js';
import type { ProxyProcess } from '../harness/process.js';
import { waitFor } from '../harness/wait.js';
import { daemonFixture, LOCAL } from './fixture.js';

const MASTER = 'sk-master-0123456789';
const answer = JSON.stringify({ id: 'x', object: 'chat.completion', model: 'm', choices: [], usage: {} });
const headers = (key: string) => ({ authorization: `Bearer ${key}` });

let redis: PrivateRedis;
let upstream: Server;
/** The unsent answers to requests with the text `wait`. A test sends them. */
let heldAnswers: ServerResponse[];
const { write, start } = daemonFixture();
beforeEach(async () => {
  heldAnswers = [];
  redis = await startRedis();
  upstream = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      if (body.includes('wait')) heldAnswers.push(response);
      else response.setHeader('content-type', 'application/json').end(answer);
    });
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
});
afterEach(async () => {
  upstream.closeAllConnections();
  upstream.close();
  await redis.stop();
});

interface Running {
  readonly process: ProxyProcess;
  readonly url: string;
}

async function startProxies(count: number): Promise<readonly Running[]> {
  const { port } = upstream.address() as AddressInfo; // a TCP server has an AddressInfo
  const file = write(
    'config.yaml',
    JSON.stringify({
      model_list: [
        { model_name: 'm', litellm_params: { model: 'hosted_vllm/m', api_base: `http://127.0.0.1:${port}/v1` } },
      ],
      general_settings: { master_key: MASTER, store: redis.url },
    }),
  );
  const processes = Array.from({ length: count }, () => start(['--config', file, ...LOCAL]));
  return Promise.all(processes.map(async (process) => ({ process, url: await process.address() })));
}

/** Creates a key, and waits until all proxies accept it. */
async function createKey(proxies: readonly Running[], limits: object): Promise<string> {
  const [first] = proxies;
  const made = await call(`${first?.url}/key/generate`, { headers: headers(MASTER), body: limits });
  const { key } = made.json() as { key: string }; // the answer has the key, as LiteLLM's
  // The other proxies learn the key some milliseconds later.
  const models = ({ url }: Running) => call(`${url}/v1/models`, { method: 'GET', headers: headers(key) });
  await waitFor(
    async () => ((await Promise.all(proxies.map(models))).every(({ status }) => status === 200) ? true : undefined),
    () => 'a proxy does not know the key',
  );
  return key;
}

/** Sends a chat request. @returns the status of the answer. */
const chat = async ({ url }: Running, key: string, content = 'Hello'): Promise<number> => {
  const body = { model: 'm', messages: [{ role: 'user', content }] };
  return (await call(`${url}/v1/chat/completions`, { headers: headers(key), body })).status;
};

/** Sends requests with several clients until each client has got 429. @returns the number of admitted requests. */
async function exhaust(proxy: Running, key: string, clients: number): Promise<number> {
  let admitted = 0;
  const client = async () => {
    for (;;) {
      const status = await chat(proxy, key);
      if (status === 429) return;
      expect(status).toBe(200);
      admitted += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return admitted;
}

/**
 * Creates a key for four parallel requests, and uses all four: three at the proxy `toKill`, and one at `other`. The
 * upstream does not answer them.
 * @returns also the statuses of the four requests (`open`; 0: the proxy was killed), and those of two more requests,
 *   one at each proxy (`refused`).
 */
async function holdFour(proxies: readonly Running[]) {
  heldAnswers = [];
  const key = await createKey(proxies, { max_parallel_requests: 4 });
  const [toKill, other] = proxies;
  if (toKill === undefined || other === undefined) throw new Error('a proxy is missing');
  const open = [toKill, toKill, toKill, other].map((proxy) => chat(proxy, key, 'wait').catch(() => 0));
  await waitFor(
    () => (heldAnswers.length === 4 ? true : undefined),
    () => `${heldAnswers.length} requests at the upstream`,
  );
  return { key, toKill, other, open, refused: [await chat(toKill, key), await chat(other, key)] };
}

describe('proxies that share a Redis', () => {
  it.each([
    [2, 400],
    [3, 400],
    [3, 5],
  ])('admit together exactly the rpm_limit of a key (%s proxies, limit %s)', async (count, limit) => {
    const admitted = await whileRedisAnswers(
      () => startProxies(count),
      async (proxies) => {
        const key = await createKey(proxies, { rpm_limit: limit });
        return Promise.all(proxies.map((proxy) => exhaust(proxy, key, 4)));
      },
    );
    expect(admitted.reduce((sum, one) => sum + one, 0)).toBe(limit);
  });

  it('admit at most the rpm_limit, and at least seven eighths of it, when one of them is killed', async () => {
    const admitted = await whileRedisAnswers(
      () => startProxies(3),
      async (proxies) => {
        const key = await createKey(proxies, { rpm_limit: 400 });
        const [toKill, ...others] = proxies;
        if (toKill === undefined) throw new Error('the proxy is missing');
        let sum = 0;
        for (let n = 0; n < 50; n += 1) if ((await chat(toKill, key)) === 200) sum += 1;
        toKill.process.signal('SIGKILL');
        for (const one of await Promise.all(others.map((proxy) => exhaust(proxy, key, 4)))) sum += one;
        return sum;
      },
    );
    expect(admitted).toBeLessThanOrEqual(400);
    // The unused rest of a killed proxy's share is lost until the end of the minute: at most an eighth of the limit.
    expect(admitted).toBeGreaterThanOrEqual(400 - 50);
  });

  it('can use the parallel requests of a killed proxy again', async () => {
    const { key, toKill, other, open, refused } = await whileRedisAnswers(() => startProxies(2), holdFour);
    expect(refused).toEqual([429, 429]);
    toKill.process.signal('SIGKILL');
    await waitFor(
      async () => ((await chat(other, key)) === 200 ? true : undefined),
      () => 'no slot is free',
    );
    for (const response of heldAnswers.splice(0)) response.setHeader('content-type', 'application/json').end(answer);
    expect((await Promise.all(open)).filter((status) => status === 200)).toHaveLength(1);
  });
});
