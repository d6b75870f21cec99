/**
 * Models of Bedrock with InvokeModel, imported models, embeddings, pictures and ranking. The client is OpenAI's SDK.
 * The shapes are those of AWS's documentation.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters.html
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/invoke-imported-model.html
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent-runtime_Rerank.html
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { frame, stream } from './aws-frames.js';
import { cleanUp, entry, json, Vendors } from './vendors.js';

const HOST = 'bedrock-runtime.eu-west-1.amazonaws.com';
const AGENTS = 'bedrock-agent-runtime.eu-west-1.amazonaws.com';
const IMPORTED = 'arn:aws:bedrock:eu-west-1:123456789012:imported-model/r4c4kewx2s0n';
const messages = [{ role: 'user' as const, content: 'hello' }];
const signed = /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\//;

/** An event of InvokeModelWithResponseStream. */
const chunk = (value: object) => frame('chunk', { bytes: Buffer.from(JSON.stringify(value)).toString('base64') });

const models: Readonly<Record<string, string>> = {
  claude: 'bedrock/invoke/eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
  qwen: `bedrock/qwen2/${IMPORTED}`,
  openai: `bedrock/openai/${IMPORTED}`,
  llama: `bedrock/llama/${IMPORTED}`,
  deepseek: `bedrock/deepseek_r1/${IMPORTED}`,
  'titan-1': 'bedrock/amazon.titan-embed-text-v1',
  'titan-2': 'bedrock/amazon.titan-embed-text-v2:0',
  'titan-image': 'bedrock/amazon.titan-embed-image-v1',
  cohere: 'bedrock/cohere.embed-multilingual-v3',
  'nova-embed': 'bedrock/amazon.nova-2-multimodal-embeddings-v1:0',
  canvas: 'bedrock/amazon.nova-canvas-v1:0',
  stable: 'bedrock/us.stability.sd3-5-large-v1:0',
  agent: 'bedrock/agent/L1RT58GYRW/MFPSBCXYTW',
  rank: 'bedrock/arn:aws:bedrock:eu-west-1::foundation-model/amazon.rerank-v1:0',
  'rank-cohere': 'bedrock/cohere.rerank-v3-5:0',
};

describe('the proxy with models of Bedrock', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start([HOST, AGENTS]);
    const keys = {
      aws_region_name: 'eu-west-1',
      aws_access_key_id: 'AKIDEXAMPLE',
      aws_secret_access_key: 'secret-of-the-key',
    };
    const profile = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a0a0a0a0a0a0';
    proxy = await vendors.proxy([
      ...Object.entries(models).map(([name, model]) => entry(name, { model, ...keys })),
      entry('profile', { model: models['canvas'] ?? '', model_id: profile, ...keys }),
    ]);
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  cleanUp(() => ({ vendors, proxy }));

  it("MP-148 asks Claude in Anthropic's form, with the version of the API and without the model", async () => {
    vendors.answers.set(
      HOST,
      json({
        id: 'msg_bdrk_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5-20250929',
        content: [{ type: 'text', text: 'Hi!' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 8, output_tokens: 3 },
      }),
    );
    const answer = await client.chat.completions.create({ model: 'claude', messages, max_completion_tokens: 50 });
    expect(answer).toMatchObject({
      choices: [{ message: { content: 'Hi!' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 8, completion_tokens: 3 },
    });
    const request = vendors.firstRequest();
    expect(request.line).toBe(`POST https://${HOST}/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke`);
    expect(request.headers.authorization).toMatch(signed);
    expect(request.json).toEqual({
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 50,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
    });
  });

  it.each([1, 7, 10_000])("streams Claude's events out of chunks of %i bytes", async (size) => {
    const events = [
      { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 8, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Schnee ' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '雪' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 9 } },
      { type: 'message_stop', 'amazon-bedrock-invocationMetrics': { inputTokenCount: 8, outputTokenCount: 9 } },
    ];
    vendors.answers.set(HOST, stream(Buffer.concat(events.map(chunk)), size));
    const received = await client.chat.completions.create({ model: 'claude', messages, stream: true });
    let text = '';
    let reason;
    for await (const { choices } of received) {
      text += choices[0]?.delta.content ?? '';
      reason = choices[0]?.finish_reason ?? reason;
    }
    expect({ text, reason }).toEqual({ text: 'Schnee 雪', reason: 'length' });
    expect(vendors.firstRequest().line).toMatch(/\/invoke-with-response-stream$/);
  });

  it('reports an exception in a stream', async () => {
    const exception = frame('throttlingException', { message: 'Too many tokens' }, 'exception');
    vendors.answers.set(HOST, stream(exception));
    const received = client.chat.completions.create({ model: 'claude', messages, stream: true });
    await expect(received).rejects.toMatchObject({ status: 429, message: expect.stringContaining('Too many tokens') });
  });

  it.each(['qwen', 'openai'])('asks the imported model %s in the form of OpenAI', async (model) => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }];
    vendors.answers.set(HOST, json({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices }));
    const answer = await client.chat.completions.create({ model, messages, temperature: 0.5 });
    expect(answer.choices).toEqual(choices);
    const request = vendors.firstRequest();
    expect(request.line).toBe(`POST https://${HOST}/model/${encodeURIComponent(IMPORTED)}/invoke`);
    expect(request.json).toEqual({ messages, temperature: 0.5 });
  });

  it("streams an imported model, with Bedrock's count of the tokens", async () => {
    const part = (delta: object, finish_reason: string | null) => ({
      id: 'x',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason }],
    });
    const metrics = { 'amazon-bedrock-invocationMetrics': { inputTokenCount: 4, outputTokenCount: 2 } };
    const bytes = Buffer.concat([part({ content: 'Hi' }, null), { ...part({}, 'stop'), ...metrics }].map(chunk));
    vendors.answers.set(HOST, stream(bytes, 33));
    const received = await client.chat.completions.create({ model: 'openai', messages, stream: true });
    const all = [];
    for await (const event of received) all.push(event);
    expect(all.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Hi');
    expect(all.at(-1)).toMatchObject({ usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 } });
    expect(JSON.stringify(all)).not.toContain('invocationMetrics');
    expect(vendors.firstRequest().json).toEqual({ messages });
  });

  it('reports a stream of an imported model that breaks off', async () => {
    const delta = { id: 'x', choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] };
    vendors.answers.set(HOST, stream(chunk(delta)));
    const received = await client.chat.completions.create({ model: 'openai', messages, stream: true });
    const read = async () => {
      for await (const event of received) expect(event.choices).toHaveLength(1);
    };
    await expect(read()).rejects.toThrow(/ended|incomplete|interrupt|broke/i);
  });

  it.each(['llama', 'deepseek'])(
    "asks the imported model %s with Converse, which applies the model's template",
    async (model) => {
      const content = [{ text: 'Hi!' }];
      vendors.answers.set(HOST, json({ output: { message: { role: 'assistant', content } }, stopReason: 'end_turn' }));
      const answer = await client.chat.completions.create({ model, messages });
      expect(answer.choices[0]?.message.content).toBe('Hi!');
      expect(vendors.firstRequest().line).toBe(`POST https://${HOST}/model/${encodeURIComponent(IMPORTED)}/converse`);
    },
  );

  it.each<readonly [string, object, object, object, object]>([
    ['titan-1', {}, { inputText: 'a' }, { embedding: [1, 2], inputTextTokenCount: 3 }, { prompt_tokens: 3 }],
    [
      'titan-2',
      { dimensions: 256, normalize: false },
      { inputText: 'a', dimensions: 256, normalize: false },
      { embedding: [1, 2], inputTextTokenCount: 3, embeddingsByType: { float: [1, 2] } },
      { prompt_tokens: 3 },
    ],
    [
      'titan-image',
      { input: 'data:image/png;base64,iVBO', dimensions: 384 },
      { inputImage: 'iVBO', embeddingConfig: { outputEmbeddingLength: 384 } },
      { embedding: [1, 2], inputTextTokenCount: 0 },
      { prompt_tokens: 0 },
    ],
    [
      'cohere',
      { input_type: 'search_query' },
      { texts: ['a'], input_type: 'search_query' },
      { embeddings: [[1, 2]], id: 'x', response_type: 'embeddings_floats', texts: ['a'] },
      { prompt_tokens: 0 },
    ],
    [
      'cohere',
      {},
      { texts: ['a'], input_type: 'search_document' },
      { embeddings: { float: [[1, 2]] }, id: 'x', response_type: 'embeddings_by_type' },
      { prompt_tokens: 0 },
    ],
    [
      'nova-embed',
      { dimensions: 1024 },
      {
        taskType: 'SINGLE_EMBEDDING',
        singleEmbeddingParams: {
          embeddingPurpose: 'GENERIC_INDEX',
          embeddingDimension: 1024,
          text: { truncationMode: 'END', value: 'a' },
        },
      },
      { embeddings: [{ embeddingType: 'TEXT', embedding: [1, 2] }] },
      { prompt_tokens: 0 },
    ],
  ])('makes embeddings with %s %j', async (model, more, sent, answer, usage) => {
    vendors.answers.set(HOST, json(answer));
    const body = { model, input: 'a', encoding_format: 'float' as const, ...more };
    const found = await client.embeddings.create(body);
    expect(found.data).toEqual([{ object: 'embedding', index: 0, embedding: [1, 2] }]);
    expect(found.usage).toMatchObject(usage);
    const request = vendors.firstRequest();
    expect(request.line).toMatch(/\/model\/[^/]+\/invoke$/);
    expect(request.headers.authorization).toMatch(signed);
    expect(request.json).toEqual(sent);
  });

  it('makes several embeddings with Cohere, and rejects several texts for Titan', async () => {
    vendors.answers.set(HOST, json({ embeddings: [[1], [2]] }));
    const found = await client.embeddings.create({ model: 'cohere', input: ['a', 'b'], encoding_format: 'float' });
    expect(found.data.map(({ embedding }) => embedding)).toEqual([[1], [2]]);
    vendors.take();
    const several = client.embeddings.create({ model: 'titan-1', input: ['a', 'b'] });
    await expect(several).rejects.toMatchObject({ status: 400, param: 'input' });
    expect(vendors.take()).toEqual([]);
  });

  it('makes pictures with Nova Canvas, also with an inference profile', async () => {
    vendors.answers.set(HOST, json({ images: ['iVBO', 'iVBP'], error: null }));
    const answer = await client.images.generate({
      model: 'canvas',
      prompt: 'a cat',
      n: 2,
      size: '1536x1024',
      quality: 'hd',
    });
    expect(answer.data).toEqual([{ b64_json: 'iVBO' }, { b64_json: 'iVBP' }]);
    expect(vendors.firstRequest().json).toEqual({
      taskType: 'TEXT_IMAGE',
      textToImageParams: { text: 'a cat' },
      imageGenerationConfig: { numberOfImages: 2, quality: 'premium', width: 1536, height: 1024 },
    });
    await client.images.generate({ model: 'profile', prompt: 'a cat' });
    expect(vendors.firstRequest().line).toMatch(
      /\/model\/arn%3Aaws%3Abedrock%3A.*inference-profile%2Fa0a0a0a0a0a0\/invoke$/,
    );
  });

  it("makes pictures with Stability's models, and reports their filter", async () => {
    vendors.answers.set(HOST, json({ seeds: [1], finish_reasons: [null], images: ['iVBO'] }));
    const answer = await client.images.generate({ model: 'stable', prompt: 'a cat', size: '1792x1024' });
    expect(answer.data).toEqual([{ b64_json: 'iVBO' }]);
    expect(vendors.firstRequest().json).toEqual({ prompt: 'a cat', aspect_ratio: '16:9' });
    vendors.answers.set(HOST, json({ seeds: [1], finish_reasons: ['Filter reason: prompt'], images: [''] }));
    const rejected = client.images.generate({ model: 'stable', prompt: 'x' });
    await expect(rejected).rejects.toMatchObject({ status: 400, code: 'content_policy_violation' });
  });

  it.each([false, true])('MP-159 asks an agent, whose answer is always a stream (stream: %j)', async (isStream) => {
    const bytes = Buffer.from('Schnee 雪!');
    const part = (from: number, to?: number) => frame('chunk', { bytes: bytes.subarray(from, to).toString('base64') });
    // The second part begins inside of a character.
    vendors.answers.set(AGENTS, stream(Buffer.concat([frame('trace', {}), part(0, 8), part(8)]), 11));
    const body = { model: 'agent', messages };
    let text = '';
    if (isStream) {
      const received = await client.chat.completions.create({ ...body, stream: true });
      for await (const { choices } of received) text += choices[0]?.delta.content ?? '';
    } else {
      const answer = await client.chat.completions.create(body);
      expect(answer).toMatchObject({ object: 'chat.completion', choices: [{ finish_reason: 'stop' }] });
      text = answer.choices[0]?.message.content ?? '';
    }
    expect(text).toBe('Schnee 雪!');
    const request = vendors.firstRequest();
    expect(request.line).toMatch(
      /^POST https:\/\/bedrock-agent-runtime\.[^/]+\/agents\/L1RT58GYRW\/agentAliases\/MFPSBCXYTW\/sessions\/[\w-]{36}\/text$/,
    );
    expect(request.headers.authorization).toMatch(signed);
    expect(request.json).toEqual({ inputText: 'hello', enableTrace: false });
  });

  it('sends an existing session of an agent only the last message, and reports exceptions of the agent', async () => {
    vendors.answers.set(AGENTS, stream(frame('throttlingException', { message: 'Slow down' }, 'exception')));
    const talk = [...messages, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'more' }];
    const ask = async (more: object) => {
      const body = JSON.stringify({ model: 'agent', messages: talk, ...more });
      return fetch(`${proxy.url}/v1/chat/completions`, { method: 'POST', body });
    };
    const failed = await ask({ sessionID: 'session-1' });
    expect([failed.status, await failed.text()]).toEqual([429, expect.stringContaining('Slow down')]);
    const known = vendors.firstRequest();
    expect(known.line).toMatch(/\/sessions\/session-1\/text$/);
    expect(known.json).toMatchObject({ inputText: 'more' });
    await ask({});
    expect(vendors.firstRequest().json).toMatchObject({ inputText: 'user: hello\nassistant: Hi\nuser: more' });
  });

  it('ranks texts and objects with the Rerank API, at the host of bedrock-agent-runtime', async () => {
    vendors.answers.set(AGENTS, json({ results: [{ index: 1, relevanceScore: 0.9 }] }));
    const body = JSON.stringify({ model: 'rank', query: 'q', documents: ['a', { title: 'b' }], top_n: 1 });
    const answer = await fetch(`${proxy.url}/v1/rerank`, { method: 'POST', body });
    expect(await answer.json()).toMatchObject({ results: [{ index: 1, relevance_score: 0.9 }] });
    const request = vendors.firstRequest();
    expect(request.line).toBe(`POST https://${AGENTS}/rerank`);
    expect(request.headers.authorization).toMatch(signed);
    expect(request.json).toEqual({
      queries: [{ type: 'TEXT', textQuery: { text: 'q' } }],
      sources: [
        { type: 'INLINE', inlineDocumentSource: { type: 'TEXT', textDocument: { text: 'a' } } },
        { type: 'INLINE', inlineDocumentSource: { type: 'JSON', jsonDocument: { title: 'b' } } },
      ],
      rerankingConfiguration: {
        type: 'BEDROCK_RERANKING_MODEL',
        bedrockRerankingConfiguration: {
          modelConfiguration: { modelArn: 'arn:aws:bedrock:eu-west-1::foundation-model/amazon.rerank-v1:0' },
          numberOfResults: 1,
        },
      },
    });
    vendors.answers.set(AGENTS, json({ message: 'The model is not supported' }, 400));
    const failed = await fetch(`${proxy.url}/v1/rerank`, { method: 'POST', body: body.replace('rank', 'rank-cohere') });
    expect(await failed.text()).toContain('The model is not supported');
    expect(vendors.firstRequest().body).toContain('arn:aws:bedrock:eu-west-1::foundation-model/cohere.rerank-v3-5:0');
  });
});
