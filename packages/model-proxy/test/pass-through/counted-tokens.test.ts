/** The tokens of raw requests and WebSockets, which count for the limits and the budget of their key. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { WebSocket } from 'ws';
import { call, open } from '../harness/call.js';
import { passTime, stopTime } from '../harness/stopped-time.js';
import { waitFor } from '../harness/wait.js';
import { useRawProxy } from './fixture.js';
import { RAW_KEY } from './raw-upstream.js';

const MASTER = 'sk-master-0123456789';
const fixture = useRawProxy({
  config: ({ apiBase, caFile, folder }) => `
model_list:
  - model_name: gemini
    litellm_params: {model: gemini/gemini-upstream, api_base: "${apiBase}", api_key: ${RAW_KEY}, use_in_pass_through: true}
    model_info: {input_cost_per_token: 0.001, output_cost_per_token: 0.002}
  - model_name: oss
    litellm_params: {model: hosted_vllm/oss-upstream, api_base: "${apiBase}", api_key: ${RAW_KEY}, use_in_pass_through: true}
    model_info: {input_cost_per_token: 0.001, output_cost_per_token: 0.002, input_cost_per_audio_token: 0.1, cache_read_input_token_cost: 0.00001}
litellm_settings:
  ssl_verify: ${caFile}
general_settings:
  master_key: ${MASTER}
  store: ${folder}/store
`,
});

const asMaster = async (method: string, path: string, body?: object) => {
  const headers = { authorization: `Bearer ${MASTER}` };
  return (await call(fixture().proxy.url + path, { method, headers, ...(body === undefined ? {} : { body }) })).json();
};

async function createKey(settings: object = {}): Promise<string> {
  const made = (await asMaster('POST', '/key/generate', settings)) as { readonly key: string }; // as LiteLLM answers
  return made.key;
}

/** Waits until a key has spent something. @returns its spend. */
const spendOf = (key: string) =>
  waitFor(
    async () => {
      const { info } = (await asMaster('GET', `/key/info?key=${key}`)) as { readonly info: { readonly spend: number } };
      return info.spend > 0 ? Number(info.spend.toFixed(9)) : undefined;
    },
    () => 'the key has spent nothing',
  );

const ask = (key: string, path: string, body: object = { model: 'oss', messages: [] }) =>
  call(fixture().proxy.url + path, { headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'gzip' }, body });

/** Sends a request to vLLM, and leaves when the answer has come so far. */
async function leave(key: string, path: string, body: object, isReached: (text: string) => boolean): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await open(`${fixture().proxy.url}/vllm/v1/${path}`, {
    headers,
    body: { model: 'oss-upstream', ...body },
  });
  await waitFor(
    () => (isReached(answer.text) ? true : undefined),
    () => `only this has come: ${answer.text}`,
  );
  answer.leave();
}

const answerWith = (answer: (response: ServerResponse) => void) => {
  fixture().upstream.intercept = (request, response) => {
    request.resume().on('end', () => answer(response));
    return true;
  };
};

describe('the tokens of a raw request', () => {
  it('count for the budget of its key', async () => {
    const key = await createKey({ max_budget: 0.05 });
    answerWith((response) => response.end(JSON.stringify({ usage: { prompt_tokens: 10, completion_tokens: 20 } })));
    expect((await ask(key, '/vllm/v1/chat/completions')).status).toBe(200);
    expect(fixture().upstream.last.headers['accept-encoding']).toBe('identity');
    expect(await spendOf(key)).toBe(0.05);
    expect((await ask(key, '/vllm/v1/chat/completions')).status).toBe(429);
  });

  it('count if the answer is a stream with a usage, and are estimated if it has none', async () => {
    const stream = (events: readonly object[]) => (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
      response.end('data: [DONE]\n\n');
    };
    const key = await createKey();
    answerWith(stream([{ usage: null }, { usage: { prompt_tokens: 1, completion_tokens: 3 } }]));
    await ask(key, '/vllm/v1/chat/completions');
    expect(await spendOf(key)).toBe(0.007);
    const other = await createKey();
    answerWith(stream([{ choices: [] }, { choices: [] }]));
    const body = { model: 'oss-upstream', messages: [], stream: true };
    await ask(other, '/vllm/v1/chat/completions', { ...body, model: 'oss' });
    // A quarter of the bytes of the request to the upstream, and one token for each event.
    expect(await spendOf(other)).toBe(Number((Math.ceil(JSON.stringify(body).length / 4) * 0.001 + 0.006).toFixed(9)));
  });

  it.each([
    // The first event of Anthropic's streams has the tokens of the request.
    ['messages', 0.002 + 0.02],
    ['responses', 1.008 + 0.02],
  ])(
    'are estimated if the client leaves a stream of /v1/%s, also if its first event has a usage',
    async (path, spend) => {
      const key = await createKey();
      answerWith((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"usage":{"input_tokens":2,"output_tokens":0}}\n\n');
        response.write('data: {"tools":[{"usage":{"total_tokens":0}}]}\n\n'.repeat(9));
      });
      await leave(key, path, { input: 'x'.repeat(3997) }, (text) => text.split('tools').length === 10);
      expect(await spendOf(key)).toBe(spend);
    },
  );

  it("count in Gemini's own form, which the client cannot leave out", async () => {
    const key = await createKey();
    answerWith((response) =>
      response.end('{"candidates":[],"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3}}'),
    );
    const query = '?fields=candidates&%24alt=proto&alt=sse';
    const headers = { authorization: `Bearer ${key}`, 'x-goog-fieldmask': 'candidates' };
    await call(`${fixture().proxy.url}/gemini/v1beta/models/m:generateContent${query}`, { headers, body: {} });
    const { url, headers: sent } = fixture().upstream.last;
    expect([url.replace(/^.*[?]/, ''), sent['x-goog-fieldmask']]).toEqual(['alt=sse', undefined]);
    expect(await spendOf(key)).toBe(0.003);
  });

  it('are estimated if the client leaves an answer that is no stream', async () => {
    const key = await createKey();
    answerWith((response) => response.writeHead(200, { 'content-type': 'application/json' }).write(' '.repeat(4000)));
    await leave(key, 'chat/completions', {}, ({ length }) => length === 4000);
    expect(await spendOf(key)).toBe(0.006 + 2);
  });

  it('are estimated if an answer that is no stream breaks off', async () => {
    const key = await createKey();
    answerWith((response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 9000 });
      response.write(' '.repeat(4000), () => response.destroy());
    });
    const broken = await open(`${fixture().proxy.url}/vllm/v1/chat/completions`, {
      headers: { authorization: `Bearer ${key}` },
      body: { model: 'oss-upstream' },
    });
    await broken.ended;
    expect(await spendOf(key)).toBe(0.006 + 2);
  });

  it('are those of the report if the client leaves a stream after its last event', async () => {
    const key = await createKey();
    answerWith((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\ndata: [DONE]\n\n');
    });
    await leave(key, 'chat/completions', { picture: 'x'.repeat(4000) }, (text) => text.includes('[DONE]'));
    expect(await spendOf(key)).toBe(0.003);
  });

  it('have the last usage, so a schema of the client that the upstream sends back changes nothing', async () => {
    const key = await createKey();
    const fake = { total_tokens: 1, input_tokens_details: { cached_tokens: 1e9 } };
    const usage = { input_tokens: 100, output_tokens: 1, total_tokens: 101 };
    answerWith((response) => response.end(JSON.stringify({ tools: [{ parameters: { usage: fake } }], usage })));
    await ask(key, '/vllm/v1/responses');
    expect(await spendOf(key)).toBe(0.102);
  });

  it("count at vLLM's endpoint for several chats", async () => {
    const key = await createKey();
    answerWith((response) => response.end('{"usage":{"prompt_tokens":10}}'));
    await ask(key, '/vllm/v1/chat/completions/batch');
    expect(await spendOf(key)).toBe(0.01);
  });

  it.each(['application/x-protobuf', 'application/json+protobuf'])(
    "cannot be hidden by a request to Gemini's API with the type %s",
    async (type) => {
      const headers = { authorization: `Bearer ${MASTER}`, 'content-type': type };
      const path = '/gemini/$rpc/google.ai.generativelanguage.v1beta.GenerativeService/GenerateContent';
      const answer = await call(fixture().proxy.url + path, { headers, body: 'x' });
      expect([answer.status, fixture().upstream.seen]).toEqual([415, []]);
    },
  );

  it('do not count again when a client reads or cancels a stored answer', async () => {
    const key = await createKey();
    answerWith((response) => response.end('{"usage":{"prompt_tokens":10}}'));
    await call(`${fixture().proxy.url}/vllm/v1/x`, { method: 'GET', headers: { authorization: `Bearer ${key}` } });
    for (const path of [
      'responses/a/cancel',
      'batches/a/cancel',
      'batches',
      'chat/completions/chatcmpl-a',
      'threads/a/runs/b',
    ])
      await ask(key, `/vllm/v1/${path}`);
    await ask(key, '/vllm/v1/chat/completions');
    expect(await spendOf(key)).toBe(0.01);
  });
});

/** Opens a WebSocket. The upstream sends all messages back. */
async function openRealtime(key: string): Promise<WebSocket> {
  const options = { headers: { authorization: `Bearer ${key}` } };
  const socket = new WebSocket(`ws://127.0.0.1:${fixture().proxy.port}/v1/realtime?model=oss`, options);
  await once(socket, 'open');
  return socket;
}

describe('the tokens of a WebSocket', () => {
  it('are the sum of its responses, each with its own prices', async () => {
    const key = await createKey();
    const response = (text: number, audio: number) => ({
      type: 'response.done',
      response: {
        usage: {
          total_tokens: text + audio + 1,
          input_tokens: text + audio,
          output_tokens: 1,
          input_token_details: { text_tokens: text, audio_tokens: audio },
        },
        metadata: { usage: 'x' },
      },
    });
    const socket = await openRealtime(key);
    expect([socket.extensions, fixture().upstream.last.headers['sec-websocket-extensions']]).toEqual(['', undefined]);
    for (const message of [{ type: 'session.updated', usage: null }, response(4, 2), response(1, 3)]) {
      socket.send(JSON.stringify(message));
      await once(socket, 'message');
    }
    socket.close();
    await once(socket, 'close');
    expect(await spendOf(key)).toBe(0.005 + 0.5 + 0.004);
  });

  it('are estimated if a side closes it before the usage of an answer arrives', async () => {
    const key = await createKey();
    const socket = await openRealtime(key);
    const delta = { type: 'response.output_text.delta', delta: 'a' };
    const created = { type: 'response.created', response: { instructions: 'x.delta', metadata: { type: 'x.delta' } } };
    // A client can cause the contents of the second and the third message.
    for (const message of [
      delta,
      created,
      { type: 'session.updated', tools: [{ usage: { total_tokens: 1 } }] },
      delta,
      delta,
    ]) {
      socket.send(JSON.stringify(message));
      await once(socket, 'message');
    }
    socket.terminate();
    expect(await spendOf(key)).toBe(0.006);
  });
});

describe('an open WebSocket', () => {
  stopTime();
  /** Longer than the proxy waits between two checks of the open WebSockets. */
  const CHECKED_MS = 6000;
  const answer = JSON.stringify({
    type: 'response.done',
    response: { usage: { total_tokens: 10, input_tokens: 4, output_tokens: 6 } },
  });
  const usageOf = async (key: string) => {
    const rows = (await asMaster('GET', '/spend/logs?summarize=false')) as readonly Record<string, unknown>[]; // a list
    return rows.filter(({ api_key: digest }) => digest === createHash('sha256').update(key).digest('hex'));
  };
  const exchange = async (socket: WebSocket, message: string): Promise<void> => {
    socket.send(message);
    await once(socket, 'message');
  };

  it('counts its answers while it is open, once each, also for tpm_limit', async () => {
    const key = await createKey({ tpm_limit: 20 });
    const socket = await openRealtime(key);
    for (const spend of [0.016, 0.032]) {
      await exchange(socket, answer);
      await passTime(CHECKED_MS);
      expect(await spendOf(key)).toBe(spend);
    }
    const refused = await ask(key, '/v1/chat/completions');
    expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('tokens')]);
    await exchange(socket, answer);
    socket.close();
    await once(socket, 'close');
    await waitFor(
      async () => ((await spendOf(key)) === 0.048 ? true : undefined),
      () => 'the last answer has no cost',
    );
    const counted = { requests: 1, prompt_tokens: 12, completion_tokens: 18, total_tokens: 30 };
    expect(await usageOf(key)).toEqual([expect.objectContaining(counted)]);
  });

  it('is closed with 1008 soon after its answers have spent the budget of its key', async () => {
    const key = await createKey({ max_budget: 0.03 });
    const socket = await openRealtime(key);
    const ended = once(socket, 'close');
    await exchange(socket, answer);
    await passTime(CHECKED_MS);
    expect(socket.readyState).toBe(WebSocket.OPEN);
    await exchange(socket, answer);
    await passTime(CHECKED_MS);
    expect((await ended).map(String)).toEqual(['1008', 'the client may no longer use the proxy']);
    expect(await spendOf(key)).toBe(0.032);
  });
});
