/**
 * Translates OpenAI's messages to Anthropic's `system` and `messages`.
 * @see https://platform.claude.com/docs/en/api/messages
 */
import { invalidParameter } from '../../errors/model.js';
import { isWithinDepth } from '../../json/depth.js';
import { REQUEST_LIMITS, valueWithinLimits } from '../../json/parse-within-limits.js';
import { MAX_DEPTH } from '../../json/scanner.js';
import { blocksOf, cacheControlOf, type Block } from './content.js';
import { recordOf, recordsOf, textOf, type JsonRecord } from './values.js';

/**
 * Limits of the arguments of a call, which are JSON inside a text. These limits do not include the nesting: a separate
 * check of the nesting has an error text of its own.
 */
const ARGUMENT_LIMITS = { ...REQUEST_LIMITS, depth: Infinity };

/** A message of Anthropic's API. */
interface AnthropicMessage {
  readonly role: 'user' | 'assistant';
  readonly content: Block[];
}

/** The conversation in Anthropic's form. */
interface Conversation {
  /** Empty: there is no system message. */
  readonly system: readonly Block[];
  readonly messages: readonly AnthropicMessage[];
}

/**
 * Translates a conversation. All system messages go to `system`. Consecutive messages of one role become
 * one message, because the results of parallel tool calls must be in one message.
 * @throws {ProxyError} 400: a message is invalid, or Anthropic has no counterpart for it.
 */
export function conversationOf(messages: unknown): Conversation {
  if (!Array.isArray(messages)) throw invalidParameter('messages', 'must be a list');
  const system: Block[] = [];
  const translated: AnthropicMessage[] = [];
  for (const element of messages) {
    const message = recordOf(element);
    if (message === undefined) throw invalidParameter('messages', 'has an element that is not an object');
    const { role } = message;
    if (role === 'system' || role === 'developer')
      system.push(...withCacheControl(message, blocksOf(message['content'])));
    else if (role === 'user') add(translated, 'user', withCacheControl(message, blocksOf(message['content'])));
    else if (role === 'assistant') add(translated, 'assistant', assistantBlocks(message));
    else if (role === 'tool') add(translated, 'user', [toolResult(message)]);
    else throw invalidParameter('messages', `has a role that Anthropic's API does not have: ${JSON.stringify(role)}`);
  }
  trimLast(translated);
  return { system, messages: translated };
}

/** Adds blocks to the last message if it has the same role, otherwise as a new message. Ignores an empty list. */
function add(messages: AnthropicMessage[], role: AnthropicMessage['role'], content: readonly Block[]): void {
  if (content.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === role) last.content.push(...content);
  else messages.push({ role, content: [...content] });
}

/** Moves the `cache_control` of a message to its last block, where Anthropic expects it. */
function withCacheControl(message: JsonRecord, blocks: readonly Block[]): readonly Block[] {
  const control = cacheControlOf(message);
  const last = blocks.at(-1);
  return last === undefined || control['cache_control'] === undefined
    ? blocks
    : [...blocks.slice(0, -1), { ...last, ...control }];
}

function assistantBlocks(message: JsonRecord): readonly Block[] {
  const calls = recordsOf(message['tool_calls']).map(toolUse);
  // Anthropic requires the thinking of a message before its other blocks, and rejects thinking without a signature.
  const thinking = recordsOf(message['thinking_blocks']).filter(
    ({ type, signature }) => type === 'redacted_thinking' || (type === 'thinking' && typeof signature === 'string'),
  );
  const content = blocksOf(message['content'] ?? message['refusal']);
  return withCacheControl(message, [...thinking, ...content, ...calls]);
}

function toolUse(call: JsonRecord): Block {
  const called = recordOf(call['function']);
  const name = textOf(called?.['name']);
  if (name === undefined) throw invalidParameter('messages', 'has a tool call without the name of a function');
  const text = textOf(called?.['arguments']) ?? '';
  const input = text.trim() === '' ? {} : recordOf(valueWithinLimits(text, ARGUMENT_LIMITS));
  if (input === undefined)
    throw invalidParameter(
      'messages',
      `has a call of '${name}' whose arguments are not a JSON object with at most ${ARGUMENT_LIMITS.values} values`,
    );
  if (!isWithinDepth(input))
    throw invalidParameter('messages', `has a call of '${name}' whose arguments nest more than ${MAX_DEPTH} levels`);
  return { type: 'tool_use', id: callId(call['id']), name, input, ...cacheControlOf(call) };
}

function toolResult(message: JsonRecord): Block {
  const content = blocksOf(message['content']);
  return {
    type: 'tool_result',
    tool_use_id: callId(message['tool_call_id']),
    ...(content.length === 0 ? {} : { content }),
    ...cacheControlOf(message),
  };
}

/**
 * Returns the id of a tool call with `_` for each character that Anthropic rejects. Ids of other providers may
 * contain such characters.
 * @throws {ProxyError} 400: the id is missing.
 */
function callId(id: unknown): string {
  const text = textOf(id);
  if (text === undefined) throw invalidParameter('messages', 'has a tool call, or a result, without an id');
  return text.replace(/[^\w-]/g, '_');
}

/** Removes white space at the end of an answer that the model must continue. Anthropic rejects such white space. */
function trimLast(messages: readonly AnthropicMessage[]): void {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return;
  const block = last.content.at(-1);
  const text = block?.['type'] === 'text' ? textOf(block['text']) : undefined;
  if (text !== undefined) last.content.splice(-1, 1, { ...block, text: text.trimEnd() });
}
