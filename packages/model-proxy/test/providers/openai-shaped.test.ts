/**
 * Vendors with OpenAI's API at their real addresses. The client is OpenAI's SDK. Each answer has the form that the
 * vendor documents.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { APIError } from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { cleanUp, entry, events, json, Vendors } from './vendors.js';

const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] };
const messages = [{ role: 'user' as const, content: 'hello' }];
const KEY = 'vendor-key-0123456789';

/** Model, more params, URL of the request. The comments name the source of the address. */
const targets: readonly (readonly [model: string, params: Readonly<Record<string, string>>, url: string])[] = [
  // https://ai.google.dev/gemini-api/docs/openai
  ['gemini/gemini-2.5-pro', {}, 'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions'],
  // https://console.groq.com/docs/openai
  ['groq/llama-3.3-70b', {}, 'https://api.groq.com/openai/v1/chat/completions'],
  // https://docs.mistral.ai/api
  ['mistral/mistral-large', {}, 'https://api.mistral.ai/v1/chat/completions'],
  // https://api-docs.deepseek.com/guides/chat_prefix_completion
  ['deepseek/deepseek-chat', {}, 'https://api.deepseek.com/beta/chat/completions'],
  // https://docs.x.ai/docs/api-reference
  ['xai/grok-4', {}, 'https://api.x.ai/v1/chat/completions'],
  // https://docs.together.ai/docs/openai-api-compatibility
  ['together_ai/meta-llama/Llama-3', {}, 'https://api.together.ai/v1/chat/completions'],
  // https://docs.fireworks.ai/tools-sdks/openai-compatibility
  ['fireworks_ai/accounts/fireworks/models/x', {}, 'https://api.fireworks.ai/inference/v1/chat/completions'],
  // https://openrouter.ai/docs/api-reference/overview
  ['openrouter/anthropic/claude-sonnet-4', {}, 'https://openrouter.ai/api/v1/chat/completions'],
  // Configured addresses as in LiteLLM, whose requests have the vendors' own APIs below them.
  ['mistral/at-azure', { api_base: 'https://m.example' }, 'https://m.example/v1/chat/completions'],
  ['mistral/at-v1', { api_base: 'https://m.example/v1/' }, 'https://m.example/v1/chat/completions'],
  [
    'gemini/at-address',
    { api_base: 'https://generativelanguage.googleapis.com/v1beta' },
    'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions',
  ],
  [
    'gemini/at-gateway',
    { api_base: 'https://m.example/g/v1beta' },
    'https://m.example/g/v1beta/openai/chat/completions',
  ],
  [
    'cohere/at-address',
    { api_base: 'https://api.cohere.com/v2/chat' },
    'https://api.cohere.ai/compatibility/v1/chat/completions',
  ],
  ['cohere/at-gateway', { api_base: 'https://m.example/c' }, 'https://m.example/c/chat/completions'],
  // https://docs.cohere.com/docs/compatibility-api
  ['cohere/command-a', {}, 'https://api.cohere.ai/compatibility/v1/chat/completions'],
  // https://huggingface.co/docs/inference-providers
  ['huggingface/together/deepseek-ai/DeepSeek-R1', {}, 'https://router.huggingface.co/v1/chat/completions'],
  // https://huggingface.co/docs/inference-endpoints
  [
    'huggingface/microsoft/phi',
    { api_base: 'https://x.endpoints.huggingface.cloud/' },
    'https://x.endpoints.huggingface.cloud/v1/chat/completions',
  ],
  [
    'huggingface/microsoft/phi-at-v1',
    { api_base: 'https://x.endpoints.huggingface.cloud/v1' },
    'https://x.endpoints.huggingface.cloud/v1/chat/completions',
  ],
  // https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/
  [
    'cloudflare/@cf/meta/llama-3',
    { account_id: 'abc' },
    'https://api.cloudflare.com/client/v4/accounts/abc/ai/v1/chat/completions',
  ],
  // https://docs.databricks.com/aws/en/machine-learning/model-serving/score-foundation-models
  [
    'databricks/dbrx',
    { api_base: 'https://dbc.cloud.databricks.com' },
    'https://dbc.cloud.databricks.com/serving-endpoints/chat/completions',
  ],
  // https://docs.predibase.com/user-guide/inference/migrate-openai
  [
    'predibase/llama-3',
    { tenant_id: 't1' },
    'https://serving.app.predibase.com/t1/deployments/v2/llms/llama-3/v1/chat/completions',
  ],
  // https://docs.snowflake.com/en/user-guide/snowflake-cortex/open_ai_sdk
  [
    'snowflake/mistral-7b',
    { account_id: 'acc' },
    'https://acc.snowflakecomputing.com/api/v2/cortex/v1/chat/completions',
  ],
  // https://github.com/ollama/ollama/blob/main/docs/openai.md
  ['ollama/llama3', { api_base: 'https://ollama.internal' }, 'https://ollama.internal/v1/chat/completions'],
  // https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html
  [
    'bedrock/openai.gpt-oss-120b-1:0',
    { aws_region_name: 'us-east-1' },
    'https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions',
  ],
  // https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html
  [
    'bedrock_mantle/openai.gpt-oss-120b',
    { aws_region_name: 'us-east-1' },
    'https://bedrock-mantle.us-east-1.api.aws/v1/chat/completions',
  ],
];
const hostOf = (url: string) => new URL(url).host;
const byProvider = (prefix: string) => targets.find(([model]) => model.startsWith(prefix))?.[0] ?? '';

describe('a vendor with the API of OpenAI', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start([...new Set([...targets.map(([, , url]) => hostOf(url)), 'api.cohere.com'])]);
    const addresses = ['https://api.cohere.com', 'https://api.cohere.com/v2/rerank', 'https://m.example/c'];
    const rankings = [...addresses, 'https://m.example/c/v1'].map((address) =>
      entry(address, { model: 'cohere/rerank-v3.5', api_key: KEY, api_base: address }),
    );
    const chats = targets.map(([model, params]) => entry(model, { model, api_key: KEY, ...params }));
    proxy = await vendors.proxy([...chats, ...rankings]);
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  cleanUp(() => ({ vendors, proxy }));

  it.each(targets)('MP-144 gets requests for %s with %j at %s', async (model, _params, url) => {
    vendors.answers.set(hostOf(url), json(completion));
    await client.chat.completions.create({ model, messages });
    const [request] = vendors.take();
    expect(request?.line).toBe(`POST ${url}`);
    expect(request?.headers.authorization).toBe(`Bearer ${KEY}`);
    const upstreamModels = new Map([
      ['huggingface/together/deepseek-ai/DeepSeek-R1', 'deepseek-ai/DeepSeek-R1:together'],
      ['predibase/llama-3', ''],
    ]);
    const expected = upstreamModels.get(model) ?? model.slice(model.indexOf('/') + 1);
    expect(JSON.parse(request?.body ?? '')).toEqual({ model: expected, messages });
  });

  it.each([
    ['together_ai/', { user: 'u', dimensions: 5 }],
    ['openrouter/', { user: 'u' }],
    // Mistral has no user.
    ['mistral/', {}],
  ])('gets the user of embeddings only if it has this parameter: %s gets %j', async (prefix, expected) => {
    const model = byProvider(prefix);
    for (const [, , url] of targets) vendors.answers.set(hostOf(url), json({ object: 'list', data: [], model: 'm' }));
    await client.embeddings.create({ input: 'x', encoding_format: 'float', ...expected, model, user: 'u' });
    const input = { model: model.slice(prefix.length), input: 'x', encoding_format: 'float' };
    expect(vendors.firstRequest().json).toEqual({ ...input, ...expected });
  });

  it.each([
    ['https://api.cohere.com', 'https://api.cohere.com/v2/rerank'],
    ['https://api.cohere.com/v2/rerank', 'https://api.cohere.com/v2/rerank'],
    ['https://m.example/c', 'https://m.example/c/v2/rerank'],
    ['https://m.example/c/v1', 'https://m.example/c/v1/rerank'],
  ])("gets rankings at Cohere's path: %s at %s", async (address, url) => {
    vendors.answers.set(hostOf(url), json({ id: 'r', results: [{ index: 0, relevance_score: 0.5 }] }));
    const body = JSON.stringify({ model: address, query: 'q', documents: ['a'] });
    expect((await fetch(`${proxy.url}/v1/rerank`, { method: 'POST', body })).status).toBe(200);
    expect(vendors.firstRequest().line).toBe(`POST ${url}`);
  });

  it('gets rankings beside /v1 if it is an inference endpoint of Hugging Face', async () => {
    vendors.answers.set('x.endpoints.huggingface.cloud', json({ results: [{ index: 0, relevance_score: 0.5 }] }));
    const body = JSON.stringify({ model: 'huggingface/microsoft/phi', query: 'q', documents: ['a'] });
    expect((await fetch(`${proxy.url}/v1/rerank`, { method: 'POST', body })).status).toBe(200);
    expect(vendors.take()[0]?.line).toBe('POST https://x.endpoints.huggingface.cloud/rerank');
  });

  it.each([
    // Cohere and Ollama have only `max_tokens`.
    ['cohere/', { max_completion_tokens: 5 }, { max_tokens: 5 }],
    ['ollama/', { max_completion_tokens: 5 }, { max_tokens: 5 }],
    ['mistral/', { seed: 7 }, { random_seed: 7 }],
    ['gemini/', { thinking: { type: 'enabled', budget_tokens: 6000 } }, { reasoning_effort: 'medium' }],
  ])('gets parameters under its own names: %s gets %j as %j', async (prefix, given, expected) => {
    const model = byProvider(prefix);
    for (const [, , url] of targets) vendors.answers.set(hostOf(url), json(completion));
    await client.chat.completions.create({ model, messages, ...given });
    const body = JSON.parse(vendors.take()[0]?.body ?? '') as object; // The SDK sends an object.
    expect(body).toEqual({ model: model.slice(prefix.length), messages, ...expected });
  });

  it.each([
    // https://ai.google.dev/gemini-api/docs/troubleshooting: an array around the error.
    [
      'gemini/',
      400,
      [{ error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT' } }],
      'API key not valid.',
    ],
    // https://docs.mistral.ai/api: validation errors of FastAPI.
    [
      'mistral/',
      422,
      { object: 'error', message: { detail: [{ msg: 'Field required' }] }, type: 'invalid' },
      'Field required',
    ],
    // https://console.groq.com/docs/errors
    [
      'groq/',
      498,
      { error: { message: 'Flex tier capacity exceeded', type: 'capacity_exceeded' } },
      'capacity exceeded',
    ],
    // https://docs.cohere.com/reference/errors
    ['cohere/', 429, { message: 'trial key limit' }, 'trial key limit'],
    // https://openrouter.ai/docs/api-reference/errors
    [
      'openrouter/',
      402,
      { error: { code: 402, message: 'Insufficient credits', metadata: {} } },
      'Insufficient credits',
    ],
    // https://docs.x.ai/docs/debugging
    ['xai/', 400, { code: 'Client specified an invalid argument', error: 'Incorrect API key' }, 'Incorrect API key'],
    // https://github.com/ollama/ollama/blob/main/docs/openai.md
    ['ollama/', 404, { error: { message: 'model "x" not found', type: 'not_found_error' } }, 'not found'],
    // https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html
    ['bedrock/', 403, { message: 'The security token included in the request is invalid.' }, 'security token'],
  ])('has its errors reported with status and text: %s %s %j', async (prefix, status, body, text) => {
    for (const [, , url] of targets) vendors.answers.set(hostOf(url), json(body, status));
    const failure: unknown = await client.chat.completions
      .create({ model: byProvider(prefix), messages })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(APIError);
    expect(failure).toMatchObject({ status });
    expect(String(failure)).toContain(text);
  });

  it('may send comments between the events of a stream', async () => {
    const model = byProvider('openrouter/');
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
    vendors.answers.set('openrouter.ai', (request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': OPENROUTER PROCESSING\n\n');
      events(JSON.stringify({ ...chunk, choices: [{ index: 0, delta: { content: 'hi' } }] }), '[DONE]')(
        request,
        Object.assign(response, { writeHead: () => response }),
      );
    });
    let text = '';
    for await (const { choices } of await client.chat.completions.create({ model, messages, stream: true }))
      text += choices[0]?.delta.content ?? '';
    expect(text).toBe('hi');
  });
});
