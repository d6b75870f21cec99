/** Converts Anthropic's member `thinking` to OpenAI's `reasoning_effort`, as LiteLLM does. */
import { findValue } from '../../json/navigate.js';
import type { Provider } from '../provider.js';
import type { RequestMembers } from '../request-members.js';

/**
 * Removes `thinking`. If thinking is enabled, sets `reasoning_effort` in its place, unless the client has sent
 * `reasoning_effort` itself.
 */
export function replaceThinking(rewritten: Map<string, Buffer | null>, members: RequestMembers): void {
  const thinking = members.bytes('thinking');
  if (thinking === undefined) return;
  rewritten.set('thinking', null);
  const effort = members.bytes('reasoning_effort') === undefined ? effortOf(thinking) : undefined;
  if (effort !== undefined) rewritten.set('reasoning_effort', Buffer.from(JSON.stringify(effort)));
}

/** The translation for providers that need only this change. */
export const thinkingTranslation: Required<Pick<Provider, 'translate' | 'translationTriggers'>> = {
  translate: (endpoint, members) => {
    const rewritten = new Map<string, Buffer | null>();
    if (endpoint === 'chat/completions') replaceThinking(rewritten, members);
    return rewritten;
  },
  translationTriggers: { members: ['thinking'], innerKeys: [] },
};

/** Returns OpenAI's effort for `thinking`; undefined: thinking is not enabled. */
function effortOf(thinking: Buffer): string | undefined {
  if (textAt(thinking, 'type') !== '"enabled"') return undefined;
  return effortOfBudget(Number(textAt(thinking, 'budget_tokens') ?? '0'));
}

/** Converts Anthropic's thinking budget in tokens to OpenAI's effort. */
export function effortOfBudget(budget: number): string {
  if (budget >= 10_000) return 'high';
  if (budget >= 5_000) return 'medium';
  return budget >= 2_000 ? 'low' : 'minimal';
}

/** Returns the beginning of a member's JSON text; undefined: the member is missing. */
function textAt(object: Buffer, name: string): string | undefined {
  const place = findValue(object, 0, object.length, [name]);
  return place && object.toString('latin1', place.start, Math.min(place.end, place.start + MAX_LENGTH));
}

/** Maximum length of the text. A number of tokens and `"enabled"` are shorter. */
const MAX_LENGTH = 24;
