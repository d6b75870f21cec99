/**
 * Models of Azure OpenAI and Azure AI. The client is OpenAI's SDK. The shapes of answers and errors are
 * those of Microsoft's reference.
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/reference
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { APIError, AzureOpenAI } from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { message } from './anthropic-samples.js';
import { cleanUp, entry, events, json, Vendors } from './vendors.js';

const OPENAI_HOST = 'res.openai.azure.com';
const FOUNDRY_HOST = 'res.services.ai.azure.com';
const GATEWAY_HOST = 'gateway.example';
const SERVERLESS_HOST = 'cohere.eastus.models.ai.azure.com';
const filters = { hate: { filtered: false, severity: 'safe' }, violence: { filtered: false, severity: 'safe' } };
const completion = {
  id: 'chatcmpl-7R1n',
  object: 'chat.completion',
  created: 1_686_676_106,
  model: 'gpt-4o-2024-08-06',
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: filters }],
  choices: [
    { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' }, content_filter_results: filters },
  ],
  usage: { prompt_tokens: 33, completion_tokens: 557, total_tokens: 590 },
};
const messages = [{ role: 'user' as const, content: 'hello' }];

describe('models of Azure', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start([OPENAI_HOST, FOUNDRY_HOST, SERVERLESS_HOST, GATEWAY_HOST]);
    const at = { api_base: `https://${OPENAI_HOST}/`, api_key: 'azure-key-0123456789' };
    const foundry = { api_base: `https://${FOUNDRY_HOST}`, api_key: 'foundry-key-0123456789' };
    proxy = await vendors.proxy([
      entry('dated', { ...at, model: 'azure/my deployment', api_version: '2024-10-21' }),
      entry('default', { ...at, model: 'azure/gpt-4o' }),
      entry('series', { ...at, model: 'azure/o_series/my-o3', api_version: '2024-10-21' }),
      entry('undated', { ...at, model: 'azure/gpt-5', api_version: 'preview' }),
      entry('copied', {
        ...at,
        model: 'azure/other',
        api_base: `https://${OPENAI_HOST}/openai/deployments/o1/chat/completions?api-version=2025-01-01-preview`,
      }),
      entry('any/*', { ...at, model: 'azure/*', api_version: '2024-10-21' }),
      entry('token', { model: 'azure/gpt-4o', api_base: at.api_base, azure_ad_token: 'ey.token-0123456789' }),
      entry('foundry', { ...foundry, model: 'azure_ai/Phi-4' }),
      entry('router', { ...foundry, model: 'azure_ai/model_router/my-router' }),
      entry('rerank', { ...foundry, model: 'azure_ai/cohere-rerank-v3.5' }),
      entry('rerank-v2', {
        ...foundry,
        model: 'azure_ai/cohere-rerank-v4.0-pro',
        api_base: `https://${FOUNDRY_HOST}/providers/cohere/v2`,
      }),
      entry('rerank-at-path', {
        ...foundry,
        model: 'azure_ai/cohere-rerank-v4.0-pro',
        api_base: `https://${FOUNDRY_HOST}/providers/cohere/v2/rerank`,
      }),
      entry('claude', { ...foundry, model: 'azure_ai/claude-opus-4-6' }),
      entry('claude-at-path', {
        model: 'azure_ai/claude-opus-4-6',
        api_base: `https://${FOUNDRY_HOST}/anthropic/v1/messages`,
        azure_ad_token: 'ey.token-0123456789',
      }),
      entry('gateway', {
        model: 'azure_ai/Phi-4',
        api_base: `https://${GATEWAY_HOST}/azure`,
        api_key: 'gateway-key-0123456789',
      }),
      entry('serverless', {
        model: 'azure_ai/command-r-plus',
        api_base: `https://${SERVERLESS_HOST}/v1/`,
        api_key: 'serverless-key-0123456789',
      }),
    ]);
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  cleanUp(() => ({ vendors, proxy }));

  it.each([
    ['dated', `https://${OPENAI_HOST}/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21`],
    ['default', `https://${OPENAI_HOST}/openai/deployments/gpt-4o/chat/completions?api-version=2025-02-01-preview`],
    ['series', `https://${OPENAI_HOST}/openai/deployments/my-o3/chat/completions?api-version=2024-10-21`],
    ['undated', `https://${OPENAI_HOST}/openai/v1/chat/completions`],
    ['copied', `https://${OPENAI_HOST}/openai/deployments/o1/chat/completions?api-version=2025-01-01-preview`],
    ['any/gpt-4o', `https://${OPENAI_HOST}/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21`],
  ])('get requests for %s at %s with the header api-key', async (model, url) => {
    vendors.answers.set(OPENAI_HOST, json(completion));
    const { choices } = await client.chat.completions.create({ model, messages });
    expect(choices[0]?.message.content).toBe('hi');
    const [request] = vendors.take();
    expect(request?.line).toBe(`POST ${url}`);
    expect(request?.headers).toMatchObject({ 'api-key': 'azure-key-0123456789' });
    expect(request?.headers).not.toHaveProperty('authorization');
  });

  it.each([
    ['series', 200],
    ['undated', 200],
    ['dated', 400],
  ])(
    'accept reasoning_effort only if the prefix or the name shows a reasoning model: %s answers %s',
    async (model, status) => {
      vendors.answers.set(OPENAI_HOST, json(completion));
      const request = client.chat.completions.create({ model, messages, reasoning_effort: 'low' }).asResponse();
      const answered = await request.then(
        (answer) => answer.status,
        (error: unknown) => (error instanceof APIError ? Number(error.status) : 0),
      );
      expect(answered).toBe(status);
      if (status === 200) expect(vendors.take()[0]?.body).toContain('"reasoning_effort":"low"');
    },
  );

  it('MP-145 get requests for embeddings, images and responses at the paths of these endpoints', async () => {
    vendors.answers.set(OPENAI_HOST, json({ object: 'list', data: [], model: 'ada' }));
    await client.embeddings.create({ model: 'dated', input: 'x', user: 'u' });
    expect(vendors.requests[0]?.body).toContain('"user":"u"');
    await client.images.generate({ model: 'dated', prompt: 'x' });
    await client.responses.create({ model: 'default', input: 'x' });
    await client.images.generate({ model: 'undated', prompt: 'x' });
    await client.responses.create({ model: 'undated', input: 'x' });
    expect(vendors.take().map(({ line }) => line)).toEqual([
      `POST https://${OPENAI_HOST}/openai/deployments/my%20deployment/embeddings?api-version=2024-10-21`,
      `POST https://${OPENAI_HOST}/openai/deployments/my%20deployment/images/generations?api-version=2024-10-21`,
      `POST https://${OPENAI_HOST}/openai/v1/responses?api-version=preview`,
      `POST https://${OPENAI_HOST}/openai/v1/images/generations?api-version=preview`,
      `POST https://${OPENAI_HOST}/openai/v1/responses?api-version=preview`,
    ]);
  });

  it.each([
    ['default', 'v1/responses', 'preview'],
    ['dated', 'responses', '2024-10-21'],
  ])('get requests for a stored response at the path that made it: %s at %s', async (model, path, version) => {
    vendors.answers.set(OPENAI_HOST, json({ id: 'resp_1', object: 'response', model: 'gpt-4o', output: [] }));
    const { id } = await client.responses.create({ model, input: 'x' });
    await client.responses.retrieve(id);
    await client.responses.cancel(id);
    const base = `https://${OPENAI_HOST}/openai/${path}`;
    expect(vendors.take().map(({ line }) => line)).toEqual([
      `POST ${base}?api-version=${version}`,
      `GET ${base}/resp_1?api-version=${version}`,
      `POST ${base}/resp_1/cancel?api-version=${version}`,
    ]);
  });

  it.each(['..', '.', '%2e%2e'])('reject the deployment name %j, or escape it in the path', async (name) => {
    vendors.answers.set(OPENAI_HOST, json(completion));
    const answer = await fetch(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: `any/${name}`, messages }),
    });
    const [request] = vendors.take();
    if (answer.status === 400) expect(request).toBeUndefined();
    else expect(request?.line).toContain('/openai/deployments/%252e%252e/chat/completions');
  });

  it('stream an answer whose first event, from the content filter, has no choices', async () => {
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' };
    vendors.answers.set(
      OPENAI_HOST,
      events(
        JSON.stringify({ ...chunk, id: '', model: '', choices: [], prompt_filter_results: [] }),
        JSON.stringify({ ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'h' } }] }),
        JSON.stringify({ ...chunk, choices: [{ index: 0, delta: { content: 'i' }, finish_reason: 'stop' }] }),
        '[DONE]',
      ),
    );
    let text = '';
    for await (const { choices } of await client.chat.completions.create({ model: 'dated', messages, stream: true }))
      text += choices[0]?.delta.content ?? '';
    expect(text).toBe('hi');
  });

  it.each([
    ['claude', { 'x-api-key': 'foundry-key-0123456789' }],
    ['claude-at-path', { authorization: 'Bearer ey.token-0123456789' }],
  ])("have Anthropic's API if they are models of Anthropic: %s, with %j", async (model, credentials) => {
    vendors.answers.set(FOUNDRY_HOST, json(message([{ type: 'text', text: 'Hi!' }])));
    const { choices } = await client.chat.completions.create({ model, messages });
    expect(choices[0]?.message.content).toBe('Hi!');
    const [request] = vendors.take();
    expect(request?.line).toBe(`POST https://${FOUNDRY_HOST}/anthropic/v1/messages`);
    expect(request?.headers).toMatchObject({ 'anthropic-version': '2023-06-01', ...credentials });
    expect(JSON.parse(request?.body ?? '')).toMatchObject({ model: 'claude-opus-4-6', max_tokens: 4096 });
  });

  it('get the token of azure_ad_token as a bearer token', async () => {
    vendors.answers.set(OPENAI_HOST, json(completion));
    await client.chat.completions.create({ model: 'token', messages });
    const [request] = vendors.take();
    expect(request?.headers).toMatchObject({ authorization: 'Bearer ey.token-0123456789' });
    expect(request?.headers).not.toHaveProperty('api-key');
  });

  it.each([
    ['foundry', `https://${FOUNDRY_HOST}/models/chat/completions?api-version=2024-05-01-preview`, 'api-key', 'foundry'],
    ['serverless', `https://${SERVERLESS_HOST}/v1/chat/completions`, 'authorization', 'Bearer serverless'],
    ['gateway', `https://${GATEWAY_HOST}/azure/chat/completions`, 'authorization', 'Bearer gateway'],
  ])('can be from other vendors: %s gets requests at %s', async (model, url, header, key) => {
    vendors.answers.set(new URL(url).host, json(completion));
    await client.chat.completions.create({ model, messages });
    const [request] = vendors.take();
    expect(request?.line).toBe(`POST ${url}`);
    expect(request?.headers[header]).toBe(`${key}-key-0123456789`);
    expect(JSON.parse(request?.body ?? '')).toEqual({
      model: model === 'serverless' ? 'command-r-plus' : 'Phi-4',
      messages,
    });
  });

  it.each([
    ['rerank', `https://${FOUNDRY_HOST}/v1/rerank`],
    ['rerank-v2', `https://${FOUNDRY_HOST}/providers/cohere/v2/rerank`],
    ['rerank-at-path', `https://${FOUNDRY_HOST}/providers/cohere/v2/rerank`],
    ['serverless', `https://${SERVERLESS_HOST}/v1/rerank`],
  ])("get rankings at Cohere's path: %s at %s", async (model, url) => {
    vendors.answers.set(new URL(url).host, json({ id: 'r', results: [{ index: 0, relevance_score: 0.5 }] }));
    const body = JSON.stringify({ model, query: 'q', documents: ['a'] });
    expect((await fetch(`${proxy.url}/v1/rerank`, { method: 'POST', body })).status).toBe(200);
    expect(vendors.firstRequest().line).toBe(`POST ${url}`);
  });

  it("can be a model router, which gets its name without LiteLLM's prefix", async () => {
    vendors.answers.set(FOUNDRY_HOST, json(completion));
    await client.chat.completions.create({ model: 'router', messages });
    expect(vendors.firstRequest().json).toMatchObject({ model: 'my-router' });
  });

  it.each([
    [
      404,
      { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } },
      'DeploymentNotFound',
      'The API deployment for this resource does not exist.',
    ],
    [404, { error: { code: '404', message: 'Resource not found' } }, '404', 'Resource not found'],
    [
      401,
      { error: { code: '401', message: 'Access denied due to invalid subscription key or wrong API endpoint.' } },
      '401',
      'invalid subscription key',
    ],
    [
      400,
      {
        error: {
          message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
          type: null,
          param: 'prompt',
          code: 'content_filter',
          status: 400,
          innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: filters },
        },
      },
      'content_filter',
      'content management policy',
    ],
    [
      429,
      { error: { code: '429', message: 'Requests have exceeded call rate limit. Please retry after 6 seconds.' } },
      '429',
      'exceeded call rate limit',
    ],
  ])('report the error %s %j', async (status, body, code, text) => {
    vendors.answers.set(OPENAI_HOST, json(body, status, { 'retry-after': '6' }));
    const failure: unknown = await client.chat.completions
      .create({ model: 'dated', messages })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(APIError);
    expect(failure).toMatchObject({ status, code });
    expect(String(failure)).toContain(text);
  });

  it('serve the class AzureOpenAI of the SDK as a client', async () => {
    vendors.answers.set(OPENAI_HOST, json(completion));
    const azure = new AzureOpenAI({ endpoint: proxy.url, apiKey: 'any', apiVersion: '2030-01-01', maxRetries: 0 });
    const { model } = await azure.chat.completions.create({ model: 'dated', messages });
    expect(model).toBe('azure/gpt-4o-2024-08-06');
    // The version of the configuration counts, not that of the client.
    expect(vendors.take()[0]?.line).toContain('?api-version=2024-10-21');
  });

  it('keep the query of api_base out of the header x-litellm-model-api-base and of /model/info', async () => {
    vendors.answers.set(OPENAI_HOST, json(completion));
    const answer = await client.chat.completions.create({ model: 'copied', messages }).withResponse();
    expect(answer.response.headers.get('x-litellm-model-api-base')).toBe(`https://${OPENAI_HOST}/openai`);
    const models = await fetch(`${proxy.url}/model/info`);
    expect(await models.text()).not.toContain('2025-01-01-preview');
  });
});
