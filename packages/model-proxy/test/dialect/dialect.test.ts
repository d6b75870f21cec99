import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import {
  json,
  serveApp,
  type AnswerHandler,
  type UpstreamRequest,
  type ServedApp,
  type ServeOptions,
} from '../support/app.js';
import { digestOf, inventedProvider } from './invented-provider/provider.js';

const KEY = 'sk-upstream-0123456789';
const MODEL = 'orator/9 b';

let served: ServedApp | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

/** Starts a proxy in front of a server with the invented API. The server rejects a wrong key or signature with 401. */
async function start(answering: AnswerHandler, { deployment, ...more }: ServeOptions = {}): Promise<ServedApp> {
  served = await serveApp({ ...more, deployment: { provider: inventedProvider, upstreamModel: MODEL, ...deployment } });
  served.answering = (request, response) => {
    if (request.headers['x-parley-key'] === KEY && isSigned(request)) answering(request, response);
    else json({ trouble: { kind: 'stranger', words: 'who are you?' } }, 401)(request, response);
  };
  return served;
}

function isSigned({ url, headers, body }: UpstreamRequest): boolean {
  return headers['x-parley-digest'] === digestOf(KEY, url, body);
}

const chat = { model: 'public', messages: [{ role: 'user', content: 'hello' }] };

async function post(path: string, body: object | string, { url }: ServedApp) {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

/** Returns a handler that sends a stream in pieces. It writes each piece only after the piece before is written. */
const inPieces =
  (type: string, bytes: Buffer, size: number): AnswerHandler =>
  (_asked, response) => {
    response.writeHead(200, { 'content-type': type });
    void writeSlowly(response, bytes, size);
  };

async function writeSlowly(response: ServerResponse, bytes: Buffer, size: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += size) {
    await new Promise((written) => response.write(bytes.subarray(at, at + size), written));
  }
  response.end();
}

const chatEvents = 'event: said\ndata: Good\n\n: wait\n\nevent: said\ndata: day 雪\n\nevent: over\ndata: {}\n\n';
const sse = (text: string, size = 7) => inPieces('text/event-stream', Buffer.from(text), size);
const eventsOf = (text: string): unknown[] =>
  text
    .split('\n\n')
    .filter((event) => event !== '' && event !== 'data: [DONE]')
    .map((event) => JSON.parse(event.replace(/^data: /, '')) as unknown);

describe("the proxy with a provider whose API is not OpenAI's", () => {
  it('translates a chat request and its answer', async () => {
    const proxy = await start(json({ says: 'Good day' }), {
      deployment: {
        defaults: { max_tokens: 9 },
        extraBody: { mood: 'kind' },
        modelInfo: { input_cost_per_token: 1, output_cost_per_token: 10 },
      },
    });
    const answer = await post(
      '/v1/chat/completions',
      `{"model":"public","seed":12345678901234567890,"messages":${JSON.stringify(chat.messages)}}`,
      proxy,
    );
    expect(proxy.requests.map(({ method, url, body }) => ({ method, url, body: body.toString() }))).toEqual([
      {
        method: 'POST',
        url: '/v1/talk/orator%2F9%20b',
        body: '{"lines":[{"who":"user","says":"hello"}],"limit":9,"dice":12345678901234567890,"mood":"kind"}',
      },
    ]);
    expect({ ...answer, headers: answer.headers.get('content-type') }).toEqual({
      status: 200,
      headers: 'application/json',
      text: JSON.stringify({
        id: 'parley',
        object: 'chat.completion',
        model: `parley/${MODEL}`,
        choices: [{ index: 0, message: { role: 'assistant', content: 'Good day' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      }),
    });
    expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(answer.text)));
  });

  it("gives OpenAI's client an answer, a stream and an error", async () => {
    const proxy = await start((request, response) => {
      if (request.body.includes('shout'))
        json({ trouble: { kind: 'loud', words: 'not so loud', about: 'lines' } }, 422)(request, response);
      else if (request.url.endsWith('?live=events')) sse(chatEvents)(request, response);
      else json({ says: 'Good day' })(request, response);
    });
    const client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
    const messages = [{ role: 'user', content: 'hello' }] as const;
    const whole = await client.chat.completions.create({ model: 'public', messages: [...messages] });
    expect(whole.choices[0]?.message.content).toBe('Good day');
    let text = '';
    for await (const chunk of await client.chat.completions.create({
      model: 'public',
      messages: [...messages],
      stream: true,
    }))
      text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('Goodday 雪');
    await expect(
      client.chat.completions.create({ model: 'public', messages: [{ role: 'user', content: 'shout' }] }),
    ).rejects.toMatchObject({ status: 422, code: 'loud', param: 'lines', type: 'parley' });
  });

  it.each([1, 2, 5, 1000])('translates a stream that arrives in pieces of %i bytes', async (size) => {
    const proxy = await start(sse(chatEvents, size));
    const answer = await post('/v1/chat/completions', { ...chat, stream: true }, proxy);
    expect(proxy.requests[0]?.url).toBe('/v1/talk/orator%2F9%20b?live=events');
    expect({ status: answer.status, type: answer.headers.get('content-type') }).toEqual({
      status: 200,
      type: 'text/event-stream',
    });
    expect(answer.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(eventsOf(answer.text)).toMatchObject([
      { model: `parley/${MODEL}`, choices: [{ delta: { content: 'Good' } }] },
      { model: `parley/${MODEL}`, choices: [{ delta: { content: 'day 雪' } }] },
      { choices: [{ finish_reason: 'stop' }], usage: { total_tokens: 5 } },
    ]);
  });

  it.each([1, 3, 1000])('translates a stream of binary frames that arrives in pieces of %i bytes', async (size) => {
    const frames = Buffer.concat(
      ['Good', 'day 雪', ''].map((text) => {
        const bytes = Buffer.from(text);
        const frame = Buffer.alloc(4 + bytes.length);
        frame.writeUInt32BE(bytes.length);
        bytes.copy(frame, 4);
        return frame;
      }),
    );
    const proxy = await start(inPieces('application/x-parley-frames', frames, size));
    const answer = await post('/v1/completions', { model: 'public', prompt: 'x', stream: true }, proxy);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(eventsOf(answer.text)).toMatchObject([{ choices: [{ text: 'Good' }] }, { choices: [{ text: 'day 雪' }] }]);
  });

  it("forwards a request with only the model changed if the provider's endpoint has OpenAI's form", async () => {
    const body = '{ "object":"list", "model":"m",  "data":[] }';
    const proxy = await start(json(body), { settings: { modelNameInResponse: 'upstream' } });
    const answer = await post('/v1/embeddings', '{"model":"public",  "input":"x"}', proxy);
    expect(proxy.requests.map(({ url, body: bytes }) => [url, bytes.toString()])).toEqual([
      ['/v1/embeddings', `{"model":"${MODEL}",  "input":"x"}`],
    ]);
    expect(answer.text).toBe(body);
  });

  it('rejects a request to an endpoint that the provider does not have', async () => {
    const proxy = await start(json({}));
    const answer = await post('/v1/moderations', { model: 'public', input: 'x' }, proxy);
    expect({ status: answer.status, ...(JSON.parse(answer.text) as object) }).toMatchObject({
      status: 400,
      error: { message: "/moderations: the provider 'parley' does not have this endpoint.", param: 'model' },
    });
    expect(proxy.requests).toEqual([]);
  });

  it('rejects parameters that the provider does not support, and drops them with drop_params', async () => {
    const body = { ...chat, temperature: 1 };
    const strict = await start(json({ says: 'x' }));
    expect((await post('/v1/chat/completions', body, strict)).text).toContain(
      "parley does not support parameters: ['temperature']",
    );
    await strict.close();
    const lenient = await start(json({ says: 'x' }), { deployment: { dropParams: true } });
    expect((await post('/v1/chat/completions', body, lenient)).status).toBe(200);
  });

  it('translates an error with its status, and masks the key in it', async () => {
    const proxy = await start(
      json({ trouble: { kind: 'tired', words: `enough of ${KEY}` } }, 429, { 'retry-after': '7' }),
    );
    const answer = await post('/v1/chat/completions', chat, proxy);
    expect({
      status: answer.status,
      after: answer.headers.get('retry-after'),
      ...(JSON.parse(answer.text) as object),
    }).toEqual({
      status: 429,
      after: '7',
      error: {
        message:
          'litellm.RateLimitError: RateLimitError: ParleyException - enough of ****. Received Model Group=public\n' +
          'Available Model Group Fallbacks=None',
        type: 'parley',
        param: null,
        code: 'tired',
      },
    });
  });

  it('reports the status and the text of an HTML page that a load balancer sends', async () => {
    const proxy = await start((_asked, response) => response.writeHead(502).end('<title>Bad gateway</title>'));
    const answer = await post('/v1/chat/completions', chat, proxy);
    expect({ status: answer.status, text: answer.text }).toMatchObject({
      status: 502,
      text: expect.stringContaining('Bad gateway'),
    });
  });

  it.each([
    ['an error with status 200', json({ trouble: { kind: 'k', words: 'no luck' } }), 500, 'no luck'],
    ['an object of another form', json({ hello: 1 }), 502, 'does not have the form of its API'],
    ['a list', json([]), 502, 'does not have the form of its API'],
    ['null', json('null'), 502, 'does not have the form of its API'],
    ['a text', json('hello'), 502, 'a body that is not JSON: hello'],
    ['nothing', json(''), 502, 'an empty body'],
    ['half of an answer', json('{"says": "a'), 502, 'a body that is not JSON'],
  ])('answers with an error if the provider sends %s', async (_what, answering, status, words) => {
    const proxy = await start(answering);
    const answer = await post('/v1/chat/completions', chat, proxy);
    expect({ status: answer.status, text: answer.text }).toEqual({ status, text: expect.stringContaining(words) });
  });

  it('answers 502 if an answer is larger than the limit', async () => {
    const proxy = await start(json({ says: 'x'.repeat(2000) }), { settings: { maxResponseBytes: 1000 } });
    expect((await post('/v1/chat/completions', chat, proxy)).status).toBe(502);
  });

  it('answers with the status of an error that arrives before the first event of a stream', async () => {
    const proxy = await start(sse('event: trouble\ndata: {"trouble":{"kind":"busy","words":"come back"}}\n\n'));
    const answer = await post('/v1/chat/completions', { ...chat, stream: true }, proxy);
    expect({ status: answer.status, ...(JSON.parse(answer.text) as object) }).toMatchObject({
      status: 529,
      error: { code: 'busy' },
    });
  });

  it.each([
    ['an error event', 'event: trouble\ndata: {"trouble":{"kind":"busy","words":"come back"}}\n\n', 'come back'],
    ['the end of the connection', '', 'the stream ended before the answer had finished'],
  ])('ends a stream with an error event after %s', async (_what, rest, words) => {
    const proxy = await start(sse(`event: said\ndata: Good\n\n${rest}`, 1000));
    const answer = await post('/v1/chat/completions', { ...chat, stream: true }, proxy);
    const [first, last, ...more] = eventsOf(answer.text);
    expect({ status: answer.status, first, last, more }).toMatchObject({
      status: 200,
      first: { choices: [{ delta: { content: 'Good' } }] },
      last: { error: { message: expect.stringContaining(words) } },
      more: [],
    });
    expect(answer.text).not.toContain('[DONE]');
  });

  it('ends a stream with an error event after an event that it cannot parse', async () => {
    let goOn = (): void => undefined;
    const proxy = await start((_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: said\ndata: Good\n\n');
      goOn = () => void response.write('event: trouble\ndata: }\n\n');
    });
    const answer = await fetch(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ ...chat, stream: true }),
    });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain('Good');
    goOn();
    expect((await reader?.read())?.value).toContain('does not have the form of its API');
    expect((await reader?.read())?.done).toBe(true);
  });

  it('answers 500 if a stream ends without an event', async () => {
    const proxy = await start(sse('', 1000));
    expect((await post('/v1/chat/completions', { ...chat, stream: true }, proxy)).status).toBe(500);
  });

  it('closes the connection to the upstream when the client disconnects during a stream', async () => {
    let ended: Promise<unknown> | undefined;
    const proxy = await start((request, response) => {
      ended = once(request.request.socket, 'close');
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: said\ndata: Good\n\n');
    });
    const leave = new AbortController();
    const answer = await fetch(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ ...chat, stream: true }),
      signal: leave.signal,
    });
    await answer.body?.getReader().read();
    leave.abort();
    await ended;
  });
});
