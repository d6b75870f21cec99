/**
 * Tests the official `openai` SDK against a complete proxy and an upstream whose certificate is from a
 * private CA.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import OpenAI, {
  APIConnectionTimeoutError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  toFile,
  UnprocessableEntityError,
} from 'openai';
import { done, event, type Step } from '../harness/script.js';
import { ANSWERED_MODEL, PUBLIC_MODEL, sampleConfig, startTestProxy, type TestProxy } from '../harness/proxy.js';
import { REAL_TURNS } from '../harness/stopped-time.js';
import { TestUpstream } from '../harness/upstream.js';

type ChatRequest = OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming;
const messages: ChatRequest['messages'] = [{ role: 'user', content: 'three small words' }];
const chat: ChatRequest = { model: PUBLIC_MODEL, messages };
const asIs = (error: unknown) => error;
const SAID = 'You said: three small words';

/** Makes a request with a script for the upstream. The SDK also sends unknown parameters. */
function scripted(...script: readonly Step[]): ChatRequest {
  return { ...chat, script } as ChatRequest;
}

/** Makes a request that the upstream rejects like OpenAI's service. */
function refusal(status: number, error: object, headers: Readonly<Record<string, string>> = {}): ChatRequest {
  return scripted(
    { head: status, headers: { 'content-type': 'application/json', ...headers } },
    { write: JSON.stringify({ error }) },
    { end: true },
  );
}

/**
 * Wraps Node's fetch so that its errors belong to jest's realm. The SDK recognizes an abort by the
 * name of an Error, and a DOMException of Node's realm is not `instanceof Error` here.
 */
const fetchHere: typeof fetch = (input, init) =>
  fetch(input, init).catch((error: unknown) => {
    const { name, message } = error as Error; // here, fetch rejects only with an Error
    throw Object.assign(new Error(message, { cause: error }), { name });
  });

describe('the openai SDK', () => {
  let upstream: TestUpstream;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    upstream = await TestUpstream.start({ tokenMs: 1 });
    proxy = await startTestProxy(sampleConfig(upstream, { settings: ['drop_params: true'] }));
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'anything', maxRetries: 0, fetch: fetchHere });
  });
  afterEach(() => upstream.forget());
  afterAll(async () => {
    await proxy.close();
    await upstream.close();
  });

  const failure = (request: ChatRequest): Promise<unknown> =>
    client.chat.completions.create(request).then(
      () => 'no failure',
      (error: unknown) => error,
    );

  it('completes a chat', async () => {
    const completion = await client.chat.completions.create(chat);
    expect(completion).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      created: expect.any(Number),
      model: ANSWERED_MODEL,
      object: 'chat.completion',
      system_fingerprint: null,
      choices: [
        {
          finish_reason: 'stop',
          index: 0,
          message: { role: 'assistant', content: SAID, tool_calls: null, function_call: null },
        },
      ],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 5,
        total_tokens: 8,
        prompt_tokens_details: null,
        completion_tokens_details: null,
      },
      service_tier: null,
      prompt_logprobs: null,
    });
  });

  it('gets headers and a request id with the answer', async () => {
    const { data, response } = await client.chat.completions.create(chat).withResponse();
    expect(data.choices[0]?.message.content).toBe(SAID);
    expect(response.headers.get('x-litellm-model-group')).toBe(PUBLIC_MODEL);
    expect(response.headers.get('x-litellm-call-id')).toMatch(/^[\da-f-]{36}$/);
  });

  it('streams a chat, with the requested usage', async () => {
    const stream = await client.chat.completions.create({
      ...chat,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(SAID);
    expect(new Set(chunks.map(({ model }) => model))).toEqual(new Set([ANSWERED_MODEL]));
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 });
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
  });

  it('gets unknown fields of a stream, also after a comment', async () => {
    const stream = await client.chat.completions.create({
      ...scripted(
        { write: ': KEEP-ALIVE\n\n' },
        event(
          '{"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"reasoning":"hm…"}}]}',
        ),
        event(
          '{"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"yes"}}]}',
        ),
        done,
        { end: true },
      ),
      stream: true,
    });
    const deltas = [];
    for await (const chunk of stream) deltas.push(chunk.choices[0]?.delta);
    expect(deltas).toEqual([{ reasoning: 'hm…' }, { content: 'yes' }]);
  });

  it('assembles a stream with its helper', async () => {
    const runner = client.chat.completions.stream({ model: PUBLIC_MODEL, messages });
    expect((await runner.finalChatCompletion()).choices[0]?.message.content).toBe(SAID);
  });

  it('lets the model call a tool and answer with its result, plain and streamed', async () => {
    const weather: { city: string }[] = [];
    const tools = [
      {
        type: 'function' as const,
        function: {
          name: 'get_weather',
          description: 'Weather of a city',
          parameters: { type: 'object' as const, properties: { city: { type: 'string', enum: ['Oslo', 'Rome'] } } },
          parse: JSON.parse as (text: string) => { city: string }, // a call follows the schema above
          function: (query: { city: string }) => {
            weather.push(query);
            return 'rain, as ever';
          },
        },
      },
    ];
    const plain = client.chat.completions.runTools({ ...chat, tools });
    expect(await plain.finalContent()).toBe('You said: rain, as ever');
    const streamed = client.chat.completions.runTools({ ...chat, tools, stream: true });
    expect(await streamed.finalContent()).toBe('You said: rain, as ever');
    expect(weather).toEqual([{ city: 'Oslo' }, { city: 'Oslo' }]);
  });

  it('completes a text, plain and streamed', async () => {
    const request = { model: PUBLIC_MODEL, prompt: 'three small words', max_tokens: 4, temperature: 0 };
    const completion = await client.completions.create(request);
    expect(completion.choices[0]).toMatchObject({
      text: 'You said: three small',
      finish_reason: 'length',
      stop_reason: null,
    });
    let text = '';
    for await (const chunk of await client.completions.create({ ...request, stream: true })) {
      text += chunk.choices[0]?.text ?? '';
    }
    expect(text).toBe('You said: three small');
  });

  it('embeds texts, as numbers and as base64', async () => {
    const request = { model: PUBLIC_MODEL, input: ['one', 'two words'] };
    const embedded = [
      [3, 1, 0.5],
      [9, 2, 0.5],
    ];
    // The SDK requests base64 by default, and decodes it.
    const base64 = await client.embeddings.create(request);
    expect(upstream.last.json).toMatchObject({ encoding_format: 'base64' });
    expect(base64.data.map(({ embedding }) => embedding)).toEqual(embedded);
    expect(base64.model).toBe(ANSWERED_MODEL);
    const numbers = await client.embeddings.create({ ...request, encoding_format: 'float' });
    expect(numbers.data.map(({ embedding }) => embedding)).toEqual(embedded);
  });

  it('lists models and retrieves one', async () => {
    const models = [];
    for await (const model of client.models.list()) models.push(model);
    expect(models).toEqual([
      { id: PUBLIC_MODEL, object: 'model', created: expect.any(Number), owned_by: expect.any(String) },
    ]);
    expect(await client.models.retrieve(PUBLIC_MODEL)).toMatchObject({ id: PUBLIC_MODEL, object: 'model' });
    await expect(client.models.retrieve('nobody')).rejects.toBeInstanceOf(NotFoundError);
  });

  it('creates responses, plain and streamed', async () => {
    const request = { model: PUBLIC_MODEL, input: 'three small words' };
    const response = await client.responses.create(request);
    expect([response.output_text, response.model]).toEqual([SAID, ANSWERED_MODEL]);
    const events = [];
    for await (const item of await client.responses.create({ ...request, stream: true })) events.push(item);
    expect(events[0]).toMatchObject({ type: 'response.created', response: { model: ANSWERED_MODEL } });
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { model: ANSWERED_MODEL } });
    expect(events.flatMap((item) => (item.type === 'response.output_text.delta' ? [item.delta] : [])).join('')).toBe(
      SAID,
    );
  });

  it('moderates a text', async () => {
    const moderation = await client.moderations.create({ model: PUBLIC_MODEL, input: 'harmless' });
    expect([moderation.results[0]?.flagged, moderation.model]).toEqual([false, ANSWERED_MODEL]);
  });

  it('transcribes a file, byte for byte', async () => {
    const bytes = Buffer.alloc(300_000, 'RIFF\r\n--');
    const file = await toFile(bytes, 'speech.wav');
    const { text } = await client.audio.transcriptions.create({ model: PUBLIC_MODEL, file });
    expect(text).toBe(`You sent ${upstream.last.body?.length ?? 0} bytes.`);
    expect(upstream.last.body?.includes(bytes)).toBe(true);
    expect(upstream.last.url).toBe('/v1/audio/transcriptions');
  });

  it('throws the matching exception for 400, 401, 403, 404, 422, 429, 500 and 503', async () => {
    const code = 'context_length_exceeded';
    expect(
      await failure(refusal(400, { message: 'too long', type: 'invalid_request_error', param: 'messages', code })),
    ).toEqual(expect.objectContaining({ constructor: BadRequestError, status: 400, code, param: 'messages' }));
    for (const [status, exception] of [
      [401, AuthenticationError],
      [403, PermissionDeniedError],
      [404, NotFoundError],
      [422, UnprocessableEntityError],
      [429, RateLimitError],
      [500, InternalServerError],
      [503, InternalServerError],
    ] as const) {
      const error = await failure(refusal(status, { message: 'because', type: 't', param: null, code: null }));
      expect(error).toBeInstanceOf(exception);
      expect(error).toMatchObject({ status, message: expect.stringContaining('because') });
    }
  });

  it('gets the available models in the error for an unknown model', async () => {
    const error = await failure({ ...chat, model: 'nobody' });
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/Invalid model name.*nobody.*public-model/s),
      type: 'invalid_request_error',
    });
  });

  it('gets Retry-After, and retries the request', async () => {
    const limited = refusal(429, { message: 'slow down' }, { 'retry-after': '17', 'retry-after-ms': '3' });
    const error = await failure(limited);
    expect(error).toBeInstanceOf(RateLimitError);
    expect((error as RateLimitError).headers.get('retry-after')).toBe('17');
    upstream.forget();
    await expect(client.chat.completions.create(limited, { maxRetries: 2 })).rejects.toBeInstanceOf(RateLimitError);
    expect(upstream.received).toHaveLength(3);
  });

  it('throws its own timeout error, and the upstream request ends', async () => {
    // The SDK's timer is stopped until the upstream has the request.
    jest.useFakeTimers({ doNotFake: [...REAL_TURNS, 'setInterval', 'clearInterval', 'performance'] });
    try {
      const failed = client.chat.completions.create(scripted({ hang: true }), { timeout: 100 }).catch(asIs);
      const received = await upstream.waitForRequest(({ body }) => body !== undefined);
      jest.advanceTimersByTime(100);
      expect(await failed).toBeInstanceOf(APIConnectionTimeoutError);
      expect(await upstream.ended(received)).toBe('aborted');
    } finally {
      jest.useRealTimers();
    }
  });

  it('aborts before the first token, also at the upstream', async () => {
    const abort = new AbortController();
    const pendingAnswer = client.chat.completions.create(
      { ...scripted({ hang: true }), stream: true },
      { signal: abort.signal },
    );
    const received = await upstream.waitForRequest(({ body }) => body !== undefined);
    abort.abort();
    await expect(pendingAnswer).rejects.toBeInstanceOf(APIUserAbortError);
    expect(await upstream.ended(received)).toBe('aborted');
  });

  it('aborts a running stream, also at the upstream', async () => {
    const chunk =
      '{"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}';
    const stream = await client.chat.completions.create({ ...scripted(event(chunk), { hang: true }), stream: true });
    for await (const { choices } of stream) {
      expect(choices[0]?.delta.content).toBe('a');
      // The SDK aborts when its user leaves the loop.
      break;
    }
    expect(await upstream.ended(upstream.last)).toBe('aborted');
  });

  it('throws an error within a stream that breaks off', async () => {
    const chunk =
      '{"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}';
    const stream = await client.chat.completions.create({ ...scripted(event(chunk), { cut: 'reset' }), stream: true });
    const contents: unknown[] = [];
    const read = async () => {
      for await (const { choices } of stream) contents.push(choices[0]?.delta.content);
    };
    await expect(read()).rejects.toMatchObject({ constructor: OpenAI.APIError, code: expect.any(String) });
    expect(contents).toEqual(['a']);
  });

  it('throws an error for an HTML page of a gateway', async () => {
    const page = scripted(
      { head: 502, headers: { 'content-type': 'text/html' } },
      { write: '<h1>Bad Gateway</h1>' },
      { end: true },
    );
    expect(await failure(page)).toBeInstanceOf(InternalServerError);
  });

  // This test needs OpenAI's SDK for Python, which Debian 12 does not have. CI must not skip a test, so the test
  // exists only if RACKLESS_OPENAI_PYTHON is set. The variable names a Python with python3-openai of Debian 13, or
  // with the package of PyPI.
  const python = process.env['RACKLESS_OPENAI_PYTHON'];
  if (python !== undefined)
    it('for Python gets answers, streams, embeddings, models and errors', async () => {
      const script = fileURLToPath(new URL('openai_client.py', import.meta.url));
      const { stdout } = await promisify(execFile)(python, ['-B', script, `${proxy.url}/v1`, PUBLIC_MODEL]);
      expect(JSON.parse(stdout)).toEqual({
        answer: SAID,
        model: ANSWERED_MODEL,
        tokens: 8,
        stream: SAID,
        streamTokens: 8,
        completion: SAID,
        embeddings: [true, true],
        models: [PUBLIC_MODEL],
        error: { status: 400, code: '400', param: 'model' },
      });
    });
});
