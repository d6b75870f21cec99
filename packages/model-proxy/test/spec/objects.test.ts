/** Section 2 of the specification: a test for each field of both objects, plain and through the stream, through real HTTPS. */
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

/** What the proxy has to call a model that the upstream calls {@link REPORTED}. */
const PREFIXED = `hosted_vllm/${REPORTED}`;

/** One route's answers: as bytes that the upstream was told to send, plain and as an event, and as a plain upstream says them. */
interface Answered {
  readonly plain: Answer;
  readonly streamed: Answer;
  readonly sample: Readonly<Record<string, unknown>>;
}

describe('the objects of the specification', () => {
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
      sample: sample.json() as Answered['sample'], // the specification says that it is an object
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

  /** The field stands in both answers as often, and spelled, as the upstream sent it. */
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
  /** A value of the sample's own answer. */
  const at = (answer: Answered, ...path: readonly (string | number)[]): unknown =>
    path.reduce<unknown>((value, key) => (value as Readonly<Record<string | number, unknown>>)[key], answer.sample); // a test's own path

  it('changes nothing of an answer but the name of the model (C1, C5)', () => {
    expect(chat.plain.status).toBe(200);
    expect(chat.plain.text).toBe(chatObject.text.replace(REPORTED, PREFIXED));
    expect(text.plain.text).toBe(textObject.text.replace(REPORTED, PREFIXED));
    const stream = (object: ObjectText) => `data: ${chunkText(object).replace(REPORTED, PREFIXED)}\n\ndata: [DONE]\n\n`;
    expect(chat.streamed.text).toBe(stream(chatObject));
    expect(text.streamed.text).toBe(stream(textObject));
  });

  it('says how long the changed answer is (C5)', () => {
    expect(chat.plain.headers['content-length']).toBe(String(chat.plain.body.length));
    expect(chat.plain.headers['content-type']).toBe('application/json');
    expect(chat.streamed.headers['content-type']).toMatch(/^text\/event-stream/);
  });

  it('§2 Text completion object | id | begins with cmpl-, as the upstream sent it (C1)', () => {
    inText('id');
    expect(at(text, 'id')).toMatch(/^cmpl-./);
  });

  it('§2 Text completion object | object | text_completion (C1)', () => {
    inText('object');
    expect(at(text, 'object')).toBe('text_completion');
  });

  it('§2 Text completion object | created | Unix time in seconds, digit for digit (C1)', () => {
    inText('created');
    expect(at(text, 'created')).toEqual(expect.any(Number));
  });

  it('§2 Text completion object | model | as the server reports it, behind the prefix of its provider (C1, C5)', () => {
    inText('model');
    expect(at(text, 'model')).toBe(ANSWERED_MODEL);
  });

  it('§2 Text completion object | choices | an array, as the upstream sent it (C1)', () => {
    inText('choices');
    expect(at(text, 'choices')).toHaveLength(1);
  });

  it('§2 Text completion object | usage | an object, as the upstream sent it (C1)', () => {
    inText('usage');
    expect(at(text, 'usage')).toEqual(expect.any(Object));
  });

  it('§2 Text completion object | index | the position, 0-based (C1)', () => {
    inTextChoice('index');
    expect(at(text, 'choices', 0, 'index')).toBe(0);
  });

  it('§2 Text completion object | text | the generated text, its escapes as they were (C1)', () => {
    inTextChoice('text');
    expect(at(text, 'choices', 0, 'text')).toBe('You said: Hello there');
  });

  it('§2 Text completion object | logprobs | null survives (C1)', () => {
    inTextChoice('logprobs');
    expect(at(text, 'choices', 0, 'logprobs')).toBeNull();
  });

  it('§2 Text completion object | finish_reason | stop (C1)', () => {
    inTextChoice('finish_reason');
    expect(at(text, 'choices', 0, 'finish_reason')).toBe('stop');
  });

  it('§2 Text completion object | stop_reason | null survives (C1)', () => {
    inTextChoice('stop_reason');
    expect(at(text, 'choices', 0, 'stop_reason')).toBeNull();
  });

  it('§2 Text completion object | prompt_logprobs | null survives (C1)', () => {
    inTextChoice('prompt_logprobs');
    expect(at(text, 'choices', 0, 'prompt_logprobs')).toBeNull();
  });

  it('§2 Chat completion object | id | begins with chatcmpl-, as the upstream sent it (C1)', () => {
    inChat('id');
    expect(at(chat, 'id')).toMatch(/^chatcmpl-./);
  });

  it('§2 Chat completion object | created | Unix time in seconds (C1)', () => {
    inChat('created');
    expect(at(chat, 'created')).toEqual(expect.any(Number));
  });

  it('§2 Chat completion object | model | the upstream model with the prefix of its provider (C1, C5)', () => {
    inChat('model');
    expect(at(chat, 'model')).toBe(ANSWERED_MODEL);
  });

  it('§2 Chat completion object | object | chat.completion (C1)', () => {
    inChat('object');
    expect(at(chat, 'object')).toBe('chat.completion');
  });

  it('§2 Chat completion object | system_fingerprint | null survives (C1)', () => {
    inChat('system_fingerprint');
    expect(at(chat, 'system_fingerprint')).toBeNull();
  });

  it('§2 Chat completion object | choices | an array, as the upstream sent it (C1)', () => {
    inChat('choices');
    expect(at(chat, 'choices')).toHaveLength(1);
  });

  it('§2 Chat completion object | usage | an object, as the upstream sent it (C1)', () => {
    inChat('usage');
    expect(at(chat, 'usage')).toEqual(expect.any(Object));
  });

  it('§2 Chat completion object | service_tier | null survives (C1)', () => {
    inChat('service_tier');
    expect(at(chat, 'service_tier')).toBeNull();
  });

  it('§2 Chat completion object | prompt_logprobs | null survives (C1)', () => {
    inChat('prompt_logprobs');
    expect(at(chat, 'prompt_logprobs')).toBeNull();
  });

  it('§2 Chat completion object | finish_reason | stop (C1)', () => {
    inChatChoice('finish_reason');
    expect(at(chat, 'choices', 0, 'finish_reason')).toBe('stop');
  });

  it('§2 Chat completion object | index | the position, 0-based (C1)', () => {
    inChatChoice('index');
    expect(at(chat, 'choices', 0, 'index')).toBe(0);
  });

  it('§2 Chat completion object | message.role | assistant (C1)', () => {
    inChatChoice('message.role');
    expect(at(chat, 'choices', 0, 'message', 'role')).toBe('assistant');
  });

  it('§2 Chat completion object | message.content | the generated text, its escapes as they were (C1)', () => {
    inChatChoice('message.content');
    expect(at(chat, 'choices', 0, 'message', 'content')).toBe('You said: Hello there');
  });

  it('§2 Chat completion object | message.tool_calls | null survives (C1)', () => {
    inChatChoice('message.tool_calls');
    expect(at(chat, 'choices', 0, 'message', 'tool_calls')).toBeNull();
  });

  it('§2 Chat completion object | message.function_call | null survives (C1)', () => {
    inChatChoice('message.function_call');
    expect(at(chat, 'choices', 0, 'message', 'function_call')).toBeNull();
  });

  it('§2 Usage object | prompt_tokens | the tokens of the input, in both objects (C1)', () => {
    inUsage('prompt_tokens');
    expect([chat, text].map((answer) => at(answer, 'usage', 'prompt_tokens'))).toEqual([2, 2]);
  });

  it('§2 Usage object | completion_tokens | the tokens generated, in both objects (C1)', () => {
    inUsage('completion_tokens');
    expect([chat, text].map((answer) => at(answer, 'usage', 'completion_tokens'))).toEqual([4, 4]);
  });

  it('§2 Usage object | total_tokens | the sum of both, in both objects (C1)', () => {
    inUsage('total_tokens');
    expect([chat, text].map((answer) => at(answer, 'usage', 'total_tokens'))).toEqual([6, 6]);
  });

  it('§2 Usage object | prompt_tokens_details | null survives, in both objects (C1)', () => {
    inUsage('prompt_tokens_details');
    expect([chat, text].map((answer) => at(answer, 'usage', 'prompt_tokens_details'))).toEqual([null, null]);
  });

  it('§2 Usage object | completion_tokens_details | null survives, in both objects (C1)', () => {
    inUsage('completion_tokens_details');
    expect([chat, text].map((answer) => at(answer, 'usage', 'completion_tokens_details'))).toEqual([null, null]);
  });
});
