import { describe, expect, it } from '@jest/globals';
import { makeDeployment } from '../../../test/support/deployment.js';
import { costOf } from './response-cost.js';
import { findUsage, joinUsage } from './usage.js';

const prices = {
  input_cost_per_token: 10,
  output_cost_per_token: 100,
  cache_read_input_token_cost: 1,
  cache_creation_input_token_cost: 12,
  cache_creation_input_token_cost_above_1hr: 20,
  input_cost_per_audio_token: 50,
  output_cost_per_audio_token: 500,
  output_cost_per_reasoning_token: 200,
};
const usageOf = (usage: object) => {
  const found = findUsage(Buffer.from(JSON.stringify({ id: 'a', usage, z: '}' })));
  if (found === null) throw new Error('the answer has no usage');
  return found;
};
const cost = (usage: object, modelInfo: object = prices) =>
  costOf(makeDeployment({ modelInfo: { ...modelInfo } }), usageOf(usage));

describe('the cost of an answer', () => {
  it.each([
    [
      "OpenAI's chat",
      {
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 110,
        prompt_tokens_details: { cached_tokens: 60, audio_tokens: 10 },
        completion_tokens_details: { reasoning_tokens: 4, audio_tokens: 1 },
      },
      30 * 10 + 60 * 1 + 10 * 50 + 5 * 100 + 4 * 200 + 500,
    ],
    [
      "OpenAI's responses",
      {
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 60 },
        output_tokens: 10,
        output_tokens_details: { reasoning_tokens: 4 },
        total_tokens: 110,
      },
      40 * 10 + 60 * 1 + 6 * 100 + 4 * 200,
    ],
    [
      "Anthropic's messages",
      {
        input_tokens: 5,
        cache_creation_input_tokens: 30,
        cache_read_input_tokens: 65,
        cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
        output_tokens: 10,
      },
      5 * 10 + 20 * 12 + 10 * 20 + 65 * 1 + 10 * 100,
    ],
    [
      "DeepSeek's cache",
      { prompt_tokens: 100, completion_tokens: 0, total_tokens: 100, prompt_cache_hit_tokens: 90 },
      10 * 10 + 90,
    ],
    ['a usage without kinds', { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }, 2000],
    [
      'a usage whose kinds are null',
      { prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: null, completion_tokens_details: null },
      2000,
    ],
  ])('has the price of each kind of tokens in %s', (_name, usage, expected) => {
    expect(cost(usage)).toBe(expected);
  });

  it('uses the price of the other tokens for kinds without a price', () => {
    const usage = { input_tokens: 5, cache_creation_input_tokens: 30, cache_read_input_tokens: 65, output_tokens: 10 };
    expect(cost(usage, { input_cost_per_token: 10, output_cost_per_token: 100 })).toBe(2000);
    expect(cost(usage, { input_cost_per_token: 10, cache_read_input_token_cost: '1e0' })).toBe(415);
  });

  it("counts the first and the last usage of Anthropic's stream, or an estimated output if the last is missing", () => {
    const first = usageOf({
      input_tokens: 5,
      cache_creation_input_tokens: 30,
      cache_read_input_tokens: 65,
      output_tokens: 1,
    });
    const last = usageOf({ output_tokens: 10 });
    const deployment = makeDeployment({ modelInfo: prices });
    expect(costOf(deployment, joinUsage(first, last, 3))).toBe(5 * 10 + 30 * 12 + 65 + 10 * 100);
    expect(costOf(deployment, joinUsage(first, null, 3))).toBe(5 * 10 + 30 * 12 + 65 + 3 * 100);
  });

  it.each([
    ['more cached tokens than tokens', { cached_tokens: 1_000_000 }, 100],
    ['a negative number', { cached_tokens: -5 }, 1000],
    ['a text', { cached_tokens: '60' }, 1000],
    ['a list', [60], 1000],
  ])('counts each token exactly once, even if the usage has %s', (_name, details, expected) => {
    const usage = { prompt_tokens: 100, completion_tokens: 0, total_tokens: 100, prompt_tokens_details: details };
    expect(cost(usage)).toBe(expected);
  });

  it('has the prices for long requests above 200,000 input tokens', () => {
    const long = {
      ...prices,
      input_cost_per_token_above_200k_tokens: 20,
      output_cost_per_token_above_200k_tokens: 150,
    };
    const usage = (prompt_tokens: number) => ({
      prompt_tokens,
      completion_tokens: 10,
      total_tokens: prompt_tokens + 10,
      prompt_tokens_details: { cached_tokens: 100_000 },
    });
    expect(cost(usage(200_000), long)).toBe(100_000 * 10 + 100_000 + 1000);
    expect(cost(usage(200_001), long)).toBe(100_001 * 20 + 100_000 + 1500);
  });
});
