import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { call } from '../../test/harness/call.js';
import { deploymentAt, json, serveApp, settingsOf, type ServedApp } from '../../test/support/app.js';
import type { ProxySettings } from '../settings.js';

/** Key of the upstream; see test/support/app. */
const KEY = 'sk-upstream-0123456789';
let served: ServedApp;
beforeAll(async () => {
  served = await serveApp();
});
afterAll(() => served.close());
afterEach(() => {
  served.requests.length = 0;
});

const question = { model: 'public', messages: [{ role: 'user', content: 'Hi' }] };
const ask = (body: object = question, headers: Readonly<Record<string, string>> = {}) =>
  call(`${served.url}/v1/chat/completions`, { body, headers });
/** Runs a test with changed settings, and then restores the defaults. */
async function withSettings(changed: Partial<ProxySettings>, test: () => Promise<void>): Promise<void> {
  const apiBase = `http://127.0.0.1:${served.upstreamPort}/v1`;
  served.replaceSettings(settingsOf([deploymentAt(apiBase)], changed));
  try {
    await test();
  } finally {
    served.replaceSettings(settingsOf([deploymentAt(apiBase)]));
  }
}

describe('a chat request', () => {
  it("goes upstream with the upstream's model and key, and forwards only the request id of the client's headers", async () => {
    served.answering = json({ model: 'served/model' });
    await ask(question, {
      authorization: 'Bearer of-the-client',
      cookie: 'a=b',
      'x-custom': '1',
      'x-request-id': 'mine.1',
    });
    const [asked] = served.requests;
    expect([asked?.method, asked?.url, asked?.body.toString()]).toEqual([
      'POST',
      '/v1/chat/completions',
      JSON.stringify({ ...question, model: 'served/model' }),
    ]);
    expect(asked?.headers).toEqual({
      host: `127.0.0.1:${served.upstreamPort}`,
      accept: 'application/json, text/event-stream, */*;q=0.5',
      'accept-encoding': 'identity',
      authorization: 'Bearer sk-upstream-0123456789',
      connection: 'keep-alive',
      'content-length': String(asked?.body.length),
      'content-type': 'application/json',
      'user-agent': 'rackless-model-proxy/9.9.9',
      'x-request-id': 'mine.1',
    });
  });

  it("has an answer with unchanged bytes, except for the provider's prefix of the model", async () => {
    const answer = '{ "id":"é\\u00e9", "new_field" : [1, 2.50] ,"model": "served/model","choices":[]} \n';
    served.answering = json(answer);
    const { status, body, headers } = await ask();
    expect([status, body.toString()]).toEqual([200, answer.replace('"served/model"', '"hosted_vllm/served/model"')]);
    expect(headers['content-length']).toBe(String(body.length));
    expect(headers['content-type']).toBe('application/json');
  });

  describe('with a large answer', () => {
    const limit = 300_000;
    const tooLarge = (megabytes: string) => ({
      error: {
        message:
          `Response size is too large. Response size is ${megabytes} MB or more. Max size is 0.286 MB: ` +
          'general_settings.max_response_size_mb.',
        type: 'internal_server_error',
        param: null,
        code: '502',
      },
    });
    const answerOf = (bytes: number) => `{"id":"${'x'.repeat(bytes - 9)}"}`;

    it('gets the answer if it has exactly the maximum size', () =>
      withSettings({ maxResponseBytes: limit }, async () => {
        served.answering = json(answerOf(limit));
        expect((await ask()).body).toHaveLength(limit);
      }));

    it.each(['announced', 'in chunks'])('gets a 502 for a larger answer (%s), and the upstream request ends', (how) =>
      withSettings({ maxResponseBytes: limit }, async () => {
        const ended = new Promise<boolean>((resolve) => {
          served.answering = (_asked, response) => {
            response.on('error', () => undefined).on('close', () => resolve(response.writableFinished));
            const length = how === 'announced' ? { 'content-length': '400000' } : {};
            response.writeHead(200, { 'content-type': 'application/json', ...length });
            // This answer never ends.
            response.write(how === 'announced' ? '{' : answerOf(limit + 1));
          };
        });
        const answer = await ask();
        expect([answer.status, answer.json()]).toEqual([502, tooLarge(how === 'announced' ? '0.381' : '0.286')]);
        expect(await ended).toBe(false);
        expect(served.lines().at(-1)).toMatchObject({ level: 'warn', message: 'a request could not be served' });
      }),
    );

    it('gets a stream or audio completely, even if it exceeds the maximum size', () =>
      withSettings({ maxResponseBytes: 1000 }, async () => {
        for (const [type, text] of [
          ['text/event-stream', `data: {"choices":[],"x":"${'y'.repeat(5000)}"}\n\ndata: [DONE]\n\n`],
          ['audio/mpeg', 'y'.repeat(5000)],
        ] as const) {
          served.answering = (_asked, response) => {
            response.writeHead(200, { 'content-type': type });
            response.end(text);
          };
          expect((await ask()).text).toBe(text);
        }
      }));
  });

  it('has an answer without a second prefix if the upstream sends the prefix itself', async () => {
    served.answering = json({ model: 'hosted_vllm/served/model' });
    expect((await ask()).json()).toEqual({ model: 'hosted_vllm/served/model' });
  });

  it.each([
    ['upstream', 'served/model'],
    ['requested', 'public'],
    ['provider', 'hosted_vllm/served/model'],
  ] as const)('with model_name_in_response %s has the model %s in its answer', (modelNameInResponse, model) =>
    withSettings({ modelNameInResponse }, async () => {
      served.answering = json({ id: 'a', model: 'served/model' });
      expect((await ask()).json()).toEqual({ id: 'a', model });
    }),
  );

  it('gets the missing nullable fields with fill_null_fields', () =>
    withSettings({ fillNullFields: true }, async () => {
      served.answering = json({ choices: [{ message: { content: 'x' } }], usage: { total_tokens: 1 } });
      expect((await ask()).json()).toEqual({
        choices: [{ message: { content: 'x', tool_calls: null, function_call: null } }],
        usage: { total_tokens: 1, prompt_tokens_details: null, completion_tokens_details: null },
        system_fingerprint: null,
        service_tier: null,
        prompt_logprobs: null,
      });
    }));

  it('is forwarded unchanged except for the model, in both directions, even with several megabytes', () =>
    withSettings({ maxRequestBytes: 10_000_000 }, async () => {
      const content = 'é"\\'.repeat(1_000_000);
      served.answering = (asked, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(asked.body);
      };
      const body = { ...question, messages: [{ role: 'user', content }] };
      expect((await ask(body)).json()).toEqual({ ...body, model: 'hosted_vllm/served/model' });
    }));

  it('goes to the model in the path, even if the body names another one', async () => {
    served.answering = json({ model: 'served/model' });
    const path = '/openai/deployments/public/chat/completions?api-version=2024-02-01';
    const { messages } = question;
    expect((await call(`${served.url}${path}`, { body: { messages } })).status).toBe(200);
    expect((await call(`${served.url}${path}`, { body: { messages, model: 'other' } })).status).toBe(200);
    expect(served.requests.map(({ url, body }) => [url, JSON.parse(body.toString()) as unknown])).toEqual([
      ['/v1/chat/completions', { messages, model: 'served/model' }],
      ['/v1/chat/completions', { messages, model: 'served/model' }],
    ]);
  });
});

describe('the endpoints', () => {
  it.each([
    ['/v1/completions', { prompt: 'Hi' }, '/v1/completions'],
    ['/embeddings', { input: 'Hi' }, '/v1/embeddings'],
    ['/v1/responses', { input: 'Hi' }, '/v1/responses'],
    ['/v1/rerank', { query: 'q', documents: ['d'] }, '/v1/rerank'],
    ['/v2/rerank', { query: 'q', documents: ['d'] }, '/v1/rerank'],
    ['/v1/moderations', { input: 'Hi' }, '/v1/moderations'],
    ['/v1/images/generations', { prompt: 'Hi' }, '/v1/images/generations'],
    ['/v1/classify', { input: 'Hi' }, '/classify'],
    ['/pooling', { input: 'Hi' }, '/pooling'],
    ['/v1/tokenize', { prompt: 'Hi' }, '/tokenize'],
    ['/detokenize', { tokens: [1] }, '/detokenize'],
    ['//v1//score/', { text_1: 'a', text_2: 'b', reasoning_effort: 'unknown here' }, '/v1/score'],
  ])(
    'forward a request for %s with its parameters to the path of the upstream',
    async (path, parameters, upstreamPath) => {
      served.answering = json({ model: 'served/model' });
      const { status, text } = await call(`${served.url}${path}`, { body: { model: 'public', ...parameters } });
      expect([status, text]).toEqual([200, '{"model":"hosted_vllm/served/model"}']);
      const [asked] = served.requests;
      expect([asked?.url, JSON.parse(asked?.body.toString() ?? '')]).toEqual([
        upstreamPath,
        { ...parameters, model: 'served/model' },
      ]);
    },
  );

  it.each([
    '/v1/load_lora_adapter',
    '/v1/unload_lora_adapter',
    '/v1/sleep',
    '/sleep',
    '/wake_up',
    '/reset_prefix_cache',
    '/collective_rpc',
    '/engines/public/sleep',
    '/openai/deployments/public/sleep',
  ])('answer 404 if they are neither implemented nor configured: %s', async (path) => {
    const body = { model: 'public', lora_name: 'x', lora_path: '/' };
    const { status } = await call(`${served.url}${path}`, { body });
    expect([status, served.requests]).toEqual([404, []]);
  });

  it('are served if forwarded_paths contains them', async () => {
    served.replaceSettings(
      settingsOf([deploymentAt(`http://127.0.0.1:${served.upstreamPort}/v1`)], { forwardedPaths: new Set(['ocr']) }),
    );
    served.answering = json({ model: 'served/model' });
    const ask = (path: string) => call(`${served.url}${path}`, { body: { model: 'public', document: 'x' } });
    expect([(await ask('/v1/ocr')).status, (await ask('/v1/sleep')).status]).toEqual([200, 404]);
    expect(served.requests.map(({ url }) => url)).toEqual(['/v1/ocr']);
    const { routes } = (await call(`${served.url}/routes`, { method: 'GET' })).json() as { routes: { path: string }[] };
    expect(routes.map(({ path }) => path)).toContain('/v1/ocr');
  });

  it('forward audio and its headers unchanged', async () => {
    const audio = Buffer.from([0, 1, 2, 253, 254, 255]);
    served.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-disposition': 'attachment', 'x-extra': '1' });
      response.end(audio);
    };
    const { status, headers, body } = await call(`${served.url}/v1/audio/speech`, {
      body: { model: 'public', input: 'Hi' },
    });
    expect([status, headers['content-type'], headers['content-disposition'], headers['llm_provider-x-extra']]).toEqual([
      200,
      'audio/mpeg',
      'attachment',
      '1',
    ]);
    expect(body).toEqual(audio);
  });

  it.each([
    ['{"model":"served/model"}', 'application/json', '{"model":"hosted_vllm/served/model"}'],
    [
      'data: {"model":"served/model"}\n\ndata: [DONE]\n\n',
      'text/event-stream',
      'data: {"model":"hosted_vllm/served/model"}\n\ndata: [DONE]\n\n',
    ],
  ])('recognize JSON and event streams without a content type: %j', async (text, type, expected) => {
    served.answering = (_asked, response) => {
      response.writeHead(200);
      response.end(text);
    };
    const answer = await ask();
    expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([200, type, expected]);
  });

  it.each([
    ['/v1/chat/completions', 'text/html', '<html><title>Sign in</title></html>', 'a body that is not JSON: Sign in'],
    ['/v1/chat/completions', 'text/plain', 'upstream connect error', 'a body that is not JSON: upstream connect error'],
    ['/v1/chat/completions', undefined, 'ok', 'a body that is not JSON: ok'],
    ['/v1/chat/completions', undefined, '', 'an empty body'],
    ['/v1/chat/completions', 'application/json', '', 'an empty body'],
    ['/v1/chat/completions', 'application/json', '<html></html>', 'a body that is not JSON'],
    ['/v1/embeddings', 'application/json', '{"data":[', 'a body that is not JSON: {"data":['],
    ['/v1/embeddings', 'application/json', ' \n ', 'a body that is not JSON'],
    ['/v1/embeddings', 'application/json', 'not json', 'a body that is not JSON: not json'],
    ['/v1/chat/completions', 'application/json', 'true story', 'a body that is not JSON: true story'],
    ['/v1/chat/completions', 'application/json', '429 Too Many', 'a body that is not JSON: 429 Too Many'],
    ['/v1/chat/completions', 'application/json', '"half', 'a body that is not JSON: "half'],
    ['/v1/chat/completions', 'application/json', '{upstream down}', 'a body that is not JSON: {upstream down}'],
    ['/v1/chat/completions', 'application/json', '{"choices":}', 'a body that is not JSON: {"choices":}'],
    ['/v1/chat/completions', 'application/json', '{"a":"\\"NaN}', 'a body that is not JSON'],
    ['/v1/embeddings', 'application/json', '[oops]', 'a body that is not JSON: [oops]'],
    ['/v1/embeddings', 'text/html', ' ', 'a body that is not JSON'],
  ])('at %s answer 502 if the upstream answers 200, type %s, with %j', async (path, type, text, why) => {
    served.answering = (_asked, response) => {
      response.writeHead(200, {
        'content-length': text.length,
        ...(type === undefined ? {} : { 'content-type': type }),
      });
      response.end(text);
    };
    const body = { model: 'public', messages: [], input: 'Hi' };
    const answer = await call(`${served.url}${path}`, { body });
    const { error } = answer.json() as { error: { message: string } };
    expect([answer.status, error.message]).toEqual([
      502,
      expect.stringContaining(`the upstream answered 200 with ${why}`),
    ]);
  });

  it.each([
    ['/v1/chat/completions', 'text/plain', '{"model":"served/model"}', '{"model":"hosted_vllm/served/model"}'],
    ['/v1/embeddings', 'application/octet-stream', 'bytes', 'bytes'],
    ['/v1/rerank', 'application/json', ' []\n', ' []\n'],
    ['/v1/rerank', 'application/json', '\ufeff{"model":"served/model"}', '{"model":"hosted_vllm/served/model"}'],
    ['/v1/rerank', 'application/json', '{"NaN":[NaN,-Infinity,"\\"NaN"]}', '{"NaN":[NaN,-Infinity,"\\"NaN"]}'],
    ['/v1/audio/speech', undefined, 'sound', 'sound'],
    ['/v1/audio/speech', 'text/plain', '', ''],
  ])('at %s forward an answer with type %s and %j', async (path, type, text, expected) => {
    served.answering = (_asked, response) => {
      response.writeHead(200, type === undefined ? {} : { 'content-type': type });
      response.end(text);
    };
    const body = { model: 'public', messages: [], input: 'Hi', query: 'Hi' };
    const answer = await call(`${served.url}${path}`, { body });
    expect([answer.status, answer.text]).toEqual([200, expected]);
  });

  it.each([{}, { 'content-type': 'application/octet-stream' }])(
    'send the error 502 if the upstream answers 204 with the headers %j to a request for embeddings',
    async (sent) => {
      served.answering = (_asked, response) => void response.writeHead(204, sent).end();
      const { status, text } = await call(`${served.url}/v1/embeddings`, { body: { model: 'public', input: 'Hi' } });
      expect([status, text]).toEqual([502, expect.stringContaining('the upstream answered 204 with an empty body')]);
    },
  );

  it.each([{}, { 'content-type': 'text/plain', 'content-length': '3' }])(
    'forward the answer 204 to a request for speech, without a length, if the upstream sends the headers %j',
    async (sent) => {
      served.answering = (_asked, response) => void response.writeHead(204, sent).end();
      const body = { model: 'public', input: 'Hi' };
      const { status, text, headers } = await call(`${served.url}/v1/audio/speech`, { body });
      expect([status, text.length, headers['content-length']]).toEqual([204, 0, undefined]);
    },
  );
});

describe('the headers of an answer', () => {
  it("contain LiteLLM's headers, and the upstream's as llm_provider-…, except cookies and empty ones", async () => {
    served.answering = json({ model: 'served/model' }, 200, {
      'set-cookie': 'a=b',
      'x-request-id': 'of-the-upstream',
      'x-ratelimit-remaining-requests': '9',
      server: 'uvicorn',
      'openai-version': '',
    });
    const { headers } = await ask(question, { 'x-request-id': 'mine.1', 'x-litellm-call-id': 'call-1' });
    const { date, ...rest } = headers;
    const milliseconds = expect.stringMatching(/^\d+(\.\d{1,3})?$/) as unknown;
    expect(Number.isNaN(Date.parse(date ?? ''))).toBe(false);
    expect(rest).toEqual({
      connection: 'close',
      'content-length': '36',
      'content-type': 'application/json',
      'llm_provider-server': 'uvicorn',
      'llm_provider-x-ratelimit-remaining-requests': '9',
      'llm_provider-x-request-id': 'of-the-upstream',
      'x-litellm-attempted-fallbacks': '0',
      'x-litellm-attempted-retries': '0',
      'x-litellm-call-id': 'call-1',
      'x-litellm-max-fallbacks': '0',
      'x-litellm-model-api-base': `http://127.0.0.1:${served.upstreamPort}/v1`,
      'x-litellm-model-group': 'public',
      'x-litellm-model-id': 'deployment-1',
      'x-litellm-overhead-duration-ms': milliseconds,
      'x-litellm-response-duration-ms': milliseconds,
      'x-litellm-version': '9.9.9',
      'x-ratelimit-remaining-requests': '9',
      'x-request-id': 'mine.1',
    });
  });

  it('contain a new id if the client sent an unsafe one', async () => {
    const { headers } = await ask(question, { 'x-request-id': 'no "id" <script>' });
    expect(headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
    expect(headers['x-litellm-call-id']).toBe(headers['x-request-id']);
    expect(served.requests[0]?.headers['x-request-id']).toBe(headers['x-request-id']);
  });

  it('are also in errors', async () => {
    served.answering = json({ error: { message: 'slow down' } }, 429, {
      'retry-after': '7',
      'x-ratelimit-limit-requests': '1',
    });
    const { status, headers } = await ask();
    expect([
      status,
      headers['retry-after'],
      headers['x-litellm-model-id'],
      headers['x-ratelimit-limit-requests'],
      headers['llm_provider-retry-after'],
    ]).toEqual([429, '7', 'deployment-1', '1', '7']);
  });
});

describe('a key that the upstream repeats', () => {
  it.each(['application/json', 'text/event-stream', 'audio/mpeg'])('is masked in the headers of %s', async (type) => {
    served.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': type, 'x-echo': `Bearer ${KEY}`, 'x-ratelimit-key': KEY });
      response.end(
        type === 'text/event-stream' ? 'data: {"choices":[]}\n\ndata: [DONE]\n\n' : '{"model":"served/model"}',
      );
    };
    const { status, headers } = await ask();
    expect(JSON.stringify(headers)).not.toContain(KEY);
    expect([status, headers['llm_provider-x-echo'], headers['x-ratelimit-key']]).toEqual([200, 'Bearer ****', '****']);
  });

  it('is masked in a content type', async () => {
    served.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': `audio/mpeg; key=${KEY}` }).end('sound');
    };
    expect((await ask()).headers['content-type']).toBe('audio/mpeg; key=****');
  });
});

describe('an error that never ends', () => {
  it('reaches the client with its beginning, and the connection to the upstream closes', async () => {
    let closed: Promise<unknown> | undefined;
    served.answering = ({ request }, response) => {
      response.writeHead(503, { 'content-type': 'text/plain' });
      const write = () => void response.write('overloaded '.repeat(10_000));
      response.on('drain', write);
      closed = new Promise((resolve) => request.socket.once('close', resolve));
      write();
    };
    const { status, text } = await ask();
    expect([status, text.includes('overloaded overloaded')]).toEqual([503, true]);
    await closed;
  });
});

describe("the client's headers", () => {
  it('go upstream if configured: anthropic-beta and x-…, except headers for keys, LiteLLM, SDKs, method, usage', () =>
    withSettings({ forwardClientHeaders: true }, async () => {
      await ask(question, {
        'x-custom': '1',
        'anthropic-beta': 'b',
        'x-api-key': 'secret',
        'x-auth-token': 'secret',
        'x-litellm-timeout': '1',
        'x-stainless-os': 'Linux',
        'x-request-id': 'mine',
        'x-http-method-override': 'GET',
        'x-goog-fieldmask': 'choices',
        authorization: 'Bearer secret',
        'api-key': 'secret',
        'user-agent': 'curl',
        'other-header': '1',
      });
      expect(served.requests[0]?.headers).toEqual({
        host: `127.0.0.1:${served.upstreamPort}`,
        accept: 'application/json, text/event-stream, */*;q=0.5',
        'accept-encoding': 'identity',
        authorization: 'Bearer sk-upstream-0123456789',
        'anthropic-beta': 'b',
        connection: 'keep-alive',
        'content-length': String(served.requests[0]?.body.length),
        'content-type': 'application/json',
        'user-agent': 'rackless-model-proxy/9.9.9',
        'x-custom': '1',
        'x-request-id': 'mine',
      });
    }));
});

describe('a failure of the upstream', () => {
  it.each([
    [400, 'BadRequestError'],
    [401, 'AuthenticationError'],
    [404, 'NotFoundError'],
    [429, 'RateLimitError'],
    [500, 'InternalServerError'],
    [503, 'ServiceUnavailableError'],
  ])('with %d becomes %s', async (status, name) => {
    served.answering = json({ error: { message: 'because', type: 'some_error', param: null, code: status } }, status);
    const answer = await ask();
    expect(answer.status).toBe(status);
    expect(answer.json()).toEqual({
      error: {
        message: expect.stringMatching(new RegExp(`^litellm\\.${name}: .*because`)) as unknown,
        type: expect.any(String) as unknown,
        param: null,
        code: String(status),
      },
    });
  });

  it('in the middle of JSON causes a 500 in JSON', async () => {
    served.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{"model":', () => response.destroy());
    };
    const answer = await ask();
    expect([answer.status, answer.json()]).toEqual([500, { error: expect.objectContaining({ code: '500' }) }]);
  });

  it.each([
    [{ error: { message: 'because', code: 429 } }, 429, 'RateLimitError'],
    [{ error: { message: 'because', code: 'overloaded' } }, 500, 'InternalServerError'],
    [{ error: 'because' }, 500, 'InternalServerError'],
    [{ object: 'error', message: 'because', code: 400 }, 400, 'BadRequestError'],
  ])('with %j and status 200 gets status %d', async (value, status, name) => {
    served.answering = json(value);
    const answer = await ask();
    expect([answer.status, answer.headers['x-litellm-model-id']]).toEqual([status, 'deployment-1']);
    expect(answer.text).toMatch(new RegExp(`^\\{"error":\\{"message":"litellm\\.${name}: .*because`));
  });

  it.each([
    '{"id":"r","object":"response","error":{"code":"server_error"}}',
    '{"error":null,"id":"r"}',
    '{"choices":[],"error":{"message":"of one choice"}}',
    '["error"]',
  ])('is not assumed for %s', async (text) => {
    served.answering = json(text);
    const answer = await ask();
    expect([answer.status, answer.text]).toEqual([200, text]);
  });

  it.each([
    ['{"model":"served/model","choices":[', 500],
    ['{"model":"served/model"}\n', 200],
    ['[]', 200],
    ['null', 200],
  ])('is assumed only if the connection ends within JSON: after %s, the status is %d', async (text, status) => {
    served.answering = (_asked, response) => {
      // The upstream sends neither a length nor chunks, as in HTTP/1.0: only the connection's end ends the answer.
      response.useChunkedEncodingByDefault = false;
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
      response.end(text);
    };
    const answer = await ask();
    expect(answer.status).toBe(status);
    if (status === 500) expect(answer.text).toContain('the answer ended in the middle of its JSON');
  });

  it('in the middle of audio ends the connection, so that the client sees an incomplete answer', async () => {
    served.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' });
      response.write('sound', () => response.destroy());
    };
    await expect(ask()).rejects.toThrow('the answer is incomplete: sound');
  });
});

describe('a reload', () => {
  it('does not change requests in flight', async () => {
    let finish: (() => void) | undefined;
    const reached = new Promise<void>((resolve) => {
      served.answering = (_asked, response) => {
        finish = () => json({ model: 'served/model' })(_asked, response);
        resolve();
      };
    });
    const before = ask();
    await reached;
    await withSettings({ modelNameInResponse: 'requested' }, async () => {
      finish?.();
      expect((await before).json()).toEqual({ model: 'hosted_vllm/served/model' });
      served.answering = json({ model: 'served/model' });
      expect((await ask()).json()).toEqual({ model: 'public' });
    });
  });
});
