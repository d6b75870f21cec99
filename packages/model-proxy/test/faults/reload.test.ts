/** Reloads and stops a proxy under load. No request fails. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import { call, eventData, open } from '../harness/call.js';
import { ProxyProcess } from '../harness/process.js';
import {
  PUBLIC_MODEL,
  sampleConfig,
  type SampleConfigOptions,
  startTestProxy,
  type TestProxy,
} from '../harness/proxy.js';
import { done, event, type Step } from '../harness/script.js';
import { TestUpstream } from '../harness/upstream.js';
import { waitFor } from '../harness/wait.js';
import { messages } from './fixture.js';

const MASTER = 'sk-master-0123456789';
const STREAMS = 50;
const PLAIN_REQUESTS = 100;
const EVENTS = 20;

const chunk = (content: string) =>
  `{"model":"${SAMPLE_MODEL}","choices":[{"index":0,"delta":{"content":"${content}"}}]}`;

/** Returns a configuration without a connect timeout: a busy host needs over 10 s for 150 TLS handshakes. */
const unhurried = (upstream: TestUpstream, { params = [], ...rest }: SampleConfigOptions = {}) =>
  sampleConfig(upstream, { ...rest, params: ['connect_timeout: 0', ...params] });

describe('the proxy', () => {
  let upstream: TestUpstream;
  let other: TestUpstream;
  beforeAll(async () => {
    upstream = await TestUpstream.start();
    other = await TestUpstream.start();
  });
  beforeEach(() => {
    upstream.forget();
    other.forget();
  });
  afterAll(async () => {
    await upstream.close();
    await other.close();
  });

  /**
   * Starts streams and plain requests, and waits until the upstream has received all of them. Half of them wait for
   * the upstream's gate.
   */
  const startLoad = async (url: string, gate: string) => {
    const chat = `${url}/v1/chat/completions`;
    const events = Array.from({ length: EVENTS }, (_, index): Step => event(chunk(String(index))));
    const flowing = events.flatMap((step): Step[] => [step, { waitMs: 10 }]);
    const body = (stream: boolean, script: readonly Step[]) => ({
      body: { model: PUBLIC_MODEL, messages, stream, script },
    });
    const heads = Promise.all(
      Array.from({ length: STREAMS }, (_, index) => {
        const held: readonly Step[] = [...events.slice(0, 5), { gate }, ...events.slice(5)];
        return open(chat, body(true, [...(index % 2 === 0 ? held : flowing), done, { end: true }]));
      }),
    );
    const plain = Array.from({ length: PLAIN_REQUESTS }, (_, index) =>
      call(chat, body(false, [...(index % 2 === 0 ? [{ gate }] : [{ waitMs: index }]), { answer: true }])),
    );
    const streams = await heads;
    await waitFor(
      () =>
        upstream.received.filter(({ body: bytes }) => bytes !== undefined).length >= STREAMS + PLAIN_REQUESTS
          ? true
          : undefined,
      () => `only ${upstream.received.length} requests came`,
    );
    return {
      /** Waits for all streams and requests. @returns their faults. */
      async faults(): Promise<readonly string[]> {
        const wrong = [];
        for (const stream of streams) {
          const ended = await stream.ended;
          const data = eventData(stream.text);
          if (stream.status !== 200 || ended === 'cut' || data.length !== EVENTS + 1)
            wrong.push(`stream: ${stream.status} ${ended} ${data.length}`);
        }
        for (const answer of await Promise.allSettled(plain)) {
          if (answer.status === 'rejected') wrong.push(String(answer.reason));
          else if (!answer.value.text.includes('You said: Hello'))
            wrong.push(`${answer.value.status} ${answer.value.text}`);
        }
        return wrong;
      },
    };
  };

  describe('at a reload', () => {
    let proxy: TestProxy;
    beforeEach(async () => {
      proxy = await startTestProxy(unhurried(upstream));
    });
    afterEach(() => proxy.close());

    it('loses none of 50 streams and 100 plain requests if the upstream stays the same', async () => {
      const load = await startLoad(proxy.url, 'same');
      for (let round = 0; round < 10; round++) {
        proxy.configure(
          unhurried(upstream, { params: [`weight: ${round + 1}`], settings: [`drop_params: ${round % 2 === 0}`] }),
        );
        await proxy.reload();
      }
      upstream.gates.open('same');
      expect(await load.faults()).toEqual([]);
    });

    it('lets old requests end at the old upstream, and sends new requests to the new one', async () => {
      const load = await startLoad(proxy.url, 'other');
      proxy.configure(unhurried(other));
      await proxy.reload();
      const { status } = await call(`${proxy.url}/v1/chat/completions`, { body: { model: PUBLIC_MODEL, messages } });
      expect([status, other.received.length]).toEqual([200, 1]);
      upstream.gates.open('other');
      expect(await load.faults()).toEqual([]);
    });

    it('lets the requests to a removed model end, and rejects new requests to this model', async () => {
      const load = await startLoad(proxy.url, 'away');
      proxy.configure(unhurried(upstream).replace(PUBLIC_MODEL, 'another-model'));
      await proxy.reload();
      const { status, text } = await call(`${proxy.url}/v1/chat/completions`, {
        body: { model: PUBLIC_MODEL, messages },
      });
      expect([status, text]).toEqual([400, expect.stringContaining('another-model')]);
      upstream.gates.open('away');
      expect(await load.faults()).toEqual([]);
    });

    it('answers a request while it reads 3,000 entries', async () => {
      const entry = `
  - model_name: more
    litellm_params: { model: hosted_vllm/x, api_base: 'http://127.0.0.1:9/v1', tempratre: 1 }`;
      const config = unhurried(upstream);
      proxy.configure(config.replace('model_list:', `model_list:${entry.repeat(3000)}`));
      const order: string[] = [];
      const reloaded = proxy.reload().then(() => order.push('reloaded'));
      const { status } = await call(`${proxy.url}/health/liveliness`, { method: 'GET' });
      order.push(`answered ${status}`);
      await reloaded;
      expect(order).toEqual(['answered 200', 'reloaded']);
      expect(await (await fetch(`${proxy.url}/v1/models`)).text()).toContain('"more"');
    });

    it('shows clients either all models of the old file or all of the new one', async () => {
      const entries = (name: string) =>
        Array.from(
          { length: 1000 },
          (_, index) => `
  - { model_name: ${name}-${index}, litellm_params: { model: hosted_vllm/x, api_base: 'http://127.0.0.1:9/v1' } }`,
        ).join('');
      const configOf = (name: string) => unhurried(upstream).replace('model_list:', `model_list:${entries(name)}`);
      const shown = async () => {
        const { text } = await call(`${proxy.url}/v1/models`, { method: 'GET' });
        // The answer is OpenAI's list of models.
        return (JSON.parse(text) as { readonly data: readonly { readonly id: string }[] }).data.map(({ id }) => id);
      };
      const namesOf = (name: string) => [
        ...Array.from({ length: 1000 }, (_, index) => `${name}-${index}`),
        PUBLIC_MODEL,
      ];
      proxy.configure(configOf('old'));
      await proxy.reload();
      expect(await shown()).toEqual(namesOf('old'));
      proxy.configure(configOf('new'));
      const reloaded = proxy.reload();
      const seen: string[] = [];
      do {
        const names = await shown();
        seen.push(names[0] ?? '');
        expect(names).toEqual(namesOf(names[0] === 'new-0' ? 'new' : 'old'));
      } while (seen.at(-1) === 'old-0');
      await reloaded;
      expect(seen[0]).toBe('old-0');
    });

    it('runs concurrent reloads one after the other, and serves the newest file at the end', async () => {
      const reloads = ['first', 'second', 'third'].map((name) => {
        proxy.configure(unhurried(upstream).replace(PUBLIC_MODEL, name));
        return proxy.reload();
      });
      await Promise.all(reloads);
      expect(await (await fetch(`${proxy.url}/v1/models`)).text()).toContain('"third"');
      expect(proxy.logged().filter((line) => line.includes('configuration reloaded'))).toHaveLength(3);
    });

    it('does not use the new configuration if it closes at the same time', async () => {
      proxy.configure(unhurried(upstream).replace(PUBLIC_MODEL, 'late'));
      await Promise.all([proxy.reload(), proxy.close()]);
      expect(proxy.logged().join('\n')).not.toContain('configuration reloaded');
    });

    it('changes nothing if the file is invalid, and logs the fault', async () => {
      const load = await startLoad(proxy.url, 'broken');
      for (const broken of [
        'model_list: [',
        'model_list: 5',
        '',
        unhurried(upstream).replace(upstream.caFile, '/nowhere/ca.pem'),
      ]) {
        proxy.configure(broken);
        await proxy.reload();
      }
      upstream.gates.open('broken');
      expect(await load.faults()).toEqual([]);
      expect((await call(`${proxy.url}/v1/chat/completions`, { body: { model: PUBLIC_MODEL, messages } })).status).toBe(
        200,
      );
      expect(proxy.logged().join('\n')).toMatch(/ssl_verify.*\/nowhere\/ca\.pem/);
    });
  });

  it('as a separate process loses no request, neither at SIGHUP nor when its file changes', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rackless-reload-'));
    const file = join(folder, 'config.yaml');
    writeFileSync(file, unhurried(upstream));
    const proxy = new ProxyProcess(['--config', file, '--host', '127.0.0.1', '--port', '0']);
    try {
      const url = await proxy.address();
      const load = await startLoad(url, 'signal');
      proxy.signal('SIGHUP');
      await proxy.waitForOutput(/configuration reloaded/);
      writeFileSync(file, `${unhurried(upstream)}# changed\n`);
      await proxy.waitForOutput(/configuration reloaded[^]*configuration reloaded/);
      upstream.gates.open('signal');
      expect(await load.faults()).toEqual([]);
    } finally {
      await proxy.dispose();
      rmSync(folder, { recursive: true });
    }
  });

  it('keeps its keys if SIGKILL interrupts a reload, and uses the new file at its next start', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rackless-reload-kill-'));
    const file = join(folder, 'config.yaml');
    const configOf = (models: number) =>
      JSON.stringify({
        model_list: Array.from({ length: models }, (_, index) => ({
          model_name: `m${index}`,
          litellm_params: { model: 'hosted_vllm/x', api_base: 'http://127.0.0.1:9/v1' },
        })),
        general_settings: { master_key: MASTER, store: join(folder, 'store') },
      });
    writeFileSync(file, configOf(1));
    const args = ['--config', file, '--host', '127.0.0.1', '--port', '0'];
    const headers = (key: string) => ({ authorization: `Bearer ${key}` });
    let proxy = new ProxyProcess(args);
    try {
      const created = await call(`${await proxy.address()}/key/generate`, { headers: headers(MASTER), body: {} });
      const { key } = JSON.parse(created.text) as { readonly key: string }; // the answer has the key, as LiteLLM's
      writeFileSync(file, configOf(1000));
      await proxy.waitForOutput(/a file of the configuration has changed/);
      proxy.signal('SIGKILL');
      await proxy.dispose();
      proxy = new ProxyProcess(args);
      const { status, text } = await call(`${await proxy.address()}/v1/models`, {
        method: 'GET',
        headers: headers(key),
      });
      expect([status, text]).toEqual([200, expect.stringContaining('"m999"')]);
    } finally {
      await proxy.dispose();
      rmSync(folder, { recursive: true });
    }
  });

  it('at SIGTERM lets requests end, accepts no new connections, and exits with 0', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rackless-drain-'));
    const file = join(folder, 'config.yaml');
    writeFileSync(file, unhurried(upstream));
    const proxy = new ProxyProcess(['--config', file, '--host', '127.0.0.1', '--port', '0']);
    try {
      const url = await proxy.address();
      const load = await startLoad(url, 'drain');
      proxy.signal('SIGTERM');
      await waitFor(
        () =>
          call(`${url}/health/liveliness`, { method: 'GET' }).then(
            () => undefined,
            () => true as const,
          ),
        () => 'the proxy still accepts connections',
      );
      upstream.gates.open('drain');
      expect(await load.faults()).toEqual([]);
      expect(await proxy.waitForExit()).toBe(0);
    } finally {
      await proxy.dispose();
      rmSync(folder, { recursive: true });
    }
  });
});
