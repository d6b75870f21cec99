/**
 * Divides the tokens of a usage into kinds that may have different prices.
 * @see https://platform.openai.com/docs/guides/prompt-caching
 * @see https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
import { parseJson } from '@rackless/daemon/text/json.js';
import type { TokenPrices } from '../../providers/prices.js';
import type { Usage } from './usage.js';

/** Numbers of tokens. Each token of the usage is in only one of them. */
type TokenKinds = Readonly<Record<keyof TokenPrices, number>>;

/** The kinds that an upstream reports beside the totals. */
type Reported = Omit<TokenKinds, 'input' | 'output'>;

const none: Reported = { cacheRead: 0, cacheWrite: 0, longCacheWrite: 0, inputAudio: 0, outputAudio: 0, reasoning: 0 };

/** Returns the kinds. The sum of the kinds never exceeds the totals, whatever the upstream reports. */
export function tokenKinds({ inputTokens, outputTokens, sources = [] }: Usage): TokenKinds {
  const found = sources.map(reported).reduce(largest, none);
  let inputLeft = inputTokens;
  const ofInput = (count: number) => {
    const taken = Math.min(count, inputLeft);
    inputLeft -= taken;
    return taken;
  };
  let outputLeft = outputTokens;
  const ofOutput = (count: number) => {
    const taken = Math.min(count, outputLeft);
    outputLeft -= taken;
    return taken;
  };
  const longCacheWrite = ofInput(found.longCacheWrite);
  const cacheWrite = ofInput(Math.max(0, found.cacheWrite - longCacheWrite));
  const cacheRead = ofInput(found.cacheRead);
  const inputAudio = ofInput(found.inputAudio);
  const outputAudio = ofOutput(found.outputAudio);
  const reasoning = ofOutput(found.reasoning);
  return {
    longCacheWrite,
    cacheWrite,
    cacheRead,
    inputAudio,
    outputAudio,
    reasoning,
    input: inputLeft,
    output: outputLeft,
  };
}

/** Reads the kinds of a usage object; none: it is not complete JSON. */
function reported(source: string): Reported {
  const usage = recordOf(parseJson(objectText(source)));
  const ofInput = recordOf(
    usage['prompt_tokens_details'] ?? usage['input_tokens_details'] ?? usage['input_token_details'],
  );
  const ofOutput = recordOf(
    usage['completion_tokens_details'] ?? usage['output_tokens_details'] ?? usage['output_token_details'],
  );
  const lifetimes = recordOf(usage['cache_creation'] ?? ofInput['cache_creation_token_details']);
  return {
    // DeepSeek has its own name.
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

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** Returns the text up to the end of the object at its beginning. Texts in it have no brackets that matter. */
function objectText(text: string): string {
  let depth = 0;
  let inText = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (inText && character === '\\') at += 1;
    else if (character === '"') inText = !inText;
    else if (!inText && character === '{') depth += 1;
    else if (!inText && character === '}' && (depth -= 1) === 0) return text.slice(0, at + 1);
  }
  return text;
}
