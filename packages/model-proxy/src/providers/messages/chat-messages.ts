/**
 * Translates Anthropic's conversations into OpenAI's messages.
 * @see https://platform.claude.com/docs/en/api/messages
 */
import { invalidParameter } from '../../errors/model.js';
import type { Block } from '../anthropic/content.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';
import { splitSignedId } from './thought-signature.js';

/** The thinking of earlier turns that an upstream gets. */
export interface KeptThinking {
  readonly keepsThinking: boolean;
  readonly needsSignatures: boolean;
}

/**
 * Translates a conversation. `cache_control` and citations are dropped.
 * @param upstream whether it understands LiteLLM's `thinking_blocks`, and whether it needs Gemini's signatures.
 * @throws {ProxyError} 400: a message is invalid, or OpenAI's API has no counterpart for a block.
 */
export function chatMessages(system: unknown, messages: unknown, upstream: KeptThinking): readonly Block[] {
  if (!Array.isArray(messages)) throw invalidParameter('messages', 'must be a list');
  const prompt = systemText(system);
  const first = prompt === '' ? [] : [{ role: 'system', content: prompt }];
  const rest = messages.flatMap((element: unknown) => {
    const message = recordOf(element);
    if (message === undefined) throw invalidParameter('messages', 'has an element that is not an object');
    const { role } = message;
    if (role === 'assistant') return [assistantMessage(blocksOf(message), upstream)];
    if (role === 'user') return userMessages(blocksOf(message));
    if (role === 'system') return [{ role, content: systemText(message['content']) }];
    throw invalidParameter('messages', `has a role that is not user, assistant or system: ${JSON.stringify(role)}`);
  });
  return [...first, ...rest];
}

/** Joins the texts of a system prompt, because many servers accept only one text. */
function systemText(system: unknown): string {
  if (typeof system === 'string') return system;
  return recordsOf(system)
    .map(({ text }) => textOf(text) ?? '')
    .join('\n');
}

function blocksOf({ content }: Block): readonly Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) throw invalidParameter('messages', 'has a content that is neither a text nor a list');
  return recordsOf(content);
}

/** Translates a user's message. Each tool result becomes its own message, before the rest, as OpenAI requires. */
function userMessages(blocks: readonly Block[]): readonly Block[] {
  const results: Block[] = [];
  const parts: Block[] = [];
  for (const block of blocks) {
    if (block['type'] !== 'tool_result') {
      parts.push(partOf(block));
      continue;
    }
    const own = block['content'] === undefined ? [] : blocksOf(block).map(partOf);
    const texts = own.filter(isText).map(({ text }) => text);
    // OpenAI's results of tools contain only text, so other parts go into a message of the user.
    parts.push(...own.filter((part) => !isText(part)));
    results.push({
      role: 'tool',
      tool_call_id: splitSignedId(idOf(block['tool_use_id'])).id,
      content: texts.join('\n'),
    });
  }
  return parts.length === 0 ? results : [...results, { role: 'user', content: simplified(parts) }];
}

const isText = ({ type }: Block): boolean => type === 'text';

/** Returns a single text part as its text, which every server accepts. */
function simplified(parts: readonly Block[]): unknown {
  const [only, second] = parts;
  return only !== undefined && second === undefined && isText(only) ? only['text'] : parts;
}

function partOf(block: Block): Block {
  const { type } = block;
  const source = recordOf(block['source']);
  switch (type) {
    case 'text':
      return { type, text: textOf(block['text']) ?? '' };
    case 'image': {
      const url = source?.['type'] === 'url' ? textOf(source['url']) : dataUrlOf(source);
      if (url !== undefined) return { type: 'image_url', image_url: { url } };
      break;
    }
    case 'document': {
      if (source?.['type'] === 'text') return { type: 'text', text: textOf(source['data']) ?? '' };
      const data = dataUrlOf(source);
      const filename = textOf(block['title']) ?? 'document.pdf';
      if (data !== undefined) return { type: 'file', file: { filename, file_data: data } };
      break;
    }
  }
  const what = `${JSON.stringify(type)}${source === undefined ? '' : ` with a source of type ${JSON.stringify(source['type'])}`}`;
  throw invalidParameter('messages', `has a block of type ${what}, which OpenAI's API does not have`);
}

function dataUrlOf(source: Block | undefined): string | undefined {
  const data = source?.['type'] === 'base64' ? textOf(source['data']) : undefined;
  return data === undefined ? undefined : `data:${textOf(source?.['media_type']) ?? ''};base64,${data}`;
}

function assistantMessage(blocks: readonly Block[], { keepsThinking, needsSignatures }: KeptThinking): Block {
  let content = '';
  const calls: Block[] = [];
  const thinking: Block[] = [];
  for (const block of blocks) {
    const { type, text, id, name, input } = block;
    if (type === 'text') content += textOf(text) ?? '';
    else if (type === 'thinking' || type === 'redacted_thinking') thinking.push(block);
    else if (type === 'tool_use' && typeof name === 'string') {
      const signed = splitSignedId(idOf(id));
      const called = { name, arguments: JSON.stringify(input ?? {}) };
      calls.push({ id: signed.id, type: 'function', function: called, ...(needsSignatures ? signed.members : {}) });
    } else
      throw invalidParameter(
        'messages',
        `has a block of type ${JSON.stringify(type)}, which OpenAI's API does not have`,
      );
  }
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(keepsThinking && thinking.length > 0 ? { thinking_blocks: thinking } : {}),
  };
}

function idOf(id: unknown): string {
  if (typeof id !== 'string') throw invalidParameter('messages', 'has a tool call, or a result, without an id');
  return id;
}
