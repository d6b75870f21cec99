/**
 * Sends the proxy many requests: its memory after them must be about the same as after the first 5,000. RACKLESS_SOAK
 * sets the number of plain requests. A tenth as many streams follow.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ProxyProcess } from '../harness/process.js';
import { PUBLIC_MODEL, sampleConfig } from '../harness/proxy.js';
import { TestUpstream } from '../harness/upstream.js';
import { messages } from './fixture.js';

const REQUESTS = Number(process.env['RACKLESS_SOAK'] ?? 20_000);
const STREAMS = REQUESTS / 10;
/** After this number of requests, all code is loaded and compiled, and all pools are full. */
const WARM_UP = 5000;
const CONNECTIONS = 32;

describe('the proxy', () => {
  let upstream: TestUpstream;
  let folder: string;
  let proxy: ProxyProcess;
  let url: string;
  beforeAll(async () => {
    // Plain HTTP, because TLS would make the suite slow.
    upstream = await TestUpstream.start({ secure: false });
    folder = mkdtempSync(join(tmpdir(), 'rackless-soak-'));
    writeFileSync(join(folder, 'config.yaml'), sampleConfig(upstream));
    const nodeFlags = ['--expose-gc', '--import', join(import.meta.dirname, 'heap-probe.js')];
    proxy = new ProxyProcess(['--config', join(folder, 'config.yaml'), '--host', '127.0.0.1', '--port', '0'], {
      nodeFlags,
    });
    url = await proxy.address();
  });
  afterAll(async () => {
    await proxy.dispose();
    await upstream.close();
    rmSync(folder, { recursive: true });
  });

  let probes = 0;
  /** Makes the proxy collect its garbage. @returns the bytes that its heap then uses. */
  const probe = async (): Promise<number> => {
    probes += 1;
    proxy.signal('SIGUSR2');
    const [, json = ''] = await proxy.waitForOutput(new RegExp(`(?:heap [^]*){${probes - 1}}heap (\\{.*\\})\n`));
    return (JSON.parse(json) as { heapUsed: number }).heapUsed; // heap-probe.js prints this number
  };
  /** Returns the minimum of three measurements, because one of them can contain memory that is about to be freed. */
  const heapUsed = async (): Promise<number> => Math.min(await probe(), await probe(), await probe());

  /** Sends requests over reused connections. @returns the number of wrong answers. */
  const send = async (count: number, streamed: boolean, agent: Agent): Promise<number> => {
    const body = JSON.stringify({ model: PUBLIC_MODEL, messages, stream: streamed });
    const last = streamed ? 'data: [DONE]\n\n' : '}';
    let [left, lost] = [count, 0];
    const worker = async () => {
      while (left > 0) {
        left -= 1;
        const text = await ask(body, agent).catch(() => '');
        if (!text.includes('Hello') || !text.endsWith(last)) lost += 1;
        // The records of the harness must not grow.
        if (upstream.received.length > 1000) upstream.forget();
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, worker));
    return lost;
  };

  const ask = (body: string, agent: Agent): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const sent = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.once('end', () => resolve(text)).once('error', reject);
      });
      sent.once('error', reject).end(body);
    });

  it(
    `uses at most 5 % more memory after ${REQUESTS} requests and ${STREAMS} streams than after its warm-up`,
    async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
      expect([await send(WARM_UP, false, agent), await send(WARM_UP / 10, true, agent)]).toEqual([0, 0]);
      const before = await heapUsed();
      expect([await send(REQUESTS, false, agent), await send(STREAMS, true, agent)]).toEqual([0, 0]);
      const after = await heapUsed();
      agent.destroy();
      const growth = after / before - 1;
      process.stderr.write(
        `soak: heap ${(before / 2 ** 20).toFixed(2)} MB, then ${(after / 2 ** 20).toFixed(2)} MB: ${(growth * 100).toFixed(1)} %\n`,
      );
      expect(growth).toBeLessThan(0.05);
    },
    Math.max(900_000, REQUESTS * 50),
  );
});
