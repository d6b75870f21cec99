/**
 * Translates answers of chat into Anthropic's messages.
 * @see https://platform.claude.com/docs/en/api/messages
 */
import { z } from 'zod';
import { valueWithinLimits } from '../../json/parse-within-limits.js';
import { recordOf, recordsOf } from '../anthropic/values.js';
import type { Block } from '../anthropic/content.js';
import { chatContent, contentOf, thinkingIn } from './chat-content.js';
import { listOf } from './list-of.js';
import { signedId } from './thought-signature.js';

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
        content: chatContent,
        refusal: text,
        reasoning_content: text,
        reasoning: text,
        thinking_blocks: z.unknown().optional(),
        tool_calls: listOf(
          z.object({
            id: text,
            function: z.object({ name: z.string(), arguments: text }),
            extra_content: z.unknown().optional(),
          }),
        ).nullish(),
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
  if (choice === undefined) throw new Error('the answer has no choice');
  const { message, finish_reason: reason, stop_reason: stop } = choice;
  const thoughts = recordsOf(message.thinking_blocks);
  const thought = thinkingIn(message);
  const content: Block[] = thoughts.length === 0 && thought !== '' ? [thinkingBlock(thought)] : [...thoughts];
  const answer = contentOf(message.content).text + (message.refusal ?? '');
  if (answer !== '') content.push({ type: 'text', text: answer });
  for (const [position, { id: callId, function: called, extra_content: extra }] of (
    message.tool_calls ?? []
  ).entries()) {
    const input = inputOf(called.arguments ?? '');
    // An answer that has reached its maximum number of tokens may end inside of a call, which is omitted.
    if (input === undefined && reason === 'length') continue;
    if (input === undefined) throw new Error('the arguments of a call are not a JSON object');
    content.push({ type: 'tool_use', id: signedId(callIdOf(callId, position), extra), name: called.name, input });
  }
  return {
    ...messageFrame(id ?? '', model ?? ''),
    content,
    ...stopOf(message.refusal ? 'content_filter' : reason, { stop, hasCalls: Boolean(message.tool_calls?.length) }),
    usage: messageUsage(usage),
  };
}

/** Returns the members that each message has. */
export function messageFrame(id: string, model: string): Block {
  return { id, type: 'message', role: 'assistant', model };
}

/** Makes a block of thinking. Other vendors send no signature, but Anthropic's clients expect the member. */
export function thinkingBlock(thinking: string): Block {
  return { type: 'thinking', thinking, signature: '' };
}

/** Returns the id of a call. Some servers send none or an empty one, and a client needs different ids. */
export function callIdOf(id: string | null | undefined, position: number): string {
  return id === undefined || id === null || id === '' ? `call_${position}` : id;
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

/** The members of an answer, besides its `finish_reason`, that decide the `stop_reason`. */
interface Ending {
  /** vLLM's `stop_reason`: a text is the stop sequence. */
  readonly stop: unknown;
  readonly hasCalls: boolean;
}

/**
 * Returns why the answer ended. After a call of a tool, OpenAI's reason is `stop` if the request chose the tool, and
 * Gemini's is always `stop`. Anthropic's reason is always `tool_use`.
 */
export function stopOf(reason: string | null | undefined, { stop, hasCalls }: Ending): Block {
  const isSequence = reason === 'stop' && typeof stop === 'string';
  if (isSequence) return { stop_reason: 'stop_sequence', stop_sequence: stop };
  const other = hasCalls ? 'tool_use' : 'end_turn';
  return { stop_reason: stopReasons.get(reason) ?? other, stop_sequence: null };
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
