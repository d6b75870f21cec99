/** Contract, requests: their fields, routes, keys, errors, limits and versioning. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import { call, type Answer } from '../harness/call.js';
import { ANSWERED_MODEL, PUBLIC_MODEL, sampleConfig, startTestProxy, type TestProxy } from '../harness/proxy.js';
import { API_KEY, TestUpstream } from '../harness/upstream.js';

const completion = { model: PUBLIC_MODEL, prompt: 'Tell me a story', max_tokens: 32, temperature: 0 };
const chat = { model: PUBLIC_MODEL, messages: [{ role: 'user', content: 'Tell me a story' }] };

describe('the endpoints of the contract', () => {
  let upstream: TestUpstream;
  let proxy: TestProxy;
  beforeAll(async () => {
    upstream = await TestUpstream.start();
    proxy = await startTestProxy(
      sampleConfig(upstream).replace(
        'litellm_settings:',
        '    model_info:\n      max_input_tokens: 32000\nlitellm_settings:',
      ),
    );
  });
  afterEach(() => upstream.forget());
  afterAll(async () => {
    await proxy.close();
    await upstream.close();
  });

  const post = (path: string, body: object | string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    call(`${proxy.url}${path}`, { body, headers: { 'content-type': 'application/json', ...headers } });
  const content = (answer: Answer): unknown => {
    // The answer is a completion.
    const { choices } = answer.json() as { choices: readonly { message?: { content: unknown }; text?: unknown }[] };
    return choices[0]?.message?.content ?? choices[0]?.text;
  };

  it('MP-46 model: the client sends the public name. The upstream gets the name of the deployment', async () => {
    expect((await post('/v1/completions', completion)).status).toBe(200);
    expect(upstream.last.json).toEqual({ ...completion, model: SAMPLE_MODEL });
    expect((await post('/v1/completions', { ...completion, model: SAMPLE_MODEL })).status).toBe(400);
    expect(upstream.received).toHaveLength(1);
  });

  it('MP-47 prompt: the text for the model. A request without it gets 400, which names the parameter', async () => {
    expect(content(await post('/v1/completions', completion))).toBe('You said: Tell me a story');
    const { prompt, ...without } = completion;
    const answer = await post('/v1/completions', without);
    expect([answer.status, answer.json(), prompt]).toEqual([
      400,
      {
        error: {
          message: expect.stringContaining("Missing required parameter: 'prompt'"),
          type: 'invalid_request_error',
          param: 'prompt',
          code: '400',
        },
      },
      'Tell me a story',
    ]);
  });

  it('MP-48 max_tokens: limits the tokens that the upstream generates', async () => {
    expect(content(await post('/v1/completions', { ...completion, max_tokens: 2 }))).toBe('You said:');
  });

  it('MP-49 temperature: the upstream gets the number as the client wrote it: 0, 0.0 or 1e0', async () => {
    for (const number of ['0', '0.0', '1e0', '0.70']) {
      const body = `{"temperature": ${number} ,"model":"${PUBLIC_MODEL}", "prompt":"p"}`;
      expect((await post('/v1/completions', body)).status).toBe(200);
      expect(upstream.last.body?.toString()).toBe(body.replace(PUBLIC_MODEL, SAMPLE_MODEL));
    }
  });

  it('MP-50 model: the client sends the public name. The upstream gets the name of the deployment', async () => {
    const body = `{"messages" : [{"role":"user","content":"\\u00fc"}],\n "model" :"${PUBLIC_MODEL}","unheard_of":[1.0, {}]}`;
    expect((await post('/v1/chat/completions', body)).status).toBe(200);
    expect(upstream.last.body?.toString()).toBe(body.replace(PUBLIC_MODEL, SAMPLE_MODEL));
  });

  it('MP-51 messages: the conversation. A request without it gets 400, which names the parameter', async () => {
    expect(content(await post('/v1/chat/completions', chat))).toBe('You said: Tell me a story');
    expect(upstream.last.json).toEqual({ ...chat, model: SAMPLE_MODEL });
    const answer = await post('/v1/chat/completions', { model: PUBLIC_MODEL });
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({ error: { param: 'messages', code: '400' } });
  });

  it('MP-52 POST /chat/completions: the same as POST /v1/chat/completions', async () => {
    const answer = await post('/chat/completions', chat);
    expect([answer.status, content(answer)]).toEqual([200, 'You said: Tell me a story']);
    expect(answer.json()).toMatchObject({ object: 'chat.completion', model: ANSWERED_MODEL });
    expect(upstream.last.url).toBe('/v1/chat/completions');
  });

  it('MP-53 POST /v1/chat/completions: the chat route, for clients whose base address ends in /v1/', async () => {
    for (const path of ['/v1/chat/completions', '/v1//chat/completions', '//v1/chat/completions']) {
      const answer = await post(path, chat);
      expect([path, answer.status, content(answer)]).toEqual([path, 200, 'You said: Tell me a story']);
      expect(upstream.last.url).toBe('/v1/chat/completions');
    }
  });

  it("MP-54 Authorization: Bearer <API_KEY>: the upstream gets the configured key, not the client's", async () => {
    expect((await post('/v1/chat/completions', chat)).status).toBe(200);
    expect(upstream.last.headers.authorization).toBe(`Bearer ${API_KEY}`);
  });

  it('MP-55 Key of a client: if no master key is set, clients may send any key. The upstream never gets it', async () => {
    const secret = 'sk-of-the-client-4711';
    for (const headers of [
      { authorization: `Bearer ${secret}` },
      { authorization: `Basic ${secret}` },
      { 'x-api-key': secret, 'api-key': secret },
      { cookie: `key=${secret}`, 'proxy-authorization': `Basic ${secret}` },
    ]) {
      expect((await post('/v1/chat/completions', chat, headers)).status).toBe(200);
      expect(upstream.last.rawHeaders.join('\n')).not.toContain(secret);
    }
  });

  it("MP-56 Error of an upstream: the client gets the upstream's status and an error in OpenAI's shape", async () => {
    const script = [
      { head: 400, headers: { 'content-type': 'application/json' } },
      {
        write:
          '{"error":{"message":"too long","type":"BadRequestError","param":"messages","code":"context_length_exceeded"}}',
      },
      { end: true },
    ];
    const answer = await post('/v1/chat/completions', { ...chat, script });
    expect(answer.status).toBe(400);
    expect(answer.json()).toEqual({
      error: {
        message: expect.stringContaining('too long'),
        type: expect.any(String),
        param: 'messages',
        code: 'context_length_exceeded',
      },
    });
  });

  it('MP-57 Context length: /model/info shows the configured max_input_tokens', async () => {
    const model = await call(`${proxy.url}/v1/models/${PUBLIC_MODEL}`, { method: 'GET' });
    expect(model.status).toBe(200);
    expect(model.json()).toMatchObject({ id: PUBLIC_MODEL, object: 'model', model_info: { max_input_tokens: 32000 } });
    const info = await call(`${proxy.url}/model/info`, { method: 'GET' });
    expect(info.json()).toMatchObject({
      data: [{ model_name: PUBLIC_MODEL, model_info: { max_input_tokens: 32000 } }],
    });
    expect(info.text).not.toContain(API_KEY);
  });

  it('MP-58 /v1: model routes exist with and without it, /health, /metrics and /routes only without it', async () => {
    for (const prefix of ['', '/v1']) {
      expect((await post(`${prefix}/completions`, completion)).status).toBe(200);
      expect((await call(`${proxy.url}${prefix}/models`, { method: 'GET' })).json()).toEqual({
        object: 'list',
        data: [{ id: PUBLIC_MODEL, object: 'model', created: expect.any(Number), owned_by: expect.any(String) }],
      });
    }
    for (const page of ['/health', '/metrics', '/routes']) {
      expect([page, (await call(`${proxy.url}${page}`, { method: 'GET' })).status]).toEqual([page, 200]);
      expect((await call(`${proxy.url}/v1${page}`, { method: 'GET' })).status).toBeGreaterThanOrEqual(400);
    }
  });
});
