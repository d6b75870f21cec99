/**
 * Models of Anthropic. The client is OpenAI's SDK. The shapes of answers and errors are those of Anthropic's
 * reference.
 * @see https://platform.claude.com/docs/en/api/messages
 * @see https://platform.claude.com/docs/en/api/errors
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { APIError } from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { documentedStreams, eventsText, failure, message } from './anthropic-samples.js';
import { cleanUp, entry, json, Vendors, type VendorAnswer } from './vendors.js';

const HOST = 'api.anthropic.com';
const OTHER_HOST = 'gateway.example';
const KEY = 'sk-ant-0123456789';
const messages = [{ role: 'user' as const, content: 'hello' }];

/** Makes an answer that sends this text as a stream. */
const stream =
  (text: string): VendorAnswer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.end(text);
  };

describe('models of Anthropic, as OpenAI chat', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start([HOST, OTHER_HOST]);
    proxy = await vendors.proxy(
      [
        entry('claude', { model: 'anthropic/claude-opus-4-6' }),
        entry('claude-4', { model: 'claude-sonnet-4-20250514', api_key: KEY }),
        entry('other', { model: 'anthropic/m', api_base: `https://${OTHER_HOST}/anthropic`, api_key: KEY }),
        entry('complete', { model: 'anthropic/m', api_base: `https://${OTHER_HOST}/x/v1/messages`, api_key: KEY }),
      ],
      { ANTHROPIC_API_KEY: KEY },
    );
    const defaultHeaders = { 'x-litellm-num-retries': '0' };
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0, defaultHeaders });
  });
  cleanUp(() => ({ vendors, proxy }));

  const answerWith = (answer: VendorAnswer) => {
    vendors.answers.set(HOST, answer);
    vendors.answers.set(OTHER_HOST, answer);
  };
  const asked = () => vendors.firstRequest();

  it.each([
    ['claude', `https://${HOST}/v1/messages`],
    ['other', `https://${OTHER_HOST}/anthropic/v1/messages`],
    ['complete', `https://${OTHER_HOST}/x/v1/messages`],
  ])('get requests for %s at %s, with the key in x-api-key', async (model, url) => {
    answerWith(json(message([{ type: 'text', text: 'Hi!' }])));
    await client.chat.completions.create({ model, messages });
    const { line, headers } = asked();
    expect(line).toBe(`POST ${url}`);
    expect(headers).toMatchObject({ 'x-api-key': KEY, 'anthropic-version': '2023-06-01' });
    expect(headers).not.toHaveProperty('authorization');
  });

  it('answer with text, model name, finish reason, and usage with cached tokens', async () => {
    answerWith(json(message([{ type: 'text', text: 'Hi!' }])));
    const { data, response } = await client.chat.completions.create({ model: 'claude', messages }).withResponse();
    expect(data).toEqual({
      id: 'msg_013Zva2CMHLNnXjNJJKqJ2EF',
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'anthropic/claude-opus-4-6',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 2100,
        completion_tokens: 503,
        total_tokens: 2603,
        prompt_tokens_details: { cached_tokens: 3 },
        cache_creation_input_tokens: 2,
        cache_read_input_tokens: 3,
      },
    });
    expect(response.headers.get('x-litellm-model-api-base')).toBe(`https://${HOST}/v1`);
    expect(asked().json).toEqual({
      model: 'claude-opus-4-6',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
      max_tokens: 4096,
    });
  });

  it('call tools, and get their results', async () => {
    answerWith(
      json(
        message(
          [
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } },
          ],
          { stop_reason: 'tool_use' },
        ),
      ),
    );
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const tools = [
      { type: 'function' as const, function: { name: 'get_weather', description: 'Weather', parameters } },
    ];
    const first = await client.chat.completions.create({ model: 'claude', messages, tools, tool_choice: 'required' });
    expect(asked().json).toMatchObject({
      tools: [{ name: 'get_weather', description: 'Weather', input_schema: parameters }],
      tool_choice: { type: 'any' },
    });
    const [choice] = first.choices;
    if (choice === undefined) throw new Error('the answer has no choice');
    expect(choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: 'Let me look.',
        tool_calls: [
          { id: 'toolu_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
        ],
      },
    });
    await client.chat.completions.create({
      model: 'claude',
      tools,
      messages: [...messages, choice.message, { role: 'tool', tool_call_id: 'toolu_1', content: '3 °C' }],
    });
    expect(asked().json).toMatchObject({
      messages: [
        { role: 'user' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: '3 °C' }] }],
        },
      ],
    });
  });

  it('stream text, tool calls and usage', async () => {
    answerWith(stream(documentedStreams.text));
    let text = '';
    let total: number | undefined;
    for await (const { choices, usage, model } of await client.chat.completions.create({
      model: 'claude',
      messages,
      stream: true,
    })) {
      expect(model).toBe('anthropic/claude-opus-4-6');
      text += choices[0]?.delta.content ?? '';
      total = usage?.total_tokens ?? total;
    }
    expect([text, total]).toEqual(['Hello! 雪', 40]);
    expect(asked().json).toMatchObject({ stream: true });

    answerWith(stream(documentedStreams.tools));
    const runner = client.chat.completions.stream({ model: 'claude', messages });
    const { choices } = await runner.finalChatCompletion();
    expect(choices[0]?.finish_reason).toBe('tool_calls');
    expect(choices[0]?.message.tool_calls?.map(({ id, function: { name } }) => [id, name])).toEqual([
      ['toolu_01T1x1fJ34qAmk2tNTrN7Up6', 'get_weather'],
      ['toolu_02', 'get_time'],
    ]);
  });

  it('think with reasoning_effort, and get their thinking_blocks back', async () => {
    const thinking = { type: 'thinking', thinking: '27 * 453 …', signature: 'EqQB' };
    answerWith(json(message([thinking, { type: 'text', text: '12,231' }])));
    const { choices } = await client.chat.completions.create({ model: 'claude-4', messages, reasoning_effort: 'low' });
    expect(asked().json).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 5120 });
    const [choice] = choices;
    if (choice === undefined) throw new Error('the answer has no choice');
    expect(choice.message).toMatchObject({ reasoning_content: '27 * 453 …', thinking_blocks: [thinking] });
    await client.chat.completions.create({ model: 'claude', messages: [...messages, choice.message, ...messages] });
    expect(asked().json).toMatchObject({ messages: [{}, { content: [thinking, { text: '12,231' }] }, {}] });
    await client.chat.completions.create({ model: 'claude', messages, reasoning_effort: 'high' });
    expect(asked().json).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } });
  });

  it.each([
    [400, 'invalid_request_error', 'messages: at least one message is required', 'BadRequestError'],
    [400, 'invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum', 'ContextWindowExceededError'],
    [401, 'authentication_error', 'invalid x-api-key', 'AuthenticationError'],
    [404, 'not_found_error', 'model: claude-x', 'NotFoundError'],
    [413, 'request_too_large', 'Request exceeds the maximum size', 'APIError'],
    [429, 'rate_limit_error', 'This request would exceed your rate limit', 'RateLimitError'],
    [529, 'overloaded_error', 'Overloaded', 'APIError'],
  ])('report the error %i %s: %s', async (status, type, text, name) => {
    answerWith(json(failure(type, text), status, { 'retry-after': '6' }));
    const error: unknown = await client.chat.completions.create({ model: 'claude', messages }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status, type });
    expect(String(error)).toContain(`litellm.${name}`);
    expect(String(error)).toContain(`AnthropicException - ${text}`);
  });

  it('report an error at the beginning of a stream with its status', async () => {
    answerWith(stream(eventsText([failure('overloaded_error', 'Overloaded')])));
    await expect(client.chat.completions.create({ model: 'claude', messages, stream: true })).rejects.toMatchObject({
      status: 529,
      type: 'overloaded_error',
    });
  });

  it('report an error in the middle of a stream as its last event', async () => {
    const begun = documentedStreams.text.split('event: content_block_stop')[0] ?? '';
    answerWith(stream(begun + eventsText([failure('overloaded_error', 'Overloaded')])));
    let text = '';
    const reading = async () => {
      for await (const { choices } of await client.chat.completions.create({ model: 'claude', messages, stream: true }))
        text += choices[0]?.delta.content ?? '';
    };
    await expect(reading()).rejects.toThrow('Overloaded');
    expect(text).toBe('Hello! 雪');
  });

  it.each([
    ['an object of another form', json({ hello: 1 }), false],
    ['content that is a text', json(message([], { content: 'hi' })), false],
    ['a tool call without a name', json(message([{ type: 'tool_use', id: 'x' }])), false],
    ['tokens that are a text', json(message([], { usage: { input_tokens: 'many' } })), false],
    ['an event without a type', stream('data: {}\n\n'), true],
    ['an event that is not JSON', stream('event: message_start\ndata: <html>\n\n'), true],
  ])('cause a 502 if they answer with %s', async (_what, answering, streams) => {
    answerWith(answering);
    await expect(client.chat.completions.create({ model: 'claude', messages, stream: streams })).rejects.toMatchObject({
      status: 502,
    });
    answerWith(json(message([{ type: 'text', text: 'still alive' }])));
    const { choices } = await client.chat.completions.create({ model: 'claude', messages });
    expect(choices[0]?.message.content).toBe('still alive');
  });

  it('reject embeddings with 400, without a request to Anthropic', async () => {
    await expect(client.embeddings.create({ model: 'claude', input: 'x' })).rejects.toMatchObject({ status: 400 });
    expect(vendors.take()).toEqual([]);
  });
});
