/**
 * Tests LangChain's client of OpenAI against a complete proxy and an upstream whose certificate is from a private
 * CA.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { PUBLIC_MODEL, sampleConfig, startTestProxy, type TestProxy } from '../harness/proxy.js';
import { TestUpstream } from '../harness/upstream.js';

const weather = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};

describe('the client of LangChain', () => {
  let upstream: TestUpstream;
  let proxy: TestProxy;
  let model: ChatOpenAI;
  let configuration: { baseURL: string };
  beforeAll(async () => {
    upstream = await TestUpstream.start();
    proxy = await startTestProxy(sampleConfig(upstream));
    configuration = { baseURL: `${proxy.url}/v1` };
    model = new ChatOpenAI({ model: PUBLIC_MODEL, apiKey: 'anything', maxRetries: 0, configuration });
  });
  afterEach(() => upstream.forget());
  afterAll(async () => {
    await proxy.close();
    await upstream.close();
  });

  it('gets an answer with its usage', async () => {
    const answer = await model.invoke([new SystemMessage('Be short.'), new HumanMessage('three small words')]);
    expect(answer.content).toBe('You said: three small words');
    expect(answer.usage_metadata).toMatchObject({ input_tokens: 3, output_tokens: 5, total_tokens: 8 });
    expect(answer.response_metadata).toMatchObject({ finish_reason: 'stop' });
  });

  it('gets a stream, with the usage at its end', async () => {
    const contents: unknown[] = [];
    const usages: unknown[] = [];
    for await (const chunk of await model.stream('three small words')) {
      contents.push(chunk.content);
      usages.push(chunk.usage_metadata);
    }
    expect(contents.join('')).toBe('You said: three small words');
    expect(usages.filter((usage) => usage !== undefined)).toMatchObject([
      { input_tokens: 3, output_tokens: 5, total_tokens: 8 },
    ]);
  });

  it('gets the call of a tool, and sends the call and its result', async () => {
    const { tool_calls: calls = [] } = await model.bindTools([weather], { tool_choice: 'weather' }).invoke('Oslo?');
    expect(calls).toMatchObject([{ name: 'weather', type: 'tool_call' }]);
    await model.invoke([
      new HumanMessage('Oslo?'),
      new AIMessage({ content: '', tool_calls: calls }),
      new ToolMessage({ content: 'Rain', tool_call_id: calls[0]?.id ?? '' }),
    ]);
    expect(upstream.last.json).toMatchObject({
      messages: [
        {},
        { tool_calls: [{ id: calls[0]?.id, function: { name: 'weather' } }] },
        { role: 'tool', tool_call_id: calls[0]?.id, content: 'Rain' },
      ],
    });
  });

  it('gets embeddings', async () => {
    const embeddings = new OpenAIEmbeddings({ model: PUBLIC_MODEL, apiKey: 'anything', maxRetries: 0, configuration });
    const [first, second] = await embeddings.embedDocuments(['one', 'two']);
    expect([first?.length, second?.length]).toEqual([expect.any(Number), first?.length]);
    expect(upstream.last.json).toMatchObject({ input: ['one', 'two'] });
  });

  it('reports an error of the proxy with its status', async () => {
    const unknown = new ChatOpenAI({ model: 'nothing', apiKey: 'anything', maxRetries: 0, configuration });
    await expect(unknown.invoke('x')).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('Invalid model name'),
    });
  });
});
