/** Contract: the rows about configuration, the start, and trust in certificates. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import { call } from '../harness/call.js';
import { ProxyProcess } from '../harness/process.js';
import { ANSWERED_MODEL, PUBLIC_MODEL, sampleConfig, startTestProxy, type TestProxy } from '../harness/proxy.js';
import { API_KEY, TestUpstream } from '../harness/upstream.js';

const run = promisify(execFile);
const messages = [{ role: 'user', content: 'Hello' }];

describe('configuration', () => {
  let upstream: TestUpstream;
  const proxies: TestProxy[] = [];
  beforeAll(async () => {
    upstream = await TestUpstream.start({ models: [SAMPLE_MODEL, 'vendor/other-model'] });
  });
  afterEach(async () => {
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
    upstream.forget();
  });
  afterAll(() => upstream.close());

  const start = async (yaml: string): Promise<TestProxy> => {
    const proxy = await startTestProxy(yaml);
    proxies.push(proxy);
    return proxy;
  };
  const ask = (proxy: TestProxy, more: object = {}) =>
    call(`${proxy.url}/v1/chat/completions`, { body: { model: PUBLIC_MODEL, messages, ...more } });

  it('MP-1 model_list: one entry for each deployment. A malformed list prevents the start', async () => {
    const proxy = await start(
      [
        'model_list:',
        ...['first', 'second'].flatMap((name) => [
          `  - model_name: ${name}`,
          `    litellm_params: {model: hosted_vllm/${SAMPLE_MODEL}, api_base: "${upstream.apiBase}"}`,
        ]),
      ].join('\n'),
    );
    const { data } = (await call(`${proxy.url}/v1/models`, { method: 'GET' })).json() as { data: { id: string }[] }; // The proxy sends OpenAI's list.
    expect(data.map(({ id }) => id)).toEqual(['first', 'second']);
    await expect(start('model_list: 4000')).rejects.toThrow(/config\.yaml.*:1.*model_list/);
  });

  it('MP-2 model_list[].model_name: the name that clients send as model. The proxy rejects other names', async () => {
    const proxy = await start(sampleConfig(upstream));
    expect((await ask(proxy)).status).toBe(200);
    const unknown = await ask(proxy, { model: 'nobody' });
    expect(unknown.status).toBe(400);
    expect(unknown.text).toContain('Invalid model name');
    expect(unknown.text).toContain(PUBLIC_MODEL);
    expect(upstream.received).toHaveLength(1);
  });

  it('MP-3 model_list[].litellm_params.model: <provider>/<name>. The upstream gets the name, including its slashes', async () => {
    const proxy = await start(
      sampleConfig(upstream).replace(`hosted_vllm/${SAMPLE_MODEL}`, 'hosted_vllm/vendor/other-model'),
    );
    const answer = await ask(proxy);
    expect(upstream.last.json).toMatchObject({ model: 'vendor/other-model' });
    expect(answer.json()).toMatchObject({ model: 'hosted_vllm/vendor/other-model' });
  });

  it('MP-4 model_list[].litellm_params.api_base: the address of the upstream, with or without a slash at the end', async () => {
    for (const base of [`${upstream.apiBase}/`, upstream.apiBase]) {
      const proxy = await start(sampleConfig(upstream).replace(`${upstream.apiBase}/`, base));
      expect((await ask(proxy)).status).toBe(200);
      expect(upstream.last.url).toBe('/v1/chat/completions');
    }
  });

  it('MP-5 model_list[].litellm_params.api_key: the upstream gets it as a Bearer token. If the upstream rejects it, the client gets 401', async () => {
    expect((await ask(await start(sampleConfig(upstream)))).status).toBe(200);
    expect(upstream.last.headers.authorization).toBe(`Bearer ${API_KEY}`);
    const refused = await ask(await start(sampleConfig(upstream).replace(API_KEY, 'sk-wrong-0815')));
    expect(refused.status).toBe(401);
    expect(refused.text).not.toContain('sk-wrong-0815');
  });

  it("MP-6 litellm_settings.ssl_verify: CA certificates for upstreams. If another authority signed an upstream's certificate, the client gets 500", async () => {
    const proxy = await start(sampleConfig(upstream));
    const untrusting = await start(sampleConfig(upstream).replace(/\n {2}ssl_verify:.*/, ''));
    for (const stream of [false, true]) {
      expect((await ask(proxy, { stream })).status).toBe(200);
      const refused = await ask(untrusting, { stream });
      expect(refused.status).toBe(500);
      expect(refused.json()).toMatchObject({ error: { message: expect.stringContaining('certificate') } });
    }
    await expect(start(sampleConfig(upstream).replace(upstream.caFile, '/nowhere/ca.pem'))).rejects.toThrow(
      /config\.yaml.*:8.*ssl_verify.*\/nowhere\/ca\.pem/s,
    );
  });

  it('MP-7 litellm_settings.drop_params: with true, the proxy removes parameters that the provider does not support. With false, the client gets 400', async () => {
    const parameters = { verbosity: 'low', top_k: 5, temperature: 0 };
    const dropping = await start(sampleConfig(upstream, { settings: ['drop_params: true'] }));
    expect((await ask(dropping, parameters)).status).toBe(200);
    expect(upstream.last.json).toEqual({ model: SAMPLE_MODEL, messages, top_k: 5, temperature: 0 });
    const strict = await ask(await start(sampleConfig(upstream, { settings: ['drop_params: false'] })), parameters);
    expect(strict.status).toBe(400);
    expect(strict.json()).toMatchObject({ error: { message: expect.stringContaining("['verbosity']") } });
  });

  it('MP-8 Names of the blocks: params and settings work too. The proxy recognizes a block with another name by its keys, and logs a warning', async () => {
    const plain = sampleConfig(upstream).replace('litellm_params', 'params').replace('litellm_settings', 'settings');
    expect((await ask(await start(plain))).json()).toMatchObject({ model: ANSWERED_MODEL });
    const any = sampleConfig(upstream).replace('litellm_params', 'connection');
    const proxy = await start(any);
    expect((await ask(proxy)).json()).toMatchObject({ model: ANSWERED_MODEL });
    expect(proxy.warnings.join('\n')).toMatch(/connection.*litellm_params/);
  });

  it('MP-9 Private authority: its certificates are valid only for their host names and until they expire', async () => {
    const strangers = await Promise.all([
      TestUpstream.start({
        certificate: (_folder, authority) => authority.issue('other', { hosts: ['elsewhere.test'] }),
      }),
      TestUpstream.start({ certificate: (_folder, authority) => authority.issue('old', { expired: true }) }),
      TestUpstream.start(),
    ]);
    const [otherHost, expired, otherAuthority] = strangers;
    try {
      for (const [stranger, caFile, reason] of [
        [otherHost, otherHost.caFile, /altnames|Hostname|host/i],
        [expired, expired.caFile, /expired/],
        [otherAuthority, upstream.caFile, /certificate/],
      ] as const) {
        const proxy = await start(sampleConfig(stranger).replace(stranger.caFile, caFile));
        const answer = await ask(proxy);
        expect(answer.status).toBe(500);
        const { error } = answer.json() as { error: { message: string } }; // Every error has this shape.
        expect(error.message).toMatch(reason);
        // The error about a wrong host name does not name the bundle, because the bundle is not the cause.
        if (stranger !== otherHost) expect(error.message).toContain(caFile);
        expect(stranger.received).toEqual([]);
      }
    } finally {
      await Promise.all(strangers.map((stranger) => stranger.close()));
    }
  });

  it("MP-10 Address instead of a name: an api_base with an IP address works if the upstream's certificate contains the address", async () => {
    const byAddress = sampleConfig(upstream).replace('https://localhost:', 'https://127.0.0.1:');
    expect((await ask(await start(byAddress))).status).toBe(200);
  });

  describe('with the command', () => {
    let folder: string;
    let running: ProxyProcess | undefined;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'rackless-spec-'));
    });
    afterEach(async () => {
      await running?.dispose();
      rmSync(folder, { recursive: true });
    });
    const launch = async (...flags: readonly string[]): Promise<string> => {
      const file = join(folder, 'config.yaml');
      writeFileSync(file, sampleConfig(upstream));
      running = new ProxyProcess(['--config', file, '--host', '127.0.0.1', '--port', '0', ...flags]);
      return running.address();
    };
    const chat = (url: string) =>
      run('curl', [
        ...['-sS', '--max-time', '10', `${url}/chat/completions`, '-H', 'Content-Type: application/json'],
        ...['-d', JSON.stringify({ model: PUBLIC_MODEL, messages })],
      ]);

    it('MP-11 --config: the configuration file. Without a readable file, the proxy exits with the reason', async () => {
      const url = await launch();
      expect(JSON.parse((await chat(url)).stdout)).toMatchObject({ object: 'chat.completion', model: ANSWERED_MODEL });
      const missing = new ProxyProcess(['--config', join(folder, 'missing.yaml')]);
      expect(await missing.waitForExit()).not.toBe(0);
      expect(missing.output).toContain('missing.yaml');
    });

    it('MP-12 --detailed_debug: logs upstream requests as curl commands with a masked key, and raw answers', async () => {
      const url = await launch('--detailed_debug');
      await chat(url);
      await running?.waitForOutput(/curl -X POST/);
      await running?.waitForOutput(/You said: Hello/);
      expect(running?.output).toContain(`${upstream.apiBase}/chat/completions`);
      expect(running?.output).not.toContain(API_KEY);
    });

    it('MP-13 Port 4000: the help shows it as the default port, and 0.0.0.0 as the default host', async () => {
      const file = join(folder, 'config.yaml');
      writeFileSync(file, sampleConfig(upstream));
      const { stdout } = await run(process.execPath, [join(import.meta.dirname, '../../bin/model-proxy.js'), '--help']);
      expect(stdout).toMatch(/--port[^-]*4000/);
      expect(stdout).toMatch(/--host[^-]*0\.0\.0\.0/);
    });
  });
});
