/** Contract: responses, requests to several models, moderations without a model, and paths of deployments. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { createPassThrough } from '../../src/pass-through/index.js';
import { createUpstream } from '../../src/upstream/send.js';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { call } from '../harness/call.js';
import { useSetups } from '../routing/fixture.js';
import { json, serveApp, type ServedApp } from '../support/app.js';

describe('responses, requests to several models and moderations in the contract', () => {
  let served: ServedApp;
  const start = async (modelInfo: Readonly<Record<string, unknown>> = {}) => {
    const log = createTestLog({ level: 'error', format: 'json', write: () => undefined });
    // Only WebSockets use this upstream.
    const passThrough = createPassThrough({ upstream: createUpstream({ deployments: [], environment: {}, log }) });
    served = await serveApp({ app: { passThrough }, deployment: { modelInfo } });
  };
  afterEach(() => served.close());
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${served.url}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await answer.json()) as { id: string; model?: string }; // MP-115 gets a list, and reads no member
  };

  it('MP-83 /v1/responses/{id}, /cancel, /input_items: the upstream gets its own id of the response', async () => {
    await start();
    served.answering = json({ id: 'resp_1', object: 'response', model: 'served/model' });
    const { id } = await ask('POST', '/v1/responses', { model: 'public', input: 'hi' });
    expect(id).not.toBe('resp_1');
    expect(await ask('GET', `/v1/responses/${id}`)).toEqual({
      id,
      object: 'response',
      model: 'hosted_vllm/served/model',
    });
    await ask('DELETE', `/v1/responses/${id}`);
    await ask('POST', `/v1/responses/${id}/cancel`);
    await ask('GET', `/v1/responses/${id}/input_items`);
    expect(served.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /v1/responses',
      'GET /v1/responses/resp_1',
      'DELETE /v1/responses/resp_1',
      'POST /v1/responses/resp_1/cancel',
      'GET /v1/responses/resp_1/input_items',
    ]);
  });

  it('MP-161 POST /v1/responses, /v1/completions: go to the upstream unchanged except for model', async () => {
    await start();
    served.answering = json({ id: 'resp_1', object: 'response', model: 'served/model' });
    await ask('POST', '/v1/responses', { model: 'public', input: 'hi', unknown: [1, 2] });
    await ask('POST', '/v1/completions', { model: 'public', prompt: 'hi' });
    expect(served.requests.map(({ url, body }) => [url, JSON.parse(body.toString()) as unknown])).toEqual([
      ['/v1/responses', { model: 'served/model', input: 'hi', unknown: [1, 2] }],
      ['/v1/completions', { model: 'served/model', prompt: 'hi' }],
    ]);
  });

  it('MP-84 POST /v1/moderations without model: the configured model for moderation gets the request', async () => {
    await start({ mode: 'moderation' });
    await ask('POST', '/v1/moderations', { input: 'hi' });
    expect(JSON.parse(served.requests[0]?.body.toString() ?? '')).toEqual({ input: 'hi', model: 'served/model' });
  });

  it('MP-115 model with commas: the answer is a list with an answer or an error for each model', async () => {
    await start();
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }];
    served.answering = json({ id: 'x', object: 'chat.completion', model: 'served/model', choices });
    const body = { model: 'public,other', messages: [{ role: 'user', content: 'hi' }] };
    expect(await ask('POST', '/v1/chat/completions', body)).toMatchObject([
      { model: 'hosted_vllm/served/model', choices },
      { error: { code: '400' } },
    ]);
  });
});

describe('paths that a deployment does not serve, in the contract', () => {
  const setUp = useSetups();

  it.each([
    ['/v1/responses', 'anthropic/claude'],
    ['/v1/responses', 'bedrock/anthropic.claude'],
    ['/v1/completions', 'anthropic/claude'],
    ['/v1/completions', 'bedrock/anthropic.claude'],
  ])('MP-161 POST %s: %s lacks this path, so the client gets 400', async (path, model) => {
    const { proxy, upstreams } = await setUp([{ params: { model, aws_region_name: 'us-east-1' } }]);
    const body = { model: 'chat', input: 'hi', prompt: 'hi' };
    const { status, text } = await call(`${proxy.url}${path}`, { body });
    expect([status, text]).toEqual([400, expect.stringContaining('does not have this endpoint')]);
    expect(upstreams[0]?.count).toBe(0);
  });

  it('MP-162 /vllm/{path}: reaches a server with use_in_pass_through, and no other one', async () => {
    const ask = ({ url }: { readonly url: string }) =>
      call(`${url}/vllm/v1/load_lora_adapter`, { body: { model: 'chat', lora_name: 'x' } });
    const closed = await setUp([{}]);
    expect((await ask(closed.proxy)).status).toBe(400);
    expect(closed.upstreams[0]?.count).toBe(0);
    const open = await setUp([{ params: { use_in_pass_through: true } }]);
    expect((await ask(open.proxy)).status).toBe(200);
    expect(open.upstreams[0]?.requests[0]?.url).toBe('/v1/load_lora_adapter');
  });
});
