/**
 * vLLM's server: OpenAI's dialect with a few parameters of its own, and with some things of OpenAI's that it does not take.
 * What is rewritten, and how, follows LiteLLM (llms/hosted_vllm/chat/transformation.py).
 */
import { findValue } from '../json/navigate.js';
import { vllmMessages } from './hosted-vllm-messages.js';
import { vllmTools } from './hosted-vllm-tools.js';
import { openaiDialect } from './openai.js';
import type { Provider, RequestMembers, Translation } from './provider.js';

/** Words of up to six bytes, with a rare one at their front: Node has a fast way for these (json/search.ts). */
const words = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text));
const toolWords = words('strict', 'additi', 'custom');
const messageWords = words('_block', '"file"');
/** Without one of these there is nothing to rewrite in messages. */
const messageKeys = ['thinking_blocks', 'file', 'image_url'];
const imageWords = words('_url"');

const translate: Translation = (endpoint, members) => {
  const rewritten = new Map<string, Buffer | null>();
  if (endpoint !== 'chat/completions') return rewritten;

  // Most requests have nothing of the kind: looking for the words costs less than reading messages.
  if (members.contains('tools', toolWords)) {
    replace(rewritten, members, 'tools', vllmTools);
  }
  if (
    members.mayHold('messages', messageKeys) &&
    (members.contains('messages', messageWords) || hasImageText(members))
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

/** `"image_url": "https://…"`, where vLLM wants an object. */
function hasImageText(members: RequestMembers): boolean {
  return members.contains('messages', imageWords, (following) => /^_url"\s*:\s*"/.test(following));
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

/** Anthropic's budget of thought, in tokens, as OpenAI's effort; undefined: no thought is asked for. */
function effortOf(thinking: Buffer): string | undefined {
  if (textAt(thinking, 'type') !== '"enabled"') return undefined;
  const budget = Number(textAt(thinking, 'budget_tokens') ?? '0');
  if (budget >= 10_000) return 'high';
  if (budget >= 5_000) return 'medium';
  return budget >= 2_000 ? 'low' : 'minimal';
}

/** A member's value as it is spelled; undefined: there is none. */
function textAt(object: Buffer, name: string): string | undefined {
  const place = findValue(object, 0, object.length, [name]);
  return place && object.toString('latin1', place.start, Math.min(place.end, place.start + MAX_NUMBER_LENGTH));
}

/** No number of tokens takes more digits, and a text that is longer is no `"enabled"`. */
const MAX_NUMBER_LENGTH = 24;

/** A server of vLLM's at an address of one's own. It wants no key unless it was started with one. */
export const hostedVllm: Provider = openaiDialect({
  name: 'hosted_vllm',
  apiKeyEnvironment: ['HOSTED_VLLM_API_KEY'],
  apiBaseEnvironment: ['HOSTED_VLLM_API_BASE'],
  translation: { translate, translated: { members: ['tools', 'thinking'], innerKeys: messageKeys } },
});
