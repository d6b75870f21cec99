/**
 * Tests `ai` with `@ai-sdk/openai-compatible` against a complete proxy and an upstream whose
 * certificate is from a private CA.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { APICallError, embedMany, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { PUBLIC_MODEL, sampleConfig, startTestProxy, type TestProxy } from '../harness/proxy.js';
import { TestUpstream } from '../harness/upstream.js';

const SAID = 'You said: three small words';

describe('the ai SDK', () => {
  let upstream: TestUpstream;
  let proxy: TestProxy;
  let provider: ReturnType<typeof createOpenAICompatible>;
  beforeAll(async () => {
    upstream = await TestUpstream.start({ tokenMs: 1 });
    proxy = await startTestProxy(sampleConfig(upstream, { settings: ['drop_params: true'] }));
    provider = createOpenAICompatible({
      name: 'rackless',
      baseURL: `${proxy.url}/v1`,
      apiKey: 'anything',
      includeUsage: true,
    });
  });
  afterEach(() => upstream.forget());
  afterAll(async () => {
    await proxy.close();
    await upstream.close();
  });

  it('generates a text', async () => {
    const { text, finishReason, usage } = await generateText({
      model: provider(PUBLIC_MODEL),
      prompt: 'three small words',
    });
    expect([text, finishReason, usage.inputTokens, usage.outputTokens]).toEqual([SAID, 'stop', 3, 5]);
  });

  it('streams a text, with its usage', async () => {
    const result = streamText({ model: provider(PUBLIC_MODEL), prompt: 'three small words' });
    const parts = [];
    for await (const part of result.textStream) parts.push(part);
    expect(parts).toEqual(['You', ' said:', ' three', ' small', ' words']);
    expect((await result.usage).totalTokens).toBe(8);
  });

  it('calls a tool and continues with its result', async () => {
    const { text, steps } = await generateText({
      model: provider(PUBLIC_MODEL),
      prompt: 'three small words',
      tools: {
        weather: tool({
          description: 'Weather of a city',
          inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
          execute: ({ city }) => `rain in ${city}`,
        }),
      },
      stopWhen: stepCountIs(2),
    });
    expect(steps).toHaveLength(2);
    expect(text).toContain('rain in sample');
  });

  it('embeds texts', async () => {
    const { embeddings } = await embedMany({
      model: provider.embeddingModel(PUBLIC_MODEL),
      values: ['one', 'two words'],
    });
    expect(embeddings).toEqual([
      [3, 1, 0.5],
      [9, 2, 0.5],
    ]);
  });

  it('throws an error with the status and the message of the answer', async () => {
    const pendingAnswer = generateText({ model: provider('no-such-model'), prompt: 'x', maxRetries: 0 });
    await expect(pendingAnswer).rejects.toBeInstanceOf(APICallError);
    await expect(pendingAnswer).rejects.toMatchObject({
      statusCode: 400,
      message: expect.stringContaining('Invalid model name'),
    });
  });

  it('aborts a running stream, also at the upstream', async () => {
    const abort = new AbortController();
    const slow = 'word '.repeat(5000);
    const result = streamText({ model: provider(PUBLIC_MODEL), prompt: slow, abortSignal: abort.signal });
    for await (const part of result.textStream) {
      expect(part).toBe('You');
      abort.abort();
      break;
    }
    expect(await upstream.ended(upstream.last)).toBe('aborted');
  });
});
