import { describe, expect, it } from '@jest/globals';
import { rewriteAnswer, rewriteText, type AnswerRewrite, type NullableMembers } from './rewrite-answer.js';

const prefixed: AnswerRewrite = { modelPaths: [['model']], model: (name) => `vllm/${name}`, nullable: null };

function rewrite(text: string | Buffer, options: Partial<AnswerRewrite> = {}, chunkBytes = 16_384): string {
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) chunks.push(bytes.subarray(at, at + chunkBytes));
  const rewritten = Buffer.concat(rewriteAnswer(chunks, { ...prefixed, ...options })).toString('latin1');
  // The text of a small answer has the same changes.
  expect(rewriteText(bytes, bytes.toString('latin1'), { ...prefixed, ...options })).toBe(rewritten);
  return rewritten;
}

const chat: NullableMembers = {
  answer: ['system_fingerprint', 'service_tier'],
  choice: ['stop_reason'],
  message: ['tool_calls', 'function_call'],
  usage: ['prompt_tokens_details'],
};

describe('rewriting an answer', () => {
  it('replaces the model and no other byte', () => {
    expect(rewrite(' { "id":"a" ,\n"model" : "gpt\\/oss", "x":1.0e2,"\\u0078":[ ] }\n')).toBe(
      ' { "id":"a" ,\n"model" : "vllm/gpt/oss", "x":1.0e2,"\\u0078":[ ] }\n',
    );
  });

  it('writes a name that is not ASCII in UTF-8', () => {
    const utf8 = Buffer.from('{"text":"é","model":"vllm/modèle"}').toString('latin1');
    expect(rewrite('{"text":"é","model":"modèle"}')).toBe(utf8);
  });

  it('changes nothing if the model is missing, null or not a string, or if its new name is the same', () => {
    for (const text of [
      '{"id":"a"}',
      '{"model":null}',
      '{"model":1}',
      '{"model":{"model":"x"}}',
      '{"choices":[{"model":"x"}]}',
    ]) {
      expect(rewrite(text)).toBe(text);
    }
    expect(rewrite('{"model":"a\\u0062"}', { model: (name) => name })).toBe('{"model":"a\\u0062"}');
    expect(rewrite('{"model":"x"}', { model: null })).toBe('{"model":"x"}');
  });

  it('changes nothing if the text contains no model of a JSON object', () => {
    for (const text of [
      '',
      'model',
      '[{"model":"x"}]',
      '"model":"x"',
      '{"model":"x',
      '{"model":"x\n"}',
      '{model:"x"}',
      '{"a" "model":"x"}',
    ]) {
      expect(rewrite(text)).toBe(text);
      expect(rewrite(text, { nullable: chat })).toBe(text);
    }
  });

  it('replaces only the model at the first of several paths that has a name', () => {
    const modelPaths = [['model'], ['response', 'model']];
    expect(rewrite('{"response":{"model":"a"}}', { modelPaths })).toBe('{"response":{"model":"vllm/a"}}');
    expect(rewrite('{"model":null,"response":{"model":"a"}}', { modelPaths })).toBe(
      '{"model":null,"response":{"model":"vllm/a"}}',
    );
    expect(rewrite('{"response":{"model":"a"},"model":"b"}', { modelPaths })).toBe(
      '{"response":{"model":"a"},"model":"vllm/b"}',
    );
  });

  it('replaces the last of two models, as JSON.parse takes the last', () => {
    expect(rewrite('{"model":"a","x":{"model":"no"},"model":"b"}')).toBe(
      '{"model":"a","x":{"model":"no"},"model":"vllm/b"}',
    );
    const modelPaths = [['model'], ['response', 'model']];
    expect(
      rewrite('{"response":{"model":"a","model":"b"},"response":{"model":"c", "model":"d"},"x":"model"}', {
        modelPaths,
      }),
    ).toBe('{"response":{"model":"a","model":"b"},"response":{"model":"c", "model":"vllm/d"},"x":"model"}');
    // Text after the first model that is not JSON does not hide that model.
    expect(rewrite('{"model":"a","x" "model":"b"}')).toBe('{"model":"vllm/a","x" "model":"b"}');
  });

  it('replaces the last model at the top of a long answer, in chunks of five sizes', () => {
    const data = JSON.stringify(Array.from({ length: 3000 }, (_, index) => [index / 7, { n: 'model ' }]));
    for (const text of [
      (name: string) => `{"model":"no","data":${data},"model":"${name}"}`,
      (name: string) => `{"model":"no","data":${data},"model" :"${name}","more":${data}}`,
      (name: string) => `{"model":"no","model":"${name}","data":${data}}`,
      (name: string) => `{"model":"${name}","data":${data},"x":{"model":"no"}}`,
    ]) {
      for (const chunkBytes of [3, 11, 1021, 65_536, 10_000_000])
        expect(rewrite(text('a'), {}, chunkBytes) === text('vllm/a')).toBe(true);
    }
  });

  it('finds the model before, after and between the data of a long answer', () => {
    const data = JSON.stringify(
      Array.from({ length: 20_000 }, (_, index) => [index / 7, '"model":"no"', { model: 'no' }]),
    );
    const texts = [
      (name: string) => `{"object":"list","model":"${name}","data":${data}}`,
      (name: string) => `{"object":"list","data":${data},"model":"${name}","usage":{"model":1}}\n`,
      (name: string) => `{"data":${data},"model" :"${name}" ,"more":${data}}`,
      (name: string) => `{"data":${data},"response":{"model":"${name}"},"more":${data}}`,
    ];
    for (const text of texts) {
      for (const chunkBytes of [1021, 65_536, 10_000_000]) {
        const options = { modelPaths: [['model'], ['response', 'model']] };
        expect(rewrite(text('a'), options, chunkBytes) === text('vllm/a')).toBe(true);
      }
    }
    const without = `{"data":${data}}`;
    expect(rewrite(without) === without).toBe(true);
    const broken = `{"data":${data}`;
    expect(rewrite(broken) === broken).toBe(true);
  });

  it('shares the memory of the received chunks in long answers', () => {
    const chunks = [Buffer.from('{"model":"a","data":"'), Buffer.alloc(100_000, 'x'), Buffer.from('"}')];
    const pieces = rewriteAnswer(chunks, prefixed);
    expect(pieces.map(({ length }) => length)).toEqual([9, 8, 9, 100_000, 2]);
    expect(pieces[3]).toBe(chunks[1]);
  });

  it('adds missing nullable members to every choice and changes no other byte', () => {
    expect(
      rewrite(
        '{"id":"a", "model":"m","choices":[ {"index":0,"message":{"role":"assistant","content":"{}","tool_calls":[{}]}} ,{"message":{ },"stop_reason":"x"}],"usage":{"prompt_tokens":1},"service_tier":"flex" }',
        { nullable: chat },
      ),
    ).toBe(
      '{"id":"a", "model":"vllm/m","choices":[ {"index":0,"message":{"role":"assistant","content":"{}","tool_calls":[{}],"function_call":null},"stop_reason":null} ,' +
        '{"message":{"tool_calls":null,"function_call":null },"stop_reason":"x"}],"usage":{"prompt_tokens":1,"prompt_tokens_details":null},"service_tier":"flex","system_fingerprint":null }',
    );
  });

  it('does not change an answer that has every nullable member, null or not', () => {
    const text =
      '{"choices":[{"message":{"tool_calls":null,"function_call":{}},"stop_reason":1}],"usage":null,"system_fingerprint":"f","service_tier":null}';
    expect(rewrite(text, { nullable: chat })).toBe(text);
  });

  it('adds nothing to an answer that is not a completion, and nothing to a choice that is no object', () => {
    for (const text of [
      '{"error":{"message":"m"}}',
      '{"choices":null}',
      '{"object":"list","data":[]}',
      '{"choices":[}',
    ]) {
      expect(rewrite(text, { nullable: chat })).toBe(text);
    }
    expect(rewrite('{"choices":[1,null]}', { nullable: chat })).toBe(
      '{"choices":[1,null],"system_fingerprint":null,"service_tier":null}',
    );
  });

  it('adds members to a long answer in small chunks', () => {
    const content = 'x'.repeat(200_000);
    const text = `{"model":"m","choices":[{"message":{"content":"${content}"}}]}`;
    const filled = JSON.parse(rewrite(text, { nullable: chat }, 1021)) as unknown;
    expect(filled).toEqual({
      model: 'vllm/m',
      choices: [{ message: { content, tool_calls: null, function_call: null }, stop_reason: null }],
      system_fingerprint: null,
      service_tier: null,
    });
  });
});
