/** Contract: Anthropic's models and Anthropic's API. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { findProvider } from '../../src/providers/index.js';
import { failure, message } from '../providers/anthropic-samples.js';
import { json, serveApp, type ServedApp } from '../support/app.js';

const messages = [{ role: 'user', content: 'hi' }];

describe("Anthropic's API in the contract", () => {
  let served: ServedApp;
  const start = async (provider = 'anthropic') => {
    served = await serveApp({ deployment: { provider: findProvider(provider), upstreamModel: 'claude' } });
  };
  afterEach(() => served.close());
  const post = async (path: string, body: object, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`${served.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: answer.status, body: await answer.json() };
  };

  it("MP-80 Models of Anthropic: chat is translated from and to Anthropic's API", async () => {
    await start();
    served.answering = json(message([{ type: 'text', text: 'Hi!' }]));
    const answer = await post('/v1/chat/completions', { model: 'public', messages });
    expect(answer).toMatchObject({
      status: 200,
      body: { object: 'chat.completion', model: 'anthropic/claude', choices: [{ message: { content: 'Hi!' } }] },
    });
    expect(served.requests[0]?.url).toBe('/v1/messages');
    served.answering = json(failure('permission_error', 'no'), 403);
    expect(await post('/v1/chat/completions', { model: 'public', messages })).toMatchObject({
      status: 403,
      body: { error: { type: 'permission_error', code: '403' } },
    });
  });

  it("MP-81 POST /v1/messages: body, query, version and beta features go upstream, errors have Anthropic's shape", async () => {
    await start();
    served.answering = json(message([{ type: 'text', text: 'Hi!' }]));
    const headers = { 'anthropic-version': '2030-01-01', 'anthropic-beta': 'a-1' };
    const body = { model: 'public', max_tokens: 5, messages, future: { a: 1 } };
    expect((await post('/v1/messages?beta=true', body, headers)).status).toBe(200);
    expect(served.requests[0]?.url).toBe('/v1/messages?beta=true');
    expect(served.requests[0]?.headers).toMatchObject(headers);
    expect(JSON.parse(served.requests[0]?.body.toString() ?? '')).toEqual({ ...body, model: 'claude' });
    served.answering = json(failure('permission_error', 'no'), 403);
    expect(await post('/v1/messages', body)).toMatchObject({
      status: 403,
      body: { type: 'error', error: { type: 'permission_error' } },
    });
  });

  it("MP-82 POST /v1/messages at other providers: becomes a request for chat, and the answer has Anthropic's shape", async () => {
    await start('openai');
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }];
    served.answering = json({ id: 'x', object: 'chat.completion', model: 'claude', choices });
    const body = { model: 'public', max_tokens: 5, messages };
    expect(await post('/v1/messages?beta=true', body, { 'anthropic-beta': 'a-1' })).toMatchObject({
      status: 200,
      body: { type: 'message', model: 'openai/claude', content: [{ type: 'text', text: 'Hi!' }] },
    });
    expect(served.requests[0]?.url).toBe('/v1/chat/completions');
    expect(served.requests[0]?.headers).not.toHaveProperty('anthropic-beta');
    served.answering = json({ error: { message: 'no' } }, 403);
    expect(await post('/v1/messages', body)).toMatchObject({
      status: 403,
      body: { type: 'error', error: { type: 'permission_error' } },
    });
  });

  it.each(['hosted_vllm', 'ollama', 'lm_studio'])(
    'MP-82 POST /v1/messages at a model server that may lack the path becomes a request for chat: %s',
    async (provider) => {
      await start(provider);
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }];
      served.answering = json({ id: 'x', object: 'chat.completion', model: 'claude', choices });
      const answer = await post('/v1/messages', { model: 'public', max_tokens: 5, messages });
      expect(answer).toMatchObject({
        status: 200,
        body: { type: 'message', content: [{ type: 'text', text: 'Hi!' }] },
      });
      expect(served.requests[0]?.url).toBe('/v1/chat/completions');
    },
  );

  it('MP-82 POST /v1/messages: a stream without an answer becomes an error with a status', async () => {
    await start('openai');
    served.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('data: [DONE]\n\n');
    };
    expect(await post('/v1/messages', { model: 'public', max_tokens: 5, stream: true, messages })).toMatchObject({
      status: 500,
      body: {
        type: 'error',
        error: { message: expect.stringContaining('ended before the answer had finished') as unknown },
      },
    });
  });
});
