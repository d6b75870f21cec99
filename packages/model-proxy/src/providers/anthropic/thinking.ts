/**
 * Translates `reasoning_effort` to Anthropic's thinking.
 * @see https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 * @see https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
 */
import { invalidParameter } from '../../errors/model.js';
import type { Block } from './content.js';

/** Matches models before version 4.6, whose thinking has a maximum number of tokens. Later models support `effort`. */
const modelsWithBudget = /claude-(?:instant|[1-3](?!\d)|4-[a-z]|[a-z]+-4(?!\d|[-.][6-9](?!\d)|[-.]\d\d(?!\d{6})))/;

/** Returns whether a model supports `effort`: false for Opus 4.5, which supports it only with a beta feature. */
export const hasEffort = (model: string): boolean => !modelsWithBudget.test(model);

/** `reasoning_effort` → LiteLLM's maximum number of thinking tokens. Anthropic requires at least 1024. */
const budgets: ReadonlyMap<string, number> = new Map([
  ['minimal', 1024],
  ['low', 1024],
  ['medium', 2048],
  ['high', 4096],
  ['xhigh', 4096],
  ['max', 4096],
]);

/** The members of a request that set the thinking. */
interface Thinking {
  readonly thinking?: Block;
  /** Member of `output_config`. */
  readonly effort?: string;
}

/** Translates `reasoning_effort`. @throws {ProxyError} 400: `effort` is not a value of `reasoning_effort`. */
export function thinkingOf(effort: unknown, model: string): Thinking {
  if (effort === undefined || effort === 'none') return {};
  const budget = typeof effort === 'string' ? budgets.get(effort) : undefined;
  if (typeof effort !== 'string' || budget === undefined)
    throw invalidParameter('reasoning_effort', 'must be none, minimal, low, medium, high, xhigh or max');
  if (!hasEffort(model)) return { thinking: { type: 'enabled', budget_tokens: budget } };
  return { thinking: { type: 'adaptive' }, effort: effort === 'minimal' ? 'low' : effort };
}
