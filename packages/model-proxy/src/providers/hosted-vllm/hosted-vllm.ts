/**
 * vLLM's server: OpenAI's API with additional parameters, and without some of OpenAI's
 * features. The rewriting follows LiteLLM (llms/hosted_vllm/chat/transformation.py).
 */
import { vllmMessages } from './messages.js';
import { vllmTools } from './tools.js';
import { openaiApiProvider } from '../openai/openai.js';
import { replaceThinking } from '../openai/thinking.js';
import type { Provider } from '../provider.js';
import type { RequestMembers, Translation } from '../request-members.js';

/**
 * Converts search texts to buffers. Each has at most six bytes, because Node finds such texts fast
 * (json/search.ts).
 */
const needles = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text));
const toolNeedles = needles('strict', 'additi', 'custom');
const messageNeedles = needles('_block', '"file"');
/** Messages without these names of members need no rewriting. */
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
  replaceThinking(rewritten, members);
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

/** A vLLM server at a configured address. It needs a key only if it was started with one. */
export const hostedVllm: Provider = openaiApiProvider({
  name: 'hosted_vllm',
  apiKeyEnvironment: ['HOSTED_VLLM_API_KEY'],
  apiBaseEnvironment: ['HOSTED_VLLM_API_BASE'],
  translation: { translate, translationTriggers: { members: ['tools', 'thinking'], innerKeys: messageKeys } },
});
