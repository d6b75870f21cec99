/**
 * The objects of docs/reference/contract.md, `chat.completion` and `text_completion`: a test for each field, plain and
 * streamed. The connection to the upstream uses real HTTPS.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { done, event } from '../harness/script.js';
import { call, eventData, type Answer } from '../harness/call.js';
import { ANSWERED_MODEL, PUBLIC_MODEL, sampleConfig, startTestProxy, type TestProxy } from '../harness/proxy.js';
import { TestUpstream } from '../harness/upstream.js';
import {
  chatObject,
  chunkText,
  REPORTED,
  textObject,
  usageFields,
  type FieldText,
  type ObjectText,
} from './objects-text.js';

/** The proxy's name for the model {@link REPORTED}. */
const PREFIXED = `hosted_vllm/${REPORTED}`;

/**
 * Three answers of the proxy at one path: the object that the script gives, plain and as an event of a
 * stream, and the usual answer of the sample upstream.
 */
interface Answered {
  readonly plain: Answer;
  readonly streamed: Answer;
  readonly sample: Readonly<Record<string, unknown>>;
}

describe('the objects of the contract', () => {
  let upstream: TestUpstream;
  let proxy: TestProxy;
  let chat: Answered;
  let text: Answered;

  const answered = async (path: string, input: object, object: ObjectText): Promise<Answered> => {
    const send = (more: object) =>
      call(`${proxy.url}/v1/${path}`, { body: { model: PUBLIC_MODEL, ...input, ...more } });
    const sample = await send({});
    return {
      plain: await send({ script: [{ write: object.text }, { end: true }] }),
      streamed: await send({ stream: true, script: [event(chunkText(object)), done, { end: true }] }),
      sample: sample.json() as Answered['sample'], // an object by the contract
    };
  };

  beforeAll(async () => {
    upstream = await TestUpstream.start();
    proxy = await startTestProxy(sampleConfig(upstream));
    chat = await answered('chat/completions', { messages: [{ role: 'user', content: 'Hello there' }] }, chatObject);
    text = await answered('completions', { prompt: 'Hello there', max_tokens: 32, temperature: 0 }, textObject);
  });
  afterAll(async () => {
    await proxy.close();
    await upstream.close();
  });

  const rowOf = (fields: readonly FieldText[], row: string): string => {
    const found = fields.find((field) => field.row === row);
    if (found === undefined) throw new Error(`no such row: ${row}`);
    return found.text;
  };
  const occurrences = (haystack: string, needle: string) => haystack.split(needle).length - 1;

  /** Expects the field exactly once in both answers, unchanged except for the name of the model. */
  const survives = (
    { plain, streamed }: Answered,
    object: ObjectText,
    fields: readonly FieldText[],
    row: string,
  ): void => {
    const expected = rowOf(fields, row).replace(REPORTED, PREFIXED);
    expect(occurrences(object.text.replace(REPORTED, PREFIXED), expected)).toBe(1);
    expect(occurrences(plain.text, expected)).toBe(1);
    const [chunk = ''] = eventData(streamed.text);
    expect(occurrences(chunk, chunkText({ text: expected, fields: [] }))).toBe(1);
  };
  const inChat = (row: string) => survives(chat, chatObject, chatObject.fields, row);
  const inChatChoice = (row: string) => survives(chat, chatObject, chatObject.choiceFields, row);
  const inText = (row: string) => survives(text, textObject, textObject.fields, row);
  const inTextChoice = (row: string) => survives(text, textObject, textObject.choiceFields, row);
  const inUsage = (row: string) => {
    survives(chat, chatObject, usageFields, row);
    survives(text, textObject, usageFields, row);
  };
  /** Returns the value at a path of the sample upstream's answer. */
  const at = (answer: Answered, ...path: readonly (string | number)[]): unknown =>
    path.reduce<unknown>((value, key) => (value as Readonly<Record<string | number, unknown>>)[key], answer.sample); // each test knows that its path exists

  it('reach the client with only the name of the model changed', () => {
    expect(chat.plain.status).toBe(200);
    expect(chat.plain.text).toBe(chatObject.text.replace(REPORTED, PREFIXED));
    expect(text.plain.text).toBe(textObject.text.replace(REPORTED, PREFIXED));
    const stream = (object: ObjectText) => `data: ${chunkText(object).replace(REPORTED, PREFIXED)}\n\ndata: [DONE]\n\n`;
    expect(chat.streamed.text).toBe(stream(chatObject));
    expect(text.streamed.text).toBe(stream(textObject));
  });

  it('have the Content-Length of the changed answer, and the content type of JSON or of a stream', () => {
    expect(chat.plain.headers['content-length']).toBe(String(chat.plain.body.length));
    expect(chat.plain.headers['content-type']).toBe('application/json');
    expect(chat.streamed.headers['content-type']).toMatch(/^text\/event-stream/);
  });

  it("MP-14 id: the upstream's id, unchanged; the ids of the sample upstream begin with cmpl-", () => {
    inText('id');
    expect(at(text, 'id')).toMatch(/^cmpl-./);
  });

  it('MP-15 object: text_completion', () => {
    inText('object');
    expect(at(text, 'object')).toBe('text_completion');
  });

  it('MP-16 created: Unix time in seconds. The proxy does not change its digits', () => {
    inText('created');
    expect(at(text, 'created')).toEqual(expect.any(Number));
  });

  it('MP-17 model: the name that the upstream reports, with the provider as prefix', () => {
    inText('model');
    expect(at(text, 'model')).toBe(ANSWERED_MODEL);
  });

  it('MP-18 choices: the choices of the upstream, unchanged', () => {
    inText('choices');
    expect(at(text, 'choices')).toHaveLength(1);
  });

  it('MP-19 usage: the usage object of the upstream, unchanged', () => {
    inText('usage');
    expect(at(text, 'usage')).toEqual(expect.any(Object));
  });

  it('MP-20 index: the position of the choice, from 0', () => {
    inTextChoice('index');
    expect(at(text, 'choices', 0, 'index')).toBe(0);
  });

  it('MP-21 text: the generated text. The proxy does not change its JSON escapes', () => {
    inTextChoice('text');
    expect(at(text, 'choices', 0, 'text')).toBe('You said: Hello there');
  });

  it("MP-22 logprobs: the upstream's null, unchanged", () => {
    inTextChoice('logprobs');
    expect(at(text, 'choices', 0, 'logprobs')).toBeNull();
  });

  it("MP-23 finish_reason: the upstream's value, unchanged, for example stop", () => {
    inTextChoice('finish_reason');
    expect(at(text, 'choices', 0, 'finish_reason')).toBe('stop');
  });

  it("MP-24 stop_reason: the upstream's null, unchanged", () => {
    inTextChoice('stop_reason');
    expect(at(text, 'choices', 0, 'stop_reason')).toBeNull();
  });

  it("MP-25 prompt_logprobs: the upstream's null, unchanged", () => {
    inTextChoice('prompt_logprobs');
    expect(at(text, 'choices', 0, 'prompt_logprobs')).toBeNull();
  });

  it("MP-26 id: the upstream's id, unchanged; the ids of the sample upstream begin with chatcmpl-", () => {
    inChat('id');
    expect(at(chat, 'id')).toMatch(/^chatcmpl-./);
  });

  it('MP-27 created: Unix time in seconds. The proxy does not change it', () => {
    inChat('created');
    expect(at(chat, 'created')).toEqual(expect.any(Number));
  });

  it('MP-28 model: the name that the upstream reports, with the provider as prefix', () => {
    inChat('model');
    expect(at(chat, 'model')).toBe(ANSWERED_MODEL);
  });

  it('MP-29 object: chat.completion', () => {
    inChat('object');
    expect(at(chat, 'object')).toBe('chat.completion');
  });

  it("MP-30 system_fingerprint: the upstream's null, unchanged", () => {
    inChat('system_fingerprint');
    expect(at(chat, 'system_fingerprint')).toBeNull();
  });

  it('MP-31 choices: the choices of the upstream, unchanged', () => {
    inChat('choices');
    expect(at(chat, 'choices')).toHaveLength(1);
  });

  it('MP-32 usage: the usage object of the upstream, unchanged', () => {
    inChat('usage');
    expect(at(chat, 'usage')).toEqual(expect.any(Object));
  });

  it("MP-33 service_tier: the upstream's null, unchanged", () => {
    inChat('service_tier');
    expect(at(chat, 'service_tier')).toBeNull();
  });

  it("MP-34 prompt_logprobs: the upstream's null, unchanged", () => {
    inChat('prompt_logprobs');
    expect(at(chat, 'prompt_logprobs')).toBeNull();
  });

  it("MP-35 finish_reason: the upstream's value, unchanged, for example stop", () => {
    inChatChoice('finish_reason');
    expect(at(chat, 'choices', 0, 'finish_reason')).toBe('stop');
  });

  it('MP-36 index: the position of the choice, from 0', () => {
    inChatChoice('index');
    expect(at(chat, 'choices', 0, 'index')).toBe(0);
  });

  it('MP-37 message.role: assistant', () => {
    inChatChoice('message.role');
    expect(at(chat, 'choices', 0, 'message', 'role')).toBe('assistant');
  });

  it('MP-38 message.content: the generated text. The proxy does not change its JSON escapes', () => {
    inChatChoice('message.content');
    expect(at(chat, 'choices', 0, 'message', 'content')).toBe('You said: Hello there');
  });

  it("MP-39 message.tool_calls: the upstream's null, unchanged", () => {
    inChatChoice('message.tool_calls');
    expect(at(chat, 'choices', 0, 'message', 'tool_calls')).toBeNull();
  });

  it("MP-40 message.function_call: the upstream's null, unchanged", () => {
    inChatChoice('message.function_call');
    expect(at(chat, 'choices', 0, 'message', 'function_call')).toBeNull();
  });

  it('MP-41 prompt_tokens: the number of input tokens, in both objects', () => {
    inUsage('prompt_tokens');
    expect([chat, text].map((answer) => at(answer, 'usage', 'prompt_tokens'))).toEqual([2, 2]);
  });

  it('MP-42 completion_tokens: the number of generated tokens, in both objects', () => {
    inUsage('completion_tokens');
    expect([chat, text].map((answer) => at(answer, 'usage', 'completion_tokens'))).toEqual([4, 4]);
  });

  it('MP-43 total_tokens: the sum of input and generated tokens, in both objects', () => {
    inUsage('total_tokens');
    expect([chat, text].map((answer) => at(answer, 'usage', 'total_tokens'))).toEqual([6, 6]);
  });

  it("MP-44 prompt_tokens_details: the upstream's null in both objects, unchanged", () => {
    inUsage('prompt_tokens_details');
    expect([chat, text].map((answer) => at(answer, 'usage', 'prompt_tokens_details'))).toEqual([null, null]);
  });

  it("MP-45 completion_tokens_details: the upstream's null in both objects, unchanged", () => {
    inUsage('completion_tokens_details');
    expect([chat, text].map((answer) => at(answer, 'usage', 'completion_tokens_details'))).toEqual([null, null]);
  });
});
