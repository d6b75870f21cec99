/**
 * Translates answers of chat into Anthropic's messages.
 * @see https://platform.claude.com/docs/en/api/messages
 */
import { z } from 'zod';
import { valueWithinLimits } from '../../json/parse-within-limits.js';
import { recordOf, recordsOf } from '../anthropic/values.js';
import type { Block } from '../anthropic/content.js';
import { listOf } from './list-of.js';

const text = z.string().nullish();
const tokens = z.number().int().nonnegative().nullish();

/** OpenAI's usage, with LiteLLM's member for the tokens that the upstream wrote to its cache. */
export const chatUsage = z
  .object({
    prompt_tokens: tokens,
    completion_tokens: tokens,
    prompt_tokens_details: z.object({ cached_tokens: tokens }).nullish(),
    cache_creation_input_tokens: tokens,
  })
  .nullish();

const answered = z.object({
  id: text,
  model: text,
  choices: listOf(
    z.object({
      message: z.object({
        content: text,
        refusal: text,
        reasoning_content: text,
        reasoning: text,
        thinking_blocks: z.unknown().optional(),
        tool_calls: listOf(z.object({ id: text, function: z.object({ name: z.string(), arguments: text }) })).nullish(),
      }),
      finish_reason: text,
      stop_reason: z.unknown().optional(),
    }),
  ),
  usage: chatUsage,
});

/**
 * Translates an answer of chat into a message.
 * @throws {Error} if the value is not an answer of chat, or if the arguments of a complete call are not a JSON
 *   object.
 */
export function messageOf(value: unknown): object {
  const { id, model, choices, usage } = answered.parse(value);
  const [choice] = choices;
  if (choice === undefined) throw new Error('no choice');
  const { message, finish_reason: reason, stop_reason: stop } = choice;
  const thoughts = recordsOf(message.thinking_blocks);
  const thought = message.reasoning_content ?? message.reasoning ?? '';
  const content: Block[] = thoughts.length === 0 && thought !== '' ? [thinkingBlock(thought)] : [...thoughts];
  const answer = (message.content ?? '') + (message.refusal ?? '');
  if (answer !== '') content.push({ type: 'text', text: answer });
  for (const [position, { id: callId, function: called }] of (message.tool_calls ?? []).entries()) {
    const input = inputOf(called.arguments ?? '');
    // An answer at its limit may end inside of a call.
    if (input === undefined && reason === 'length') continue;
    if (input === undefined) throw new Error('the arguments of a call are not a JSON object');
    content.push({ type: 'tool_use', id: callId ?? `call_${position}`, name: called.name, input });
  }
  return {
    ...messageFrame(id ?? '', model ?? ''),
    content,
    ...stopOf(message.refusal ? 'content_filter' : reason, stop),
    usage: messageUsage(usage),
  };
}

/** Returns the members that each message has. */
export function messageFrame(id: string, model: string): Block {
  return { id, type: 'message', role: 'assistant', model };
}

/** Thinking of other vendors has no signature, but Anthropic's clients expect the member. */
export function thinkingBlock(thinking: string): Block {
  return { type: 'thinking', thinking, signature: '' };
}

function inputOf(json: string): Block | undefined {
  return json.trim() === '' ? {} : recordOf(valueWithinLimits(json));
}

const stopReasons: ReadonlyMap<unknown, string> = new Map([
  ['length', 'max_tokens'],
  ['tool_calls', 'tool_use'],
  ['function_call', 'tool_use'],
  ['content_filter', 'refusal'],
]);

/** Returns why the answer ended. @param stop vLLM's `stop_reason`: a text is the stop sequence. */
export function stopOf(reason: string | null | undefined, stop: unknown): Block {
  const isSequence = reason === 'stop' && typeof stop === 'string';
  return isSequence
    ? { stop_reason: 'stop_sequence', stop_sequence: stop }
    : { stop_reason: stopReasons.get(reason) ?? 'end_turn', stop_sequence: null };
}

/** Returns Anthropic's usage. OpenAI's number of input tokens includes the cached tokens, Anthropic's excludes them. */
export function messageUsage(usage: z.infer<typeof chatUsage>): Block {
  const read = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  const written = usage?.cache_creation_input_tokens ?? 0;
  return {
    input_tokens: Math.max(0, (usage?.prompt_tokens ?? 0) - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: usage?.completion_tokens ?? 0,
  };
}
