import { describe, expect, it } from '@jest/globals';
import { findUsage, findUsageInText } from './usage.js';

/** Returns what `findUsage` finds, and expects the same from `findUsageInText`. */
function found(text: string) {
  const bytes = Buffer.from(text);
  const usage = findUsage(bytes);
  expect(findUsageInText(bytes.toString('latin1'))).toEqual(usage);
  return usage;
}

describe('findUsage', () => {
  it.each([
    ['{"id":"a","usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21}}', 9, 12, 21],
    ['{"usage" : { "completion_tokens" : 12, "prompt_tokens" : 9 } , "id":1}', 9, 12, 21],
    ['{"usage":{"prompt_tokens_details":null,"prompt_tokens":9,"total_tokens":9}}', 9, 0, 9],
    ['data: {"response":{"usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}}\n\ndata: [DONE]\n\n', 3, 4, 7],
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
});
