/**
 * The client is Anthropic's official SDK, and the models have OpenAI's API. The shapes of answers are those
 * of OpenAI's reference, with the members of vLLM and DeepSeek for thinking.
 * @see https://platform.openai.com/docs/api-reference/chat/object
 * @see https://platform.openai.com/docs/api-reference/chat-streaming
 * @see https://api-docs.deepseek.com/guides/reasoning_model
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic, { type APIError } from '@anthropic-ai/sdk';
import type { TestProxy } from '../harness/proxy.js';
import { cleanUp, entry, events, json, Vendors } from '../providers/vendors.js';
import { errorOf } from './anthropic-errors.js';

const OPENAI = 'api.openai.com';
const AZURE = 'res.openai.azure.com';
const GEMINI = 'generativelanguage.googleapis.com';
// The types of the SDK do not have these members, because Anthropic's latest models reject them.
const sampling = { temperature: 0.5, top_p: 0.9 };
const ask = { max_tokens: 100, messages: [{ role: 'user' as const, content: 'hello' }] };
const weather: Anthropic.Tool = {
  name: 'get_weather',
  description: 'Weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  cache_control: { type: 'ephemeral' },
};

const usage = {
  prompt_tokens: 110,
  completion_tokens: 9,
  total_tokens: 119,
  prompt_tokens_details: { cached_tokens: 100 },
};
const completion = (message: object, finish_reason: string, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-2024-08-06',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason, ...more }],
  usage,
});
const chunk = (delta: object, finish_reason: string | null = null) =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-4o-2024-08-06',
    choices: [{ index: 0, delta, finish_reason }],
    usage: null,
  });
const lastChunk = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'gpt-4o-2024-08-06',
  choices: [],
  usage,
});
const call = (index: number, part: object, id?: string) => ({
  tool_calls: [{ index, ...(id === undefined ? {} : { id, type: 'function' }), function: part }],
});

const toolStream = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ reasoning_content: 'Two ' }),
  chunk({ reasoning_content: 'cities.' }),
  chunk({ content: 'Let me ' }),
  chunk({ content: 'look. 雪' }),
  chunk(call(0, { name: 'get_weather', arguments: '' }, 'call_1')),
  chunk(call(0, { arguments: '{"city":' })),
  chunk(call(0, { arguments: '"Oslo"}' })),
  chunk(call(1, { name: 'get_weather', arguments: '{"city":"Rome"}' }, 'call_2')),
  chunk({}, 'tool_calls'),
  lastChunk,
  '[DONE]',
];

const atAzure = { api_base: `https://${AZURE}`, api_version: '2024-10-21', api_key: 'az-0123456789' };

describe("Anthropic's SDK with models of other vendors", () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: Anthropic;
  beforeAll(async () => {
    vendors = await Vendors.start([OPENAI, AZURE, GEMINI]);
    proxy = await vendors.proxy(
      [
        entry('gpt', { model: 'openai/gpt-4o' }),
        entry('newest', { model: 'openai/gpt-5.2' }),
        entry('gemini', { model: 'gemini/gemini-3-pro-preview', api_key: 'gemini-0123456789' }),
        entry('o3', { model: 'openai/o3', extra_body: '{}' }).replace('"{}"', '{ store: false }'),
        entry('gpt-10', { model: 'openai/gpt-10-mini' }),
        entry('azure', { ...atAzure, model: 'azure/my-gpt' }),
        entry('azure-o3', { ...atAzure, model: 'azure/o3' }),
        entry('azure-marked', { ...atAzure, model: 'azure/gpt5_series/my-gpt' }),
        entry('azure-allowed', { ...atAzure, model: 'azure/my-gpt', allowed_openai_params: '[]' }).replace(
          '"[]"',
          '[reasoning_effort]',
        ),
      ],
      { OPENAI_API_KEY: 'sk-0123456789' },
    );
    const defaultHeaders = { 'x-litellm-num-retries': '0' };
    client = new Anthropic({ baseURL: proxy.url, apiKey: 'any', maxRetries: 0, defaultHeaders });
  });
  cleanUp(() => ({ vendors, proxy }));

  const asked = () => {
    const { json: body, ...request } = vendors.firstRequest();
    return { ...request, json: body as Record<string, unknown> }; // the proxy sends objects
  };
  const bodyOf = (error: APIError) => error.error;

  it('sends a message, which becomes a request for chat', async () => {
    vendors.answers.set(OPENAI, json(completion({ content: 'Hi!', refusal: null }, 'stop')));
    const answer = await client.messages.create({
      ...ask,
      model: 'gpt',
      system: [
        { type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'Be short.' },
      ],
      stop_sequences: ['END'],
      ...sampling,
      metadata: { user_id: 'u'.repeat(80) },
    });
    expect(answer).toEqual({
      id: 'chatcmpl-1',
      type: 'message',
      role: 'assistant',
      model: 'openai/gpt-4o-2024-08-06',
      content: [{ type: 'text', text: 'Hi!' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 100, output_tokens: 9 },
    });
    const { line, headers, json: sent } = asked();
    expect(line).toBe(`POST https://${OPENAI}/v1/chat/completions`);
    expect(headers).not.toHaveProperty('anthropic-version');
    expect(sent).toEqual({
      model: 'gpt-4o',
      messages: [
        { role: 'system', content: 'Be kind.\nBe short.' },
        { role: 'user', content: 'hello' },
      ],
      max_tokens: 100,
      stop: ['END'],
      user: 'u'.repeat(64),
      ...sampling,
    });
  });

  it('reaches the address of the deployment, with its extra_body, and with an effort for the thinking', async () => {
    vendors.answers.set(AZURE, json(completion({ content: 'Hi!' }, 'length')));
    vendors.answers.set(OPENAI, json(completion({ content: 'Hi!' }, 'content_filter')));
    const azure = await client.beta.messages.create({ ...ask, model: 'azure', betas: ['x-1'] });
    expect(azure.stop_reason).toBe('max_tokens');
    const { line, headers } = asked();
    expect(line).toBe(`POST https://${AZURE}/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21`);
    expect(headers).not.toHaveProperty('anthropic-beta');
    const thinking = { type: 'enabled' as const, budget_tokens: 5000 };
    expect((await client.messages.create({ ...ask, model: 'o3', thinking })).stop_reason).toBe('refusal');
    expect(asked().json).toEqual({
      model: 'o3',
      messages: ask.messages,
      max_completion_tokens: 100,
      reasoning_effort: 'medium',
      store: false,
    });
  });

  it('gets two tool calls in one answer, and sends their results with a picture', async () => {
    const calls = [
      { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
      { id: 'call_2', type: 'function', function: { name: 'get_weather', arguments: '' } },
    ];
    vendors.answers.set(OPENAI, json(completion({ content: null, tool_calls: calls, reasoning: 'Hm.' }, 'tool_calls')));
    const first = await client.messages.create({
      ...ask,
      model: 'gpt',
      tools: [weather],
      tool_choice: { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true },
    });
    expect(first).toMatchObject({ stop_reason: 'tool_use' });
    expect(first.content).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: '' },
      { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Oslo' } },
      { type: 'tool_use', id: 'call_2', name: 'get_weather', input: {} },
    ]);
    expect(asked().json).toMatchObject({
      tools: [
        {
          type: 'function',
          function: { name: 'get_weather', description: 'Weather', parameters: weather.input_schema },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      parallel_tool_calls: false,
    });
    await client.messages.create({
      ...ask,
      model: 'gpt',
      messages: [
        ...ask.messages,
        { role: 'assistant', content: first.content },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'call_1',
              content: [
                { type: 'text', text: '3 °C' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
              ],
            },
            { type: 'tool_result', tool_use_id: 'call_2', content: 'no such city', is_error: true },
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            { type: 'text', text: 'And now?' },
          ],
        },
      ],
    });
    expect(asked().json['messages']).toEqual([
      { role: 'user', content: 'hello' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [calls[0], { ...calls[1], function: { name: 'get_weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '3 °C' },
      { role: 'tool', tool_call_id: 'call_2', content: 'no such city' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          { type: 'text', text: 'And now?' },
        ],
      },
    ]);
  });

  it("gets streamed thinking, text and two calls as Anthropic's events", async () => {
    vendors.answers.set(OPENAI, events(...toolStream));
    const received: Anthropic.MessageStreamEvent[] = [];
    for await (const event of await client.messages.create({ ...ask, model: 'gpt', tools: [weather], stream: true }))
      received.push(event);
    expect(received.map((event) => ('index' in event ? `${event.type} ${event.index}` : event.type))).toEqual([
      'message_start',
      'content_block_start 0',
      'content_block_delta 0',
      'content_block_delta 0',
      'content_block_stop 0',
      'content_block_start 1',
      'content_block_delta 1',
      'content_block_delta 1',
      'content_block_stop 1',
      'content_block_start 2',
      'content_block_delta 2',
      'content_block_delta 2',
      'content_block_stop 2',
      'content_block_start 3',
      'content_block_delta 3',
      'content_block_stop 3',
      'message_delta',
      'message_stop',
    ]);
    expect(asked().json).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    const final = await client.messages.stream({ ...ask, model: 'gpt', tools: [weather] }).finalMessage();
    expect(final).toMatchObject({
      id: 'chatcmpl-1',
      model: 'openai/gpt-4o-2024-08-06',
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'Two cities.' },
        { type: 'text', text: 'Let me look. 雪' },
        { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Oslo' } },
        { type: 'tool_use', id: 'call_2', name: 'get_weather', input: { city: 'Rome' } },
      ],
      usage: { input_tokens: 10, cache_read_input_tokens: 100, output_tokens: 9 },
    });
  });

  it('gets streamed calls of a server that gives all calls the same index', async () => {
    const two = [
      chunk(call(0, { name: 'a', arguments: '{}' }, 'call_1')),
      chunk(call(0, { name: 'b', arguments: '{"x":1}' }, 'call_2')),
    ];
    vendors.answers.set(OPENAI, events(...two, chunk({}, 'stop')));
    const { content } = await client.messages.stream({ ...ask, model: 'gpt' }).finalMessage();
    expect(content).toMatchObject([
      { id: 'call_1', name: 'a', input: {} },
      { id: 'call_2', name: 'b', input: { x: 1 } },
    ]);
  });

  it.each([
    ['o3', 'max', 'high'],
    ['o3', 'xhigh', 'high'],
    ['o3', 'medium', 'medium'],
    ['newest', 'max', 'xhigh'],
    ['newest', 'xhigh', 'xhigh'],
    ['gpt-10', 'max', 'xhigh'],
    ['azure-o3', 'xhigh', 'high'],
    ['azure-marked', 'xhigh', 'xhigh'],
    ['azure-marked', 'max', 'high'],
    ['azure-allowed', 'xhigh', 'xhigh'],
  ] as const)('sends to %s for the effort %s the effort %s, which the model has', async (model, effort, sent) => {
    for (const host of [OPENAI, AZURE]) vendors.answers.set(host, json(completion({ content: 'Hi!' }, 'stop')));
    const thinking = { type: 'adaptive' as const };
    await client.messages.create({ ...ask, model, thinking, output_config: { effort } });
    expect(asked().json).toMatchObject({ reasoning_effort: sent });
  });

  it('gets the stop reason tool_use even if the server reports stop, as OpenAI does for a chosen tool', async () => {
    const made = call(0, { name: 'get_weather', arguments: '{"city":"Oslo"}' }, 'call_1');
    vendors.answers.set(OPENAI, events(chunk(made), chunk({}, 'stop'), '[DONE]'));
    expect((await client.messages.stream({ ...ask, model: 'gpt' }).finalMessage()).stop_reason).toBe('tool_use');
    vendors.answers.set(OPENAI, json(completion(made, 'stop')));
    expect((await client.messages.create({ ...ask, model: 'gpt' })).stop_reason).toBe('tool_use');
  });

  it('gets calls of a server that sends empty ids, each with an id of its own', async () => {
    const part = (name: string) => ({ id: '', type: 'function', function: { name, arguments: '{}' } });
    vendors.answers.set(OPENAI, json(completion({ tool_calls: [part('a'), part('b')] }, 'tool_calls')));
    const { content } = await client.messages.create({ ...ask, model: 'gpt' });
    expect(content).toMatchObject([
      { id: 'call_0', name: 'a' },
      { id: 'call_1', name: 'b' },
    ]);
    vendors.answers.set(OPENAI, events(chunk(call(0, part('a').function, '')), chunk({}, 'stop'), '[DONE]'));
    const streamed = await client.messages.stream({ ...ask, model: 'gpt' }).finalMessage();
    expect(streamed.content).toMatchObject([{ id: 'call_0', name: 'a' }]);
  });

  // https://ai.google.dev/gemini-api/docs/thought-signatures
  it("sends Gemini's signatures of calls back to Gemini, but not to other vendors", async () => {
    const extra_content = { google: { thought_signature: 'Ep+/AQ==' } };
    const made = { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{}' }, extra_content };
    vendors.answers.set(GEMINI, json(completion({ tool_calls: [made] }, 'stop')));
    const plain = await client.messages.create({ ...ask, model: 'gemini' });
    vendors.answers.set(GEMINI, events(chunk({ tool_calls: [{ index: 0, ...made }] }), chunk({}, 'stop'), '[DONE]'));
    const streamed = await client.messages.stream({ ...ask, model: 'gemini' }).finalMessage();
    vendors.take();
    for (const { content } of [plain, streamed]) {
      const [block] = content;
      const id = block?.type === 'tool_use' ? block.id : '';
      expect(id).toMatch(/^[\w-]+$/);
      const result = { type: 'tool_result' as const, tool_use_id: id, content: '3 °C' };
      const later = [
        ...ask.messages,
        { role: 'assistant' as const, content },
        { role: 'user' as const, content: [result] },
      ];
      vendors.answers.set(GEMINI, json(completion({ content: 'Hi!' }, 'stop')));
      await client.messages.create({ ...ask, model: 'gemini', messages: later });
      const sent = (calls: object) => [{}, { tool_calls: [calls] }, { role: 'tool', tool_call_id: 'c1' }];
      expect(asked().json['messages']).toMatchObject(sent(made));
      vendors.answers.set(OPENAI, json(completion({ content: 'Hi!' }, 'stop')));
      await client.messages.create({ ...ask, model: 'gpt', messages: later });
      const { extra_content: _signature, ...unsigned } = made;
      const { messages } = asked().json as { messages: object[] }; // the proxy sends messages
      expect(messages).toMatchObject(sent(unsigned));
      expect(JSON.stringify(messages)).not.toContain('extra_content');
    }
  });

  // https://docs.mistral.ai/capabilities/reasoning, https://docs.databricks.com/aws/en/machine-learning/model-serving/query-reason-models
  it.each([
    ['Mistral', { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }],
    ['Databricks', { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.', signature: '' }] }],
  ])('gets thinking and text from a content that is a list, as %s sends it', async (_vendor, thought) => {
    const expected = [
      { type: 'thinking', thinking: 'Hm.' },
      { type: 'text', text: 'Hi!' },
    ];
    const content = [thought, { type: 'text', text: 'Hi!' }, { type: 'reference', reference_ids: [1] }];
    for (const more of [{}, { reasoning_content: '', reasoning: '' }]) {
      vendors.answers.set(OPENAI, json(completion({ content, ...more }, 'stop')));
      expect((await client.messages.create({ ...ask, model: 'gpt' })).content).toMatchObject(expected);
    }
    const parts = [
      chunk({ content: [thought], reasoning_content: '' }),
      chunk({ content: 'Hi' }),
      chunk({ content: [{ type: 'text', text: '!' }] }),
    ];
    vendors.answers.set(OPENAI, events(...parts, chunk({ content: '' }, 'stop'), '[DONE]'));
    const streamed = await client.messages.stream({ ...ask, model: 'gpt' }).finalMessage();
    expect(streamed.content).toMatchObject(expected);
  });

  // LiteLLM's stream of Claude: https://docs.litellm.ai/docs/reasoning_content
  it('gets one block for each streamed thought whose parts have an empty signature before the last', async () => {
    const thought = (thinking: string, signature: string) =>
      chunk({ reasoning_content: thinking, thinking_blocks: [{ type: 'thinking', thinking, signature }] });
    const parts = [
      thought('Let', ''),
      thought(' me', ''),
      thought('', 'EqQB'),
      thought('Next', ''),
      thought('', 'EqQC'),
    ];
    vendors.answers.set(OPENAI, events(...parts, chunk({ content: 'Hi!' }), chunk({}, 'stop'), '[DONE]'));
    const { content } = await client.messages.stream({ ...ask, model: 'gpt' }).finalMessage();
    expect(content).toEqual([
      { type: 'thinking', thinking: 'Let me', signature: 'EqQB' },
      { type: 'thinking', thinking: 'Next', signature: 'EqQC' },
      { type: 'text', text: 'Hi!' },
    ]);
  });

  it('sends no empty list of stop sequences, which OpenAI rejects', async () => {
    vendors.answers.set(OPENAI, json(completion({ content: 'Hi!' }, 'stop')));
    await client.messages.create({ ...ask, model: 'gpt', stop_sequences: [] });
    expect(asked().json).not.toHaveProperty('stop');
  });

  it('gets the stop sequence from servers that report it', async () => {
    vendors.answers.set(OPENAI, json(completion({ content: 'a' }, 'stop', { stop_reason: 'END' })));
    const answer = await client.messages.create({ ...ask, model: 'gpt' });
    expect(answer).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
  });

  it.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [404, 'not_found_error'],
    [429, 'rate_limit_error'],
    [503, 'api_error'],
  ])("gets an error with status %i in Anthropic's form: %s", async (status, type) => {
    vendors.answers.set(OPENAI, json({ error: { message: 'in their words', type: 'x', code: 'y' } }, status));
    const error = await errorOf(client.messages.create({ ...ask, model: 'gpt' }));
    expect(error.status).toBe(status);
    expect(bodyOf(error)).toMatchObject({
      type: 'error',
      error: { type, message: expect.stringContaining('words') as unknown },
    });
  });

  it.each([
    ['an error with status 200', json({ error: { message: 'busy', code: 503 } }), 503],
    ['an error as the first event', events('{"error":{"message":"busy","code":429}}'), 429],
    ['an object without choices', json({ hello: 1 }), 502],
    ['an answer without any choice', json({ choices: [] }), 502],
    [
      'a call whose arguments are no object',
      json(completion({ tool_calls: [{ id: 'a', function: { name: 'x', arguments: '[' } }] }, 'tool_calls')),
      502,
    ],
    ['a text instead of an answer', json('<html>'), 502],
    ['an event that is not JSON', events('<html>'), 502],
    ['a call without a name', events(chunk(call(0, { arguments: '{}' }, 'a'))), 502],
    [
      'parts of calls in turn',
      events(
        chunk(call(0, { name: 'a' }, 'a')) +
          '\n\ndata: ' +
          chunk(call(1, { name: 'b' }, 'b')) +
          '\n\ndata: ' +
          chunk(call(0, { arguments: '{}' })),
      ),
      502,
    ],
    ['a stream without an event', events(), 500],
  ])('gets an error with the right status for %s', async (what, answering, status) => {
    vendors.answers.set(OPENAI, answering);
    const stream = what.includes('event') || what.includes('parts') || what.includes('without a name');
    const error = await errorOf(client.messages.create({ ...ask, model: 'gpt', stream }));
    expect([error.status, bodyOf(error)]).toEqual([status, expect.objectContaining({ type: 'error' })]);
  });

  it('gets an error event if a stream breaks off', async () => {
    vendors.answers.set(OPENAI, events(...toolStream.slice(0, 6)));
    const error = await errorOf(client.messages.stream({ ...ask, model: 'gpt' }).finalMessage());
    expect(error.type).toBe('api_error');
    expect(error.message).toContain('the stream ended before the answer had finished');
  });

  it.each([
    ['a tool of Anthropic', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools'],
    ['an unknown block', { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] }, 'hologram'],
    [
      'a file of Anthropic',
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
      'file',
    ],
    ...[{ toString: 1, valueOf: 1 }, 'x', -1].map((budget): [string, object, string] => [
      `a budget of ${JSON.stringify(budget)}`,
      { thinking: { type: 'enabled', budget_tokens: budget } },
      'thinking',
    ]),
    ['MCP servers', { mcp_servers: [{ type: 'url', url: 'https://x' }] }, 'mcp_servers'],
  ])('gets 400 for %s, and nothing goes upstream', async (_what, more, text) => {
    const error = await errorOf(client.post('/v1/messages', { body: { ...ask, model: 'gpt', ...more } }));
    expect([error.status, error.message]).toEqual([400, expect.stringContaining(text)]);
    expect(vendors.take()).toEqual([]);
  });

  it('gets an estimate of the tokens even if the name of a tool call is an object instead of a text', async () => {
    const call = { type: 'tool_use', id: 'a', name: { toString: 1, valueOf: 1 }, input: 1 };
    const body = { model: 'gpt', messages: [{ role: 'assistant', content: [call] }] };
    const answer: unknown = await client.post('/v1/messages/count_tokens', { body });
    expect(answer).toEqual({ input_tokens: expect.any(Number) });
  });

  it('gets an estimate of the tokens, and nothing goes upstream', async () => {
    const text = 'The quick brown fox jumps over the lazy dog. ';
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: text.repeat(20) }] }];
    const { input_tokens: tokens } = await client.messages.countTokens({ model: 'gpt', messages });
    // OpenAI's tokenizer o200k_base has 201 tokens for the text.
    expect(tokens).toBeGreaterThan(190);
    expect(tokens).toBeLessThan(230);
    const image = {
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'i'.repeat(9999) },
    };
    const more = await client.messages.countTokens({
      model: 'gpt',
      messages: [...messages, { role: 'user', content: [image] }],
    });
    expect(more.input_tokens - tokens).toBeLessThan(1100);
    expect(vendors.take()).toEqual([]);
  });
});
