/**
 * Divides the tokens of a usage into kinds that may have different prices.
 * @see https://platform.openai.com/docs/guides/prompt-caching
 * @see https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
import { parseJson } from '@rackless/daemon/text/json.js';
import { skipValue } from '../../json/navigate.js';
import { recordOf } from '../../providers/anthropic/values.js';
import type { TokenPrices } from '../../providers/prices.js';
import type { Usage } from './usage.js';

/** Numbers of tokens. Each token of the usage is in only one of them. */
type TokenKinds = Readonly<Record<keyof TokenPrices, number>>;

/** The kinds that an upstream reports beside the totals. Here, `cacheWrite` includes `longCacheWrite`. */
type Reported = Omit<TokenKinds, 'input' | 'output'>;

const none: Reported = { cacheRead: 0, cacheWrite: 0, longCacheWrite: 0, inputAudio: 0, outputAudio: 0, reasoning: 0 };

/**
 * Returns the kinds. Those of the input add up to `inputTokens`, those of the output to `outputTokens`, even if the
 * upstream reports more tokens of a kind.
 */
export function tokenKinds({ inputTokens, outputTokens, sources = [] }: Usage): TokenKinds {
  const found = sources.map(reported).reduce(largest, none);
  const input = divisible(inputTokens);
  const output = divisible(outputTokens);
  const longCacheWrite = input.take(found.longCacheWrite);
  const cacheWrite = input.take(Math.max(0, found.cacheWrite - longCacheWrite));
  const cacheRead = input.take(found.cacheRead);
  const inputAudio = input.take(found.inputAudio);
  const outputAudio = output.take(found.outputAudio);
  const reasoning = output.take(found.reasoning);
  return {
    longCacheWrite,
    cacheWrite,
    cacheRead,
    inputAudio,
    outputAudio,
    reasoning,
    input: input.left(),
    output: output.left(),
  };
}

/** A number of tokens, from which kinds take their tokens until none is left. */
function divisible(total: number) {
  let left = total;
  return {
    take: (wanted: number): number => {
      const taken = Math.min(wanted, left);
      left -= taken;
      return taken;
    },
    left: () => left,
  };
}

/** Reads the kinds of a usage object; all are 0 if the object is not complete JSON. */
function reported(source: string): Reported {
  // The text was decoded as latin1.
  const bytes = Buffer.from(source, 'latin1');
  const end = skipValue(bytes, 0, bytes.length);
  const usage = recordOf(end === -1 ? undefined : parseJson(bytes.toString('latin1', 0, end))) ?? {};
  const ofInput =
    recordOf(usage['prompt_tokens_details'] ?? usage['input_tokens_details'] ?? usage['input_token_details']) ?? {};
  const ofOutput =
    recordOf(usage['completion_tokens_details'] ?? usage['output_tokens_details'] ?? usage['output_token_details']) ??
    {};
  const lifetimes = recordOf(usage['cache_creation'] ?? ofInput['cache_creation_token_details']) ?? {};
  return {
    // The last name is DeepSeek's.
    cacheRead: count(usage['cache_read_input_tokens'], ofInput['cached_tokens'], usage['prompt_cache_hit_tokens']),
    cacheWrite: count(
      usage['cache_creation_input_tokens'],
      ofInput['cache_creation_tokens'],
      ofInput['cache_write_tokens'],
    ),
    longCacheWrite: count(lifetimes['ephemeral_1h_input_tokens']),
    inputAudio: count(ofInput['audio_tokens']),
    outputAudio: count(ofOutput['audio_tokens']),
    reasoning: count(ofOutput['reasoning_tokens']),
  };
}

function largest(one: Reported, other: Reported): Reported {
  return {
    cacheRead: Math.max(one.cacheRead, other.cacheRead),
    cacheWrite: Math.max(one.cacheWrite, other.cacheWrite),
    longCacheWrite: Math.max(one.longCacheWrite, other.longCacheWrite),
    inputAudio: Math.max(one.inputAudio, other.inputAudio),
    outputAudio: Math.max(one.outputAudio, other.outputAudio),
    reasoning: Math.max(one.reasoning, other.reasoning),
  };
}

/** Returns the first positive number of the values, or 0. */
function count(...values: readonly unknown[]): number {
  for (const value of values) if (typeof value === 'number' && value > 0) return value;
  return 0;
}
