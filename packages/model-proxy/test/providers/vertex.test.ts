/**
 * Models of Vertex AI whose APIs differ from OpenAI's. The official SDKs send the requests to the proxy.
 * The shapes of answers are those of Google's reference.
 * @see https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai
 * @see https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
 */
import Anthropic from '@anthropic-ai/sdk';
import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { documentedStreams, message } from './anthropic-samples.js';
import { cleanUp, entry, GOOGLE_TOKEN_HOST, json, serviceAccount, Vendors } from './vendors.js';

const HOST = 'us-east5-aiplatform.googleapis.com';
const BASE = `https://${HOST}/v1beta1/projects/project-1/locations/us-east5`;
/** The host of a location with several regions. */
const EU_HOST = 'aiplatform.eu.rep.googleapis.com';
const messages = [{ role: 'user' as const, content: 'hello' }];
const version = 'vertex-2023-10-16';
const PRIVATE_HOST = '1.us-east5-2.prediction.vertexai.goog';
const place = { vertex_project: 'project-1', vertex_location: 'us-east5', vertex_credentials: serviceAccount() };

describe('models of Anthropic on Vertex AI', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start([HOST, EU_HOST, GOOGLE_TOKEN_HOST, PRIVATE_HOST]);
    proxy = await vendors.proxy([
      entry('claude', { ...place, model: 'vertex_ai/claude-opus-4-6@20260205' }),
      entry('claude-at-host', { ...place, model: 'vertex_ai/claude-opus-4-6', api_base: `https://${PRIVATE_HOST}` }),
      entry('gemini-at-host', { ...place, model: 'vertex_ai/gemini-2.5-pro', api_base: `https://${PRIVATE_HOST}/` }),
      entry('claude-eu', { ...place, vertex_location: 'eu', model: 'vertex_ai/claude-opus-4-6' }),
    ]);
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  cleanUp(() => ({ vendors, proxy }));

  const answerWith = (answer: Parameters<typeof vendors.answers.set>[1]) => {
    vendors.answers.set(GOOGLE_TOKEN_HOST, json({ access_token: 'ya29.token-0123456789', expires_in: 3600 }));
    vendors.answers.set(HOST, answer);
  };
  const asked = () => {
    const request = vendors.take().find(({ line }) => line.includes(HOST));
    if (request === undefined) throw new Error('the upstream got no request');
    return { ...request, json: JSON.parse(request.body) as unknown };
  };
  const claude = `${BASE}/publishers/anthropic/models/claude-opus-4-6%4020260205`;

  it('MP-146 answer chat, with the model in the path and the version in the body', async () => {
    answerWith(json(message([{ type: 'text', text: 'Hi!' }])));
    const { choices } = await client.chat.completions.create({ model: 'claude', messages, max_completion_tokens: 9 });
    expect(choices[0]?.message.content).toBe('Hi!');
    const { line, headers, json: body } = asked();
    expect(line).toBe(`POST ${claude}:rawPredict`);
    expect(headers.authorization).toBe('Bearer ya29.token-0123456789');
    expect(headers).not.toHaveProperty('x-api-key');
    expect(body).toEqual({
      anthropic_version: version,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
      max_tokens: 9,
    });
  });

  it('have another host in a location with several regions', async () => {
    answerWith(json({}));
    vendors.answers.set(EU_HOST, json(message([{ type: 'text', text: 'Hi!' }])));
    const { choices } = await client.chat.completions.create({ model: 'claude-eu', messages });
    expect(choices[0]?.message.content).toBe('Hi!');
    const lines = vendors.take().map(({ line }) => line);
    expect(lines).toContain(
      `POST https://${EU_HOST}/v1beta1/projects/project-1/locations/eu/publishers/anthropic/models/claude-opus-4-6:rawPredict`,
    );
  });

  it.each([
    ['claude-at-host', 'publishers/anthropic/models/claude-opus-4-6:rawPredict'],
    ['gemini-at-host', 'endpoints/openapi/chat/completions'],
  ])("get requests at Google's path below a configured host: %s at %s", async (model, path) => {
    answerWith(json({}));
    vendors.answers.set(PRIVATE_HOST, json(message([{ type: 'text', text: 'Hi!' }])));
    await client.chat.completions.create({ model, messages });
    const lines = vendors.take().map(({ line }) => line);
    expect(lines).toContain(`POST https://${PRIVATE_HOST}/v1beta1/projects/project-1/locations/us-east5/${path}`);
  });

  it('stream the text of a chat', async () => {
    answerWith((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(documentedStreams.text);
    });
    let text = '';
    for await (const { choices } of await client.chat.completions.create({ model: 'claude', messages, stream: true }))
      text += choices[0]?.delta.content ?? '';
    expect(text).toBe('Hello! 雪');
    const { line, json: body } = asked();
    expect(line).toBe(`POST ${claude}:streamRawPredict`);
    expect(body).toMatchObject({ anthropic_version: version, stream: true });
  });

  it("answer Anthropic's SDK, also with ids of calls from Gemini, and count tokens", async () => {
    const sdk = new Anthropic({ baseURL: proxy.url, apiKey: 'any', maxRetries: 0 });
    answerWith(json(message([{ type: 'text', text: 'Hi!' }])));
    const { content } = await sdk.messages.create({ model: 'claude', max_tokens: 9, messages });
    expect(content).toMatchObject([{ type: 'text', text: 'Hi!' }]);
    const request = asked();
    expect(request.line).toBe(`POST ${claude}:rawPredict`);
    expect(request.json).toEqual({ anthropic_version: version, max_tokens: 9, messages });

    const id = `call_1__thought__${'A'.repeat(4000)}`;
    const use = { role: 'assistant' as const, content: [{ type: 'tool_use' as const, id, name: 'a', input: {} }] };
    const result = { role: 'user' as const, content: [{ type: 'tool_result' as const, tool_use_id: id }] };
    answerWith(json(message([{ type: 'text', text: 'Hi!' }])));
    await sdk.messages.create({ model: 'claude', max_tokens: 9, messages: [...messages, use, result] });
    const shortId = expect.stringMatching(/^call_1_[\da-f]{16}$/) as unknown;
    expect(asked().json).toMatchObject({
      anthropic_version: version,
      messages: [{}, { content: [{ id: shortId }] }, { content: [{ tool_use_id: shortId }] }],
    });

    answerWith(json({ input_tokens: 14 }));
    expect((await sdk.messages.countTokens({ model: 'claude', messages })).input_tokens).toBe(14);
    const count = asked();
    expect(count.line).toBe(`POST ${BASE}/publishers/anthropic/models/count-tokens:rawPredict`);
    expect(count.json).toEqual({
      model: 'claude-opus-4-6@20260205',
      messages,
      anthropic_version: version,
    });
  });
});

/** A model for each form of embeddings in Google's reference, with the expected request and Google's answer. */
const embeddings = [
  {
    model: 'text-embedding-005',
    url: `${BASE}/publishers/google/models/text-embedding-005:predict`,
    request: {
      instances: [{ content: 'one' }, { content: 'two' }],
      parameters: { outputDimensionality: 2 },
    },
    answer: {
      predictions: [
        { embeddings: { values: [0.5, -1], statistics: { token_count: 3, truncated: false } } },
        { embeddings: { values: [0.25, 2], statistics: { token_count: 4, truncated: false } } },
      ],
      metadata: { billableCharacterCount: 6 },
    },
    tokens: 7,
  },
  {
    model: 'bge/1234567890',
    url: `${BASE}/endpoints/1234567890:predict`,
    request: {
      instances: [{ prompt: 'one' }, { prompt: 'two' }],
      parameters: { outputDimensionality: 2 },
    },
    answer: {
      predictions: [
        [0.5, -1],
        [0.25, 2],
      ],
      deployedModelId: '1',
    },
    tokens: 0,
  },
  {
    model: 'multimodalembedding@001',
    url: `${BASE}/publishers/google/models/multimodalembedding%40001:predict`,
    request: { instances: [{ text: 'one' }, { text: 'two' }], parameters: { dimension: 2 } },
    answer: { predictions: [{ textEmbedding: [0.5, -1] }, { textEmbedding: [0.25, 2] }] },
    tokens: 0,
  },
] as const;

describe("models of Vertex AI with Google's own API", () => {
  const RANKING_HOST = 'discoveryengine.googleapis.com';
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start([HOST, RANKING_HOST, PRIVATE_HOST, GOOGLE_TOKEN_HOST]);
    const names = [
      ...embeddings.map(({ model }) => model),
      'gemini-embedding-2-preview',
      'imagen-4.0-generate-001',
      'semantic-ranker-default@latest',
    ];
    proxy = await vendors.proxy([
      ...names.map((model) => entry(model, { ...place, model: `vertex_ai/${model}` })),
      entry('gemma', {
        ...place,
        model: 'vertex_ai/gemma/gemma-3-12b-it',
        api_base: `https://${PRIVATE_HOST}/v1/projects/p/locations/l/endpoints/7:predict`,
      }),
      entry('private', { ...place, model: 'vertex_ai/bge/99', api_base: `https://${PRIVATE_HOST}` }),
    ]);
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  cleanUp(() => ({ vendors, proxy }));

  const answerWith = (value: unknown, status = 200) => {
    vendors.answers.set(GOOGLE_TOKEN_HOST, json({ access_token: 'ya29.token-0123456789', expires_in: 3600 }));
    for (const host of [HOST, RANKING_HOST, PRIVATE_HOST]) vendors.answers.set(host, json(value, status));
  };
  const asked = () => {
    const request = vendors.take().find(({ line }) => !line.includes(GOOGLE_TOKEN_HOST));
    if (request === undefined) throw new Error('the upstream got no request');
    return { line: request.line, body: JSON.parse(request.body) as unknown };
  };

  it.each(embeddings)('embed texts: $model', async ({ model, url, request, answer, tokens }) => {
    answerWith(answer);
    // The SDK requests base64, and decodes it.
    const found = await client.embeddings.create({ model, input: ['one', 'two'], dimensions: 2 });
    expect(found).toMatchObject({
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: [0.5, -1] },
        { object: 'embedding', index: 1, embedding: [0.25, 2] },
      ],
      model: `vertex_ai/${model}`,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    });
    expect(asked()).toEqual({ line: `POST ${url}`, body: request });
    const plain = await client.embeddings.create({ model, input: ['one', 'two'], encoding_format: 'float' });
    expect(plain.data[1]?.embedding).toEqual([0.25, 2]);
  });

  it('embed pictures and videos', async () => {
    const model = 'multimodalembedding@001';
    answerWith({ predictions: [{ imageEmbedding: [1, 2] }, { videoEmbeddings: [{ embedding: [3, 4] }] }] });
    const input = ['data:image/png;base64,iVBORw0KGgo=', 'gs://bucket/film.mp4', 'gs://bucket/picture.png'];
    const { data } = await client.embeddings.create({ model, input });
    expect(data.map(({ embedding }) => embedding)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(asked().body).toMatchObject({
      instances: [
        { image: { bytesBase64Encoded: 'iVBORw0KGgo=' } },
        { video: { gcsUri: 'gs://bucket/film.mp4' } },
        { image: { gcsUri: 'gs://bucket/picture.png' } },
      ],
    });
  });

  it('embed one text with the method embedContent, and reject two', async () => {
    const model = 'gemini-embedding-2-preview';
    answerWith({ embedding: { values: [1, 2] }, usageMetadata: { promptTokenCount: 5 } });
    const { data, usage } = await client.embeddings.create({ model, input: 'one' });
    expect(data[0]?.embedding).toEqual([1, 2]);
    expect(usage.prompt_tokens).toBe(5);
    expect(asked()).toEqual({
      line: `POST ${BASE}/publishers/google/models/gemini-embedding-2-preview:embedContent`,
      body: { content: { parts: [{ text: 'one' }] } },
    });
    await expect(client.embeddings.create({ model, input: ['one', 'two'] })).rejects.toMatchObject({ status: 400 });
  });

  it("get requests at the path of a private endpoint, and have Google's errors reported", async () => {
    answerWith({ error: { code: 404, message: 'Endpoint 99 not found', status: 'NOT_FOUND' } }, 404);
    await expect(client.embeddings.create({ model: 'private', input: 'one' })).rejects.toMatchObject({
      status: 404,
      message: expect.stringContaining('Endpoint 99 not found'),
    });
    expect(asked().line).toBe(
      `POST https://${PRIVATE_HOST}/v1/projects/project-1/locations/us-east5/endpoints/99:predict`,
    );
  });

  it('reject tokens instead of texts as input for embeddings', async () => {
    await expect(client.embeddings.create({ model: 'text-embedding-005', input: [1, 2] })).rejects.toMatchObject({
      status: 400,
      param: 'input',
    });
  });

  it('MP-147 make pictures, and reject unknown sizes', async () => {
    const model = 'imagen-4.0-generate-001';
    answerWith({ predictions: [{ bytesBase64Encoded: 'iVBORw0KGgo=', mimeType: 'image/png' }] });
    const { data } = await client.images.generate({ model, prompt: 'a cat', n: 1, size: '1792x1024' });
    expect(data).toEqual([{ b64_json: 'iVBORw0KGgo=' }]);
    expect(asked()).toEqual({
      line: `POST ${BASE}/publishers/google/models/${model}:predict`,
      body: { instances: [{ prompt: 'a cat' }], parameters: { sampleCount: 1, aspectRatio: '16:9' } },
    });
    const odd = client.images.generate({ model, prompt: 'a cat', size: '256x256' });
    await expect(odd).rejects.toMatchObject({ status: 400, param: 'size' });
  });

  it("include a customer's Gemma, whose requests and answers are wrapped, and which has no streams", async () => {
    const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'gemma', choices: [] };
    answerWith({ deployedModelId: '7', predictions: completion });
    expect(await client.chat.completions.create({ model: 'gemma', messages, temperature: 0.5 })).toMatchObject({
      id: 'c',
      model: 'vertex_ai/gemma',
    });
    expect(asked()).toEqual({
      line: `POST https://${PRIVATE_HOST}/v1/projects/p/locations/l/endpoints/7:predict`,
      body: { instances: [{ '@requestFormat': 'chatCompletions', messages, temperature: 0.5 }] },
    });
    const streamed = client.chat.completions.create({ model: 'gemma', messages, stream: true });
    await expect(streamed).rejects.toMatchObject({ status: 400, param: 'stream' });
  });

  it('rank documents', async () => {
    const model = 'semantic-ranker-default@latest';
    answerWith({
      records: [
        { id: '1', score: 0.9 },
        { id: '0', score: 0.1 },
      ],
    });
    const answer = await fetch(`${proxy.url}/v1/rerank`, {
      method: 'POST',
      body: JSON.stringify({ model, query: 'q', documents: ['a', { text: 'b' }], top_n: 2 }),
    });
    expect(await answer.json()).toMatchObject({
      results: [
        { index: 1, relevance_score: 0.9 },
        { index: 0, relevance_score: 0.1 },
      ],
    });
    expect(asked()).toEqual({
      line: `POST https://${RANKING_HOST}/v1/projects/project-1/locations/global/rankingConfigs/default_ranking_config:rank`,
      body: {
        model,
        query: 'q',
        records: [
          { id: '0', content: 'a' },
          { id: '1', content: 'b' },
        ],
        topN: 2,
        ignoreRecordDetailsInResponse: true,
      },
    });
  });
});
