/**
 * Tests the name of the model in answers, and fields that an upstream omits, through a complete
 * proxy.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import { call, eventData } from '../harness/call.js';
import { ANSWERED_MODEL, PUBLIC_MODEL, sampleConfig, startTestProxy, type TestProxy } from '../harness/proxy.js';
import { event, type Step } from '../harness/script.js';
import { TestUpstream } from '../harness/upstream.js';

const messages = [{ role: 'user', content: 'Hello' }];

describe('the model of an answer', () => {
  let upstream: TestUpstream;
  let proxy: TestProxy | undefined;
  beforeAll(async () => {
    upstream = await TestUpstream.start();
  });
  afterEach(async () => {
    await proxy?.close();
    proxy = undefined;
  });
  afterAll(() => upstream.close());

  const start = async (yaml: string) => {
    proxy = await startTestProxy(yaml);
  };
  const ask = (path: string, more: object) =>
    call(`${proxy?.url ?? ''}/v1/${path}`, { body: { model: PUBLIC_MODEL, messages, prompt: 'Hello', ...more } });
  const answering = (text: string): readonly Step[] => [{ write: text }, { end: true }];
  // Every answer and event has a model.
  const modelOf = (text: string) => (JSON.parse(text) as { model: unknown }).model;

  it.each([['hosted_vllm'], ['openai'], ['mistral'], ['groq'], ['deepseek'], ['somebody_else']])(
    'has the prefix of %s, in plain and streamed answers of chat and text completions',
    async (provider) => {
      await start(sampleConfig(upstream).replace('hosted_vllm/', `${provider}/`));
      for (const path of ['chat/completions', 'completions']) {
        expect(modelOf((await ask(path, {})).text)).toBe(`${provider}/${SAMPLE_MODEL}`);
        const events = eventData((await ask(path, { stream: true })).text).slice(0, -1);
        expect(new Set(events.map(modelOf))).toEqual(new Set([`${provider}/${SAMPLE_MODEL}`]));
        // The proxy adds the prefix; the upstream never gets it.
        expect(upstream.last.json).toMatchObject({ model: SAMPLE_MODEL });
      }
    },
  );

  it('has the prefix only once if the upstream already reports it with the prefix', async () => {
    await start(sampleConfig(upstream));
    const reported = `{"id":"1","model":"${ANSWERED_MODEL}","choices":[]}`;
    expect((await ask('chat/completions', { script: answering(reported) })).text).toBe(reported);
    const stream = await ask('chat/completions', {
      stream: true,
      script: [event(reported), { write: 'data: [DONE]\n\n' }, { end: true }],
    });
    expect(eventData(stream.text)[0]).toBe(reported);
  });

  it.each([
    ['provider', ANSWERED_MODEL],
    ['upstream', SAMPLE_MODEL],
    ['requested', PUBLIC_MODEL],
  ])('is chosen by model_name_in_response: %s', async (choice, expected) => {
    await start(sampleConfig(upstream, { settings: [`model_name_in_response: ${choice}`] }));
    expect(modelOf((await ask('chat/completions', {})).text)).toBe(expected);
    const [first = ''] = eventData((await ask('completions', { stream: true })).text);
    expect(modelOf(first)).toBe(expected);
  });

  it('comes with every nullable field of the contract if fill_null_fields is set, else with unchanged fields', async () => {
    const chat =
      '{"id":"chatcmpl-1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}';
    const text =
      '{"id":"cmpl-1","model":"m","choices":[{"index":0,"text":"x","finish_reason":"stop"}],"usage":{"prompt_tokens":1}}';
    await start(sampleConfig(upstream, { settings: ['fill_null_fields: true'] }));
    expect((await ask('chat/completions', { script: answering(chat) })).json()).toEqual({
      id: 'chatcmpl-1',
      model: 'hosted_vllm/m',
      system_fingerprint: null,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'x', tool_calls: null, function_call: null },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 1, prompt_tokens_details: null, completion_tokens_details: null },
      service_tier: null,
      prompt_logprobs: null,
    });
    expect((await ask('completions', { script: answering(text) })).json()).toEqual({
      id: 'cmpl-1',
      model: 'hosted_vllm/m',
      choices: [
        { index: 0, text: 'x', logprobs: null, finish_reason: 'stop', stop_reason: null, prompt_logprobs: null },
      ],
      usage: expect.objectContaining({ prompt_tokens: 1, prompt_tokens_details: null }),
    });
    await proxy?.close();
    await start(sampleConfig(upstream));
    const plain = await ask('chat/completions', { script: answering(chat) });
    expect(plain.text).toBe(chat.replace('"m"', '"hosted_vllm/m"'));
  });
});
