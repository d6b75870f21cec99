import { describe, expect, it, jest } from '@jest/globals';
import { findUsage, findUsageInChunks } from './usage.js';

/** Returns what `findUsage` finds in bytes, and expects the same for their text and for chunks. */
function found(text: string) {
  const bytes = Buffer.from(text);
  const usage = findUsage(bytes);
  expect(findUsage(bytes.toString('latin1'))).toEqual(usage);
  for (const size of [7, 4096, 65_536]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    expect(findUsageInChunks(chunks)?.totalTokens).toBe(usage?.totalTokens);
  }
  return usage;
}

/** Makes an answer with members after its usage, which some upstreams send on the request of the client. */
const answerWith = (after: object) =>
  JSON.stringify({ id: 'a', usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 }, ...after });

describe('findUsage', () => {
  it.each([
    ['{"id":"a","usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21}}', 9, 12, 21],
    ['{"usage" : { "completion_tokens" : 12, "prompt_tokens" : 9 } , "id":1}', 9, 12, 21],
    ['{"usage":{"prompt_tokens_details":null,"prompt_tokens":9,"total_tokens":9}}', 9, 0, 9],
    ['data: {"response":{"usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}}\n\ndata: [DONE]\n\n', 3, 4, 7],
    ['{"usage":{"total_input_tokens":3,"total_output_tokens":4,"total_thought_tokens":5,"total_tokens":12}}', 3, 9, 12],
    ['{"content":"{\\"usage\\":{\\"prompt_tokens\\":1}}","usage":{"prompt_tokens":2}}', 2, 0, 2],
  ])('counts the tokens of %s', (text, inputTokens, outputTokens, totalTokens) => {
    expect(found(text)).toMatchObject({ inputTokens, outputTokens, totalTokens });
  });

  it.each([
    '',
    '{"usage":null}',
    '{"usage":{}}',
    '{"usage":"prompt_tokens"}',
    '{"text":"\\"usage\\":{\\"prompt_tokens\\":1}"}',
    '{"kind":"usage","prompt_tokens":1}',
  ])('finds no usage in %s', (text) => {
    expect(found(text)).toBeNull();
  });

  it.each([
    ['names and texts of the metadata', { usage: 'x', a: 'usage', b: '{"total_tokens":1}' }],
    [
      'as many names as a client may send',
      Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, 'usage'])),
    ],
    ['9 KB of metadata', Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, '\u0001'.repeat(512)]))],
  ])('finds the usage before %s', (_what, metadata) => {
    expect(found(answerWith({ user: null, metadata }))).toMatchObject({ inputTokens: 3, outputTokens: 4 });
  });

  it.each([2040, 8192, 65_536, 73_728, 300_000])('finds the usage before %d bytes', (size) => {
    for (let shift = -40; shift <= 40; shift += 1)
      expect(found(answerWith({ logprobs: 'x'.repeat(size + shift) }))).toMatchObject({ totalTokens: 7 });
  });

  it('reads only the object of the usage', () => {
    const metadata = { total_input_tokens: 'x', total_tokens: 0, cached_tokens: 9 };
    const usage = { input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 4 };
    expect(found(JSON.stringify({ usage, metadata }))).toMatchObject({ inputTokens: 5, totalTokens: 9 });
  });

  it.each([200, 20_000])('finds the usage before %d texts that are its name', (count) => {
    const logprobs = Array.from({ length: count }, () => ({ '5': { logprob: -1, decoded_token: 'usage' } }));
    expect(found(answerWith({ prompt_logprobs: logprobs }))).toMatchObject({ totalTokens: 7 });
  });

  it.each(['"usage",', '"usage":{', '"usage": '])('ends soon if an answer is full of %s', (name) => {
    expect(findUsage(Buffer.from(name.repeat(500_000)))).toBeNull();
  });

  it.each(['{"usage":{}},', '{"usage":{"a_tokens":1}},'])('needs few patterns for an answer full of %s', (name) => {
    const match = jest.spyOn(RegExp.prototype, 'exec');
    const count = 1000;
    expect(findUsage(name.repeat(count))).toBeNull();
    // All patterns for a usage would be six.
    expect(match.mock.calls.length).toBeLessThan(4 * count);
    match.mockRestore();
  });
});
