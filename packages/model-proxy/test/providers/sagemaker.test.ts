/**
 * Endpoints of Amazon SageMaker. The client is OpenAI's SDK. The shapes are those of the documentation of AWS and of
 * Hugging Face's container.
 * @see https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html
 * @see https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_ResponseStream.html
 * @see https://huggingface.co/docs/text-generation-inference/reference/api_reference
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { frame, stream } from './aws-frames.js';
import { cleanUp, entry, json, Vendors } from './vendors.js';

const HOST = 'runtime.sagemaker.eu-west-1.amazonaws.com';
const messages = [
  { role: 'system' as const, content: 'Be short.' },
  { role: 'user' as const, content: 'hello' },
];

/** Returns a container's text as SageMaker's frames. A frame may end inside an event or a character. */
function parts(text: string, size: number): Buffer {
  const bytes = Buffer.from(text);
  const frames = [];
  for (let at = 0; at < bytes.length; at += size) frames.push(frame('PayloadPart', bytes.subarray(at, at + size)));
  return Buffer.concat(frames);
}

describe('the proxy with endpoints of SageMaker', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start([HOST]);
    const keys = { aws_region_name: 'eu-west-1', aws_access_key_id: 'AKIDEXAMPLE', aws_secret_access_key: 'secret-1' };
    proxy = await vendors.proxy([
      entry('text', { model: 'sagemaker/my-endpoint', top_k: '1', ...keys }),
      entry('chat', { model: 'sagemaker_chat/my-endpoint', ...keys }),
    ]);
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  cleanUp(() => ({ vendors, proxy }));

  it('MP-149 answers chat completions through a container without a chat API', async () => {
    const details = { finish_reason: 'length', generated_tokens: 2, prefill: [{ id: 1 }] };
    vendors.answers.set(HOST, json([{ generated_text: 'Hi!', details }]));
    const answer = await client.chat.completions.create({
      model: 'text',
      messages,
      max_completion_tokens: 2,
      temperature: 0,
      stop: 'END',
    });
    expect(answer).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'length' }],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    });
    const request = vendors.firstRequest();
    expect(request.line).toBe(`POST https://${HOST}/endpoints/my-endpoint/invocations`);
    expect(request.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/sagemaker\//,
    );
    expect(request.json).toEqual({
      inputs: 'Be short. hello',
      parameters: { top_k: '1', do_sample: false, max_new_tokens: 2, stop: ['END'] },
    });
  });

  it('answers completions with a container of Deep Java Library', async () => {
    vendors.answers.set(HOST, json({ generated_text: ' world' }));
    const answer = await client.completions.create({ model: 'text', prompt: 'hello', temperature: 0.5 });
    expect(answer.choices).toEqual([{ index: 0, text: ' world', logprobs: null, finish_reason: 'stop' }]);
    expect(vendors.firstRequest().json).toEqual({ inputs: 'hello', parameters: { top_k: '1', temperature: 0.5 } });
  });

  it.each([5, 10_000])('streams the tokens of a container out of parts of %i bytes', async (size) => {
    const tokens = ['Schnee', ' 雪'].map((text, id) => ({ index: id, token: { id, text, special: false } }));
    const end = {
      token: { id: 2, text: '</s>', special: true },
      generated_text: 'Schnee 雪',
      details: { finish_reason: 'eos_token', generated_tokens: 3 },
    };
    const text = [...tokens, end].map((event) => `data:${JSON.stringify(event)}\n\n`).join('');
    vendors.answers.set(HOST, stream(parts(text, size), 50));
    const received = await client.chat.completions.create({ model: 'text', messages, stream: true });
    const all = [];
    for await (const event of received) all.push(event);
    expect(all.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Schnee 雪');
    expect(all.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: { completion_tokens: 3 } });
    const request = vendors.firstRequest();
    expect(request.line).toBe(`POST https://${HOST}/endpoints/my-endpoint/invocations-response-stream`);
    expect(request.json).toMatchObject({ stream: true });
  });

  it('makes embeddings with a model of JumpStart', async () => {
    vendors.answers.set(HOST, json({ embedding: [[1], [2]] }));
    const found = await client.embeddings.create({ model: 'text', input: ['a', 'b'], encoding_format: 'float' });
    expect(found.data.map(({ embedding }) => embedding)).toEqual([[1], [2]]);
    expect(vendors.firstRequest().json).toEqual({ text_inputs: ['a', 'b'] });
  });

  it("answers chats with a container that has OpenAI's API", async () => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi!' }, finish_reason: 'stop' }];
    vendors.answers.set(HOST, json({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices }));
    const answer = await client.chat.completions.create({ model: 'chat', messages, temperature: 0 });
    expect(answer.choices).toEqual(choices);
    expect(vendors.firstRequest().json).toEqual({ messages, temperature: 0 });
  });

  it.each([3, 10_000])("streams the events of OpenAI's API out of parts of %i bytes", async (size) => {
    const event = (delta: object, finish_reason: string | null) =>
      `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    const text = `${event({ content: 'Hi 雪' }, null)}${event({}, 'stop')}data: [DONE]\n\n`;
    vendors.answers.set(HOST, stream(parts(text, size)));
    const received = await client.chat.completions.create({ model: 'chat', messages, stream: true });
    let content = '';
    for await (const { choices } of received) content += choices[0]?.delta.content ?? '';
    expect(content).toBe('Hi 雪');
  });

  it('reports errors of the container, of SageMaker, and in streams', async () => {
    vendors.answers.set(
      HOST,
      json(
        { Message: 'Received client error (422)', OriginalMessage: 'inputs is too long', OriginalStatusCode: 422 },
        424,
      ),
    );
    const failed = client.chat.completions.create({ model: 'chat', messages });
    await expect(failed).rejects.toMatchObject({ status: 424, message: expect.stringContaining('inputs is too long') });
    vendors.answers.set(HOST, json({ Message: 'Endpoint my-endpoint not found.' }, 400));
    const missing = client.chat.completions.create({ model: 'text', messages });
    await expect(missing).rejects.toMatchObject({ message: expect.stringContaining('not found') });
    vendors.answers.set(HOST, stream(frame('ModelStreamError', { Message: 'time exceeded' }, 'exception')));
    const broken = client.chat.completions.create({ model: 'text', messages, stream: true });
    await expect(broken).rejects.toMatchObject({ status: 500, message: expect.stringContaining('time exceeded') });
  });
});
