/**
 * The client is Anthropic's official SDK, and the models have Anthropic's API.
 * @see https://platform.claude.com/docs/en/api/messages
 * @see https://platform.claude.com/docs/en/api/messages-count-tokens
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import type { TestProxy } from '../harness/proxy.js';
import { documentedStreams, eventsText, failure, message } from '../providers/anthropic-samples.js';
import { cleanUp, entry, json, Vendors, type VendorAnswer } from '../providers/vendors.js';
import { errorOf } from './anthropic-errors.js';

const HOST = 'api.anthropic.com';
const KEY = 'sk-ant-0123456789';
const ask = { max_tokens: 100, messages: [{ role: 'user' as const, content: 'hello' }] };

const stream =
  (text: string): VendorAnswer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.end(text);
  };

const model = (name: string, more: string) =>
  `  - model_name: ${name}\n    litellm_params: { model: anthropic/claude-opus-4-6, api_key: ${KEY}${more} }`;

const GEMINI = 'generativelanguage.googleapis.com';
const OTHER = 'api.example.com';

describe("Anthropic's SDK", () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: Anthropic;
  beforeAll(async () => {
    vendors = await Vendors.start([HOST, GEMINI, OTHER]);
    proxy = await vendors.proxy([
      model('claude', ''),
      model('claude-elsewhere', `, api_base: "https://${OTHER}"`),
      entry('gemini', { model: 'gemini/gemini-3-pro-preview', api_key: 'gemini-0123456789' }),
      model('featured', ', extra_headers: { anthropic-beta: configured-1, anthropic-version: 2024-01-01 }'),
    ]);
    const defaultHeaders = { 'x-litellm-num-retries': '0' };
    client = new Anthropic({ baseURL: proxy.url, apiKey: 'any', maxRetries: 0, defaultHeaders });
  });
  cleanUp(() => ({ vendors, proxy }));

  it('sends messages, which reach Anthropic with the configured key and model, and otherwise unchanged', async () => {
    const content = [
      { type: 'text', text: 'Hi!' },
      { type: 'hologram', light: 1 },
    ];
    vendors.answers.set(HOST, json(message(content)));
    const cached = { type: 'text' as const, text: 'Be kind.', cache_control: { type: 'ephemeral' as const } };
    const answer = await client.messages.create({
      ...ask,
      model: 'claude',
      system: [cached],
      metadata: { user_id: 'u' },
    });
    expect(answer).toMatchObject({ type: 'message', content, usage: { cache_read_input_tokens: 3 } });
    const [request] = vendors.take();
    expect(request?.line).toBe(`POST https://${HOST}/v1/messages`);
    expect(request?.headers).toMatchObject({
      'x-api-key': KEY,
      'anthropic-version': expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      ...ask,
      model: 'claude-opus-4-6',
      system: [cached],
      metadata: { user_id: 'u' },
    });
  });

  it("sends short ids of calls to Anthropic, without Gemini's signatures, and the whole ids to other addresses", async () => {
    const call = (signature: string) => ({
      id: '',
      type: 'function',
      function: { name: 'get_weather', arguments: '{}' },
      extra_content: { google: { thought_signature: signature.repeat(1000) } },
    });
    const turns: Anthropic.MessageParam[] = [{ role: 'user', content: 'What is "__thought__"? 雪' }];
    for (const signature of ['Ep+/AQ==', 'Ep+/BQ==']) {
      const choices = [{ index: 0, message: { tool_calls: [call(signature)] }, finish_reason: 'stop' }];
      vendors.answers.set(GEMINI, json({ id: 'c', object: 'chat.completion', choices }));
      const { content } = await client.messages.create({ model: 'gemini', max_tokens: 9, messages: turns });
      const results = content.flatMap((block) =>
        block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: '3 °C' }] : [],
      );
      turns.push({ role: 'assistant', content }, { role: 'user', content: results });
    }
    vendors.take();
    for (const host of [HOST, OTHER]) vendors.answers.set(host, json(message([{ type: 'text', text: 'Hi!' }])));
    await client.messages.create({ model: 'claude-elsewhere', max_tokens: 9, messages: turns });
    expect(vendors.firstRequest().json).toHaveProperty('messages', turns);

    await client.messages.create({ model: 'claude', max_tokens: 9, messages: turns });
    const { messages } = vendors.firstRequest().json as { messages: typeof turns }; // the proxy sends messages
    const ids = JSON.stringify(messages).match(/call_0\w+/g) ?? [];
    expect(ids.map((id) => id.length < 64)).toEqual([true, true, true, true]);
    expect(ids).toEqual([ids[0], ids[0], ids[2], ids[2]]);
    expect(ids[2]).not.toBe(ids[0]);
    const whole = JSON.stringify(turns).match(/call_0\w+/g) ?? [];
    expect(whole).toHaveLength(4);
    const shortened = ids.reduce((text, id, at) => text.replace(whole[at] ?? '', id), JSON.stringify(turns));
    expect(JSON.stringify(messages)).toBe(shortened);
  });

  it.each(Object.entries(documentedStreams))(
    'gets the events of Anthropic with only the model changed: %s',
    async (_name, text) => {
      vendors.answers.set(HOST, stream(text));
      const events: unknown[] = [];
      for await (const event of await client.messages.create({ ...ask, model: 'claude', stream: true }))
        events.push(event);
      const sent = text
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => JSON.parse(line.slice(6).replace('"claude-opus-4-6"', '"anthropic/claude-opus-4-6"')) as unknown)
        .filter((event) => JSON.stringify(event) !== '{"type":"ping"}');
      expect(events).toEqual(sent);
      const final = await client.messages.stream({ ...ask, model: 'claude' }).finalMessage();
      expect(final.usage.output_tokens).toBeGreaterThan(10);
    },
  );

  it('gets the number of tokens from Anthropic', async () => {
    vendors.answers.set(HOST, json({ input_tokens: 14 }));
    const { messages } = ask;
    expect(await client.messages.countTokens({ model: 'claude', messages })).toEqual({ input_tokens: 14 });
    expect(vendors.take()[0]?.line).toBe(`POST https://${HOST}/v1/messages/count_tokens`);
  });

  it('selects beta features with a header and a query, which reach Anthropic', async () => {
    vendors.answers.set(HOST, json(message([{ type: 'text', text: 'Hi!' }])));
    const betas = ['context-1m-2025-08-07'];
    await client.beta.messages.create({ ...ask, model: 'claude', betas }, { query: { beta: 'true' } });
    const [request] = vendors.take();
    expect(request?.line).toBe(`POST https://${HOST}/v1/messages?beta=true`);
    expect(request?.headers['anthropic-beta']).toBe('context-1m-2025-08-07');
  });

  it('reaches Anthropic with the configured version, and with the configured features before its own', async () => {
    vendors.answers.set(HOST, json(message([])));
    await client.beta.messages.create({ ...ask, model: 'featured', betas: ['own-1'] });
    expect(vendors.take()[0]?.headers).toMatchObject({
      'anthropic-beta': 'configured-1,own-1',
      'anthropic-version': '2024-01-01',
    });
  });

  it('can send another anthropic-version, which reaches Anthropic', async () => {
    vendors.answers.set(HOST, json(message([])));
    await client.messages.create({ ...ask, model: 'claude' }, { headers: { 'anthropic-version': '2030-01-01' } });
    expect(vendors.take()[0]?.headers['anthropic-version']).toBe('2030-01-01');
  });

  it.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [413, 'request_too_large'],
    [429, 'rate_limit_error'],
    [500, 'api_error'],
    [529, 'overloaded_error'],
  ])("gets an error with status %i in Anthropic's form: %s", async (status, type) => {
    vendors.answers.set(HOST, json(failure(type, 'in their words'), status));
    const error = await errorOf(client.messages.create({ ...ask, model: 'claude' }));
    expect(error.status).toBe(status);
    expect(error.error).toEqual({
      type: 'error',
      error: { type, message: expect.stringContaining('in their words') },
      request_id: expect.any(String),
    });
  });

  it.each([
    ['an unknown model', { ...ask, model: 'other' }, 'Invalid model name'],
    ['a request without messages', { model: 'claude', max_tokens: 5 }, "Missing required parameter: 'messages'"],
  ])("gets errors of the proxy in Anthropic's form: %s", async (_what, body, text) => {
    const error = await errorOf(client.post('/v1/messages', { body }));
    expect([error.status, error.error]).toEqual([
      400,
      {
        type: 'error',
        error: { type: 'invalid_request_error', message: expect.stringContaining(text) },
        request_id: expect.any(String),
      },
    ]);
  });

  it('gets the status of an error at the beginning of a stream', async () => {
    vendors.answers.set(HOST, stream(eventsText([failure('overloaded_error', 'Overloaded')])));
    const error = await errorOf(client.messages.create({ ...ask, model: 'claude', stream: true }));
    expect([error.status, error.type]).toEqual([529, 'overloaded_error']);
  });

  it('gets an error event if a stream ends before its last event', async () => {
    const begun = documentedStreams.text.split('event: message_stop')[0] ?? '';
    vendors.answers.set(HOST, stream(begun));
    const error = await errorOf(client.messages.stream({ ...ask, model: 'claude' }).finalMessage());
    expect(error.type).toBe('api_error');
    expect(error.message).toContain('the stream ended before the answer had finished');
  });

  it('gets 502 for an answer that is not JSON', async () => {
    vendors.answers.set(HOST, (_request, response) => void response.end('<title>Login</title>'));
    expect((await errorOf(client.messages.create({ ...ask, model: 'claude' }))).status).toBe(502);
  });
});
