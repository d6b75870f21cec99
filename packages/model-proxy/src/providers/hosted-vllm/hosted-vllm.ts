/**
 * vLLM's server: OpenAI's API with additional parameters, and without some of OpenAI's
 * features. The rewriting follows LiteLLM (llms/hosted_vllm/chat/transformation.py).
 */
import { findValue } from '../../json/navigate.js';
import { vllmMessages } from './messages.js';
import { vllmTools } from './tools.js';
import { openaiApiProvider } from '../openai/openai.js';
import type { Provider, Translation } from '../provider.js';
import type { RequestMembers } from '../request-members.js';

/**
 * Converts search texts to buffers. Each has at most six bytes, because Node finds such texts fast
 * (json/search.ts).
 */
const needles = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text));
const toolNeedles = needles('strict', 'additi', 'custom');
const messageNeedles = needles('_block', '"file"');
/** Messages without these members need no rewriting. */
const messageKeys = ['thinking_blocks', 'file', 'image_url'];
const imageNeedles = needles('_url"');

const translate: Translation = (endpoint, members) => {
  const rewritten = new Map<string, Buffer | null>();
  if (endpoint !== 'chat/completions') return rewritten;

  // Most requests need no rewriting. A search for these texts costs less than to parse messages.
  if (members.contains('tools', toolNeedles)) {
    replace(rewritten, members, 'tools', vllmTools);
  }
  if (
    members.mayHold('messages', messageKeys) &&
    (members.contains('messages', messageNeedles) || hasImageText(members))
  ) {
    replace(rewritten, members, 'messages', vllmMessages);
  }
  const thinking = members.bytes('thinking');
  if (thinking !== undefined) {
    rewritten.set('thinking', null);
    const effort = members.bytes('reasoning_effort') === undefined ? effortOf(thinking) : undefined;
    if (effort !== undefined) rewritten.set('reasoning_effort', Buffer.from(JSON.stringify(effort)));
  }
  return rewritten;
};

/**
 * Returns whether there is an `"image_url": "https://…"`. vLLM expects an object instead of the
 * text.
 */
function hasImageText(members: RequestMembers): boolean {
  return members.contains('messages', imageNeedles, (following) => /^_url"\s*:\s*"/.test(following));
}

function replace(
  rewritten: Map<string, Buffer | null>,
  members: RequestMembers,
  name: string,
  rewrite: (value: Buffer) => Buffer,
): void {
  const value = members.bytes(name);
  if (value === undefined) return;
  const changed = rewrite(value);
  if (changed !== value) rewritten.set(name, changed);
}

/**
 * Converts Anthropic's thinking budget in tokens to OpenAI's effort; undefined: thinking is not
 * enabled.
 */
function effortOf(thinking: Buffer): string | undefined {
  if (textAt(thinking, 'type') !== '"enabled"') return undefined;
  const budget = Number(textAt(thinking, 'budget_tokens') ?? '0');
  if (budget >= 10_000) return 'high';
  if (budget >= 5_000) return 'medium';
  return budget >= 2_000 ? 'low' : 'minimal';
}

/** Returns the JSON text of a member; undefined: the member is missing. */
function textAt(object: Buffer, name: string): string | undefined {
  const place = findValue(object, 0, object.length, [name]);
  return place && object.toString('latin1', place.start, Math.min(place.end, place.start + MAX_NUMBER_LENGTH));
}

/** Longer than any number of tokens, and than `"enabled"`. */
const MAX_NUMBER_LENGTH = 24;

/** A vLLM server at a configured address. It needs a key only if it was started with one. */
export const hostedVllm: Provider = openaiApiProvider({
  name: 'hosted_vllm',
  apiKeyEnvironment: ['HOSTED_VLLM_API_KEY'],
  apiBaseEnvironment: ['HOSTED_VLLM_API_BASE'],
  translation: { translate, translationTriggers: { members: ['tools', 'thinking'], innerKeys: messageKeys } },
});
