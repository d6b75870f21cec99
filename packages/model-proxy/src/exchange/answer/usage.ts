/**
 * Reads the number of tokens that the upstream counted, for metrics, limits and the cost of an answer.
 */
import { skipValue } from '../../json/navigate.js';

/** Tokens of a request and its answer. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /**
   * Excerpts of the answer, from which the proxy reads the other kinds of tokens. Each excerpt begins with
   * a usage object, and may continue after the object. Absent: the tokens are an estimate or a sum.
   */
  readonly sources?: readonly string[];
  /** The cost, if it is already known: that of several answers. Absent: it follows from the other members. */
  readonly cost?: number;
}

const USAGE_KEY = '"usage"';
/** Maximum size of `usage` with its name, in bytes. */
export const MAX_USAGE_BYTES = 2048;
/** The search begins with at least this number of last bytes. Most answers have their usage there. */
const TAIL_BYTES = 8192;
/** Then the search adds at least this number of bytes each time. */
const WINDOW_BYTES = 65_536;

/**
 * Finds the last `usage` of an answer, without parsing the rest. The search cannot match inside a longer JSON string,
 * because quotes are escaped there. It passes over names without a usage: clients can cause such names after the usage,
 * for example in `metadata`.
 * @param content the whole answer, or the last event of a stream: bytes, or their latin1 text.
 * @returns null if there is no `usage`, or its members have unknown names.
 */
export function findUsage(content: Buffer | string): Usage | null {
  for (const { usage } of usagesIn(content)) return usage;
  return null;
}

/** A usage, and the offset of its name. */
export interface FoundUsage {
  readonly at: number;
  readonly usage: Usage;
}

/** Finds all usages, the last one first. @param content bytes, or their latin1 text. */
export function* usagesIn(content: Buffer | string): Generator<FoundUsage> {
  let end = content.length;
  for (let at = lastIndexBefore(content, end); at !== -1; at = lastIndexBefore(content, end)) {
    const from = at + USAGE_KEY.length;
    // No usage contains another one. The next name as the limit makes the time proportional to the bytes.
    const to = Math.min(end, at + MAX_USAGE_BYTES);
    const usage = usageIn(typeof content === 'string' ? content.slice(from, to) : content.toString('latin1', from, to));
    if (usage !== null) yield { at, usage };
    end = at;
  }
}

/** Returns the offset of the last name `usage` that begins before an offset; -1: none. */
function lastIndexBefore(content: Buffer | string, end: number): number {
  return end === 0 ? -1 : content.lastIndexOf(USAGE_KEY, end - 1);
}

/**
 * Finds `usage` as {@link findUsage} in an answer of any size. Some upstreams send large members after the usage, such
 * as the `prompt_logprobs` of vLLM.
 */
export function findUsageInChunks(chunks: readonly Buffer[]): Usage | null {
  let after: Buffer = Buffer.alloc(0);
  let size = TAIL_BYTES;
  for (let last = chunks.length; last > 0; size = WINDOW_BYTES) {
    let first = last;
    for (let bytes = 0; first > 0 && bytes < size; bytes += chunks[first]?.length ?? 0) first -= 1;
    // A usage may begin at the end of this window.
    const window = Buffer.concat([...chunks.slice(first, last), after]);
    const usage = findUsage(window);
    if (usage !== null) return usage;
    after = window.subarray(0, MAX_USAGE_BYTES);
    last = first;
  }
  return null;
}

/**
 * Reads the first `usage` in events.
 * @returns the usage, and the bytes after the name `usage`; null: as {@link findUsage}.
 */
export function takeFirstUsage(events: Buffer): { readonly usage: Usage; readonly rest: Buffer } | null {
  const at = events.indexOf(USAGE_KEY);
  if (at === -1) return null;
  const from = at + USAGE_KEY.length;
  const usage = usageIn(events.toString('latin1', from, at + MAX_USAGE_BYTES));
  return usage && { usage, rest: events.subarray(from) };
}

/**
 * Joins the usage of the first event of Anthropic's stream, which has the tokens of the request, with that
 * of the last event, which has the tokens of the answer.
 * @param last null: the stream ended before this event. The function then counts a token for each event.
 */
export function joinUsage(first: Usage, last: Usage | null, eventCount: number): Usage {
  const inputTokens = Math.max(first.inputTokens, last?.inputTokens ?? 0);
  const outputTokens = Math.max(first.outputTokens, last?.outputTokens ?? eventCount);
  const sources = [...(first.sources ?? []), ...(last?.sources ?? [])];
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, sources };
}

/**
 * Matches the beginning of most usages: OpenAI's older names in OpenAI's order or in vLLM's. One pattern costs half as
 * much as a pattern for each number.
 */
const USUAL =
  /^\s*:\s*(?=\{\s*"prompt_tokens"\s*:\s*(\d{1,15})\s*,\s*"(completion|total)_tokens"\s*:\s*(\d{1,15})\s*,\s*"(?!\2)(?:completion|total)_tokens"\s*:\s*(\d{1,15})(?!\d))/;

/**
 * Reads the usage; null: it is not an object, or has no number of tokens.
 * @param text the text after its name, as latin1.
 */
function usageIn(text: string): Usage | null {
  // This quick check suffices for most names without a usage. An answer can have millions of them.
  if (!text.includes('_tokens"')) return null;
  const [before, input, name, second, third] = USUAL.exec(text) ?? [];
  if (before === undefined) return anyUsageIn(text);
  const [output, total] = name === 'completion' ? [second, third] : [third, second];
  return {
    inputTokens: Number(input),
    outputTokens: Number(output),
    totalTokens: Number(total),
    sources: [text.slice(before.length)],
  };
}

/** Matches the numbers of tokens that {@link anyUsageIn} needs. */
const numbers = /"(?:prompt|completion|total|(?:total_)?(?:input|output))_tokens"\s*:\s*\d/;

/** Reads a usage in any form. */
function anyUsageIn(text: string): Usage | null {
  const [prefix] = /^\s*:\s*(?=\{)/.exec(text) ?? [];
  if (prefix === undefined || !numbers.test(text)) return null;
  const object = objectIn(text.slice(prefix.length));
  // OpenAI's older names, the names in `responses` and in Anthropic's `messages`, and those of Gemini's Interactions.
  const input = numberOf(/"(?:prompt|(?:total_)?input)_tokens"\s*:\s*(\d{1,15})/.exec(object));
  const output = numberOf(/"(?:completion|(?:total_)?output)_tokens"\s*:\s*(\d{1,15})/.exec(object));
  const thoughts = numberOf(/"total_thought_tokens"\s*:\s*(\d{1,15})/.exec(object)) ?? 0;
  const total = numberOf(/"total_tokens"\s*:\s*(\d{1,15})/.exec(object));
  if (input === null && output === null && total === null) return null;
  // Only Anthropic's form has no total. Its `input_tokens` do not contain those of the cache.
  const inputTokens = (input ?? 0) + (total === null ? cachedTokens(object) : 0);
  const outputTokens = (output ?? 0) + thoughts;
  return { inputTokens, outputTokens, totalTokens: total ?? inputTokens + outputTokens, sources: [object] };
}

/** Returns the object at the beginning of a text. The whole text, if the object is incomplete. */
function objectIn(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  const end = skipValue(bytes, 0, bytes.length);
  return end === -1 ? text : text.slice(0, end);
}

function cachedTokens(usage: string): number {
  let sum = 0;
  for (const [, tokens] of usage.matchAll(/"cache_(?:creation|read)_input_tokens"\s*:\s*(\d{1,15})/g))
    sum += Number(tokens);
  return sum;
}

function numberOf(match: RegExpExecArray | null): number | null {
  return match === null ? null : Number(match[1]);
}
