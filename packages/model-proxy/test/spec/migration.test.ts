/** Contract: the rows that users of LiteLLM look for first. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import { call } from '../harness/call.js';
import { ANSWERED_MODEL, PUBLIC_MODEL, sampleConfig, startTestProxy, type TestProxy } from '../harness/proxy.js';
import { API_KEY, TestUpstream } from '../harness/upstream.js';

const messages = [{ role: 'user', content: 'Tell me a story' }];
const chat = { model: PUBLIC_MODEL, messages };

describe('a configuration of LiteLLM', () => {
  let upstream: TestUpstream;
  let proxy: TestProxy | undefined;
  beforeAll(async () => {
    upstream = await TestUpstream.start();
  });
  afterEach(async () => {
    upstream.forget();
    await proxy?.close();
    proxy = undefined;
  });
  afterAll(() => upstream.close());

  const start = async (yaml: string, environment: Readonly<Record<string, string>> = {}) => {
    proxy = await startTestProxy(yaml, { environment });
    return proxy;
  };
  const ask = ({ url }: TestProxy, model: string) => call(`${url}/v1/chat/completions`, { body: { model, messages } });

  it('MP-95 os.environ/NAME: any value may be a variable, and a missing variable prevents the start', async () => {
    const yaml = sampleConfig(upstream).replace(API_KEY, 'os.environ/MY_KEY');
    const running = await start(yaml, { MY_KEY: API_KEY });
    expect((await ask(running, PUBLIC_MODEL)).status).toBe(200);
    await expect(startTestProxy(yaml)).rejects.toThrow(/config\.yaml:6: .*api_key.*MY_KEY/s);
  });

  it('MP-96 wildcards and aliases: the upstream gets the rest of the name, or the model of the group', async () => {
    const lines = ['router_settings:', '  model_group_alias:', `    other: ${PUBLIC_MODEL}`];
    const running = await start(
      sampleConfig(upstream, { more: lines }).replace(
        'litellm_settings:',
        `  - model_name: team/*\n    litellm_params: {model: hosted_vllm/*, api_base: '${upstream.apiBase}', api_key: ${API_KEY}}\nlitellm_settings:`,
      ),
    );
    for (const name of ['other', `team/${SAMPLE_MODEL}`]) {
      expect((await ask(running, name)).status).toBe(200);
      expect(upstream.last.json).toMatchObject({ model: SAMPLE_MODEL });
    }
  });

  it('MP-97 streams: the events of the upstream, unchanged except for the model, and the last is [DONE]', async () => {
    const running = await start(sampleConfig(upstream));
    const { text } = await call(`${running.url}/v1/chat/completions`, { body: { ...chat, stream: true } });
    const sent = Buffer.concat(upstream.last.sent).toString();
    expect(text).toBe(sent.replaceAll(`"model":"${SAMPLE_MODEL}"`, `"model":"${ANSWERED_MODEL}"`));
    expect(text).not.toBe(sent);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('MP-98 a client that disconnects: the proxy ends the request at the upstream', async () => {
    const running = await start(sampleConfig(upstream));
    const client = new AbortController();
    const body = JSON.stringify({ ...chat, script: [{ hang: true }] });
    const pendingAnswer = fetch(`${running.url}/v1/chat/completions`, { method: 'POST', body, signal: client.signal });
    const received = await upstream.waitForRequest(({ json }) => json?.['script'] !== undefined);
    client.abort();
    await expect(pendingAnswer).rejects.toThrow();
    expect(await upstream.ended(received)).toBe('aborted');
  });

  it('MP-99 a changed file: the proxy serves its models; if the file has a fault, the old models stay', async () => {
    const running = await start(sampleConfig(upstream));
    running.configure(sampleConfig(upstream).replace(PUBLIC_MODEL, 'renamed'));
    await running.reload();
    expect([(await ask(running, 'renamed')).status, (await ask(running, PUBLIC_MODEL)).status]).toEqual([200, 400]);
    running.configure('model_list: 5\n');
    await running.reload();
    expect((await ask(running, 'renamed')).status).toBe(200);
  });
});
