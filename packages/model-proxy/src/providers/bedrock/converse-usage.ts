/** Converts Bedrock's usage and stop reasons to Anthropic's. */
import { z } from 'zod';
import type { AnthropicUsage } from '../anthropic/answer.js';

const tokens = z.number().int().nonnegative().nullish();

const usageSchema = z
  .object({
    inputTokens: tokens,
    outputTokens: tokens,
    cacheReadInputTokens: tokens,
    cacheWriteInputTokens: tokens,
  })
  .nullish();

/** Returns Anthropic's usage. @throws {Error} if the value has another form, such as a negative number of tokens. */
export function anthropicUsage(value: unknown): AnthropicUsage {
  const usage = usageSchema.parse(value);
  return {
    input_tokens: usage?.inputTokens,
    output_tokens: usage?.outputTokens,
    cache_creation_input_tokens: usage?.cacheWriteInputTokens,
    cache_read_input_tokens: usage?.cacheReadInputTokens,
  };
}

/** Bedrock's stop reasons that Anthropic does not have. All other reasons have the same names. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['guardrail_intervened', 'refusal'],
  ['content_filtered', 'refusal'],
]);

/** Returns Anthropic's stop reason. */
export const stopReason = (reason: string): string => reasons.get(reason) ?? reason;
