/**
 * Translates Anthropic's messages to OpenAI's answers, with LiteLLM's members for thinking.
 * @see https://platform.claude.com/docs/en/api/messages
 * @see https://docs.litellm.ai/docs/reasoning_content
 */
import { z } from 'zod';
import type { DialectAnswer, DialectCall } from '../dialect.js';
import { listOf } from '../messages/list-of.js';
import { errorWithStatus } from './errors.js';
import { JSON_TOOL } from './tools.js';
import type { Block } from './content.js';
import { textOf } from './values.js';

const tokens = z.number().int().nonnegative().nullish();

/** Anthropic's usage. In a stream, its members come in two events. */
export const usageSchema = z.object({
  input_tokens: tokens,
  output_tokens: tokens,
  cache_creation_input_tokens: tokens,
  cache_read_input_tokens: tokens,
  cache_creation: z.object({ ephemeral_5m_input_tokens: tokens, ephemeral_1h_input_tokens: tokens }).nullish(),
});

/** A parsed {@link usageSchema}. */
export type AnthropicUsage = z.infer<typeof usageSchema>;

const message = z.object({
  id: z.string(),
  content: listOf(z.looseObject({ type: z.string() })),
  stop_reason: z.string().nullish(),
  usage: usageSchema.nullish(),
});

/**
 * Translates an answer. Ignores blocks that OpenAI's answers cannot contain.
 * @throws {Error} if the value is neither a message nor an error.
 */
export function openaiAnswer(value: unknown, { model }: DialectCall): DialectAnswer {
  const error = errorWithStatus(value);
  if (error !== undefined) return { error };
  const { id, content, stop_reason: reason, usage } = message.parse(value);
  const { text, toolCalls, thinking, thinkingBlocks } = partsOf(content);
  return {
    value: {
      id,
      object: 'chat.completion',
      created: now(),
      model,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: text === '' && toolCalls.length > 0 ? null : text,
            ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
            ...(thinking === '' ? {} : { reasoning_content: thinking }),
            ...(thinkingBlocks.length === 0 ? {} : { thinking_blocks: thinkingBlocks }),
          },
          finish_reason: finishReason(reason, toolCalls.length > 0),
        },
      ],
      usage: openaiUsage(usage ?? {}),
    },
  };
}

/** Returns the current time in seconds, for `created`, which Anthropic's answers do not have. */
export const now = (): number => Math.floor(Date.now() / 1000);

function partsOf(content: readonly Block[]) {
  let text = '';
  let thinking = '';
  const toolCalls: object[] = [];
  const thinkingBlocks: object[] = [];
  for (const block of content) {
    if (block['type'] === 'text') text += textOf(block['text']) ?? '';
    else if (block['type'] === 'tool_use' && block['name'] === JSON_TOOL) text += JSON.stringify(block['input'] ?? {});
    else if (block['type'] === 'tool_use') toolCalls.push(toolCall(block));
    else if (block['type'] === 'thinking' || block['type'] === 'redacted_thinking') {
      thinking += textOf(block['thinking']) ?? '';
      thinkingBlocks.push(block);
    }
  }
  return { text, toolCalls, thinking, thinkingBlocks };
}

const called = z.object({ id: z.string(), name: z.string(), input: z.unknown() });

function toolCall(block: Block): object {
  const { id, name, input } = called.parse(block);
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } };
}

const finishReasons: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
]);

/**
 * Returns OpenAI's reason.
 * @param reason null: the upstream gives none.
 * @param hasCalls whether the answer has calls of the client's tools. Calls of {@link JSON_TOOL} do not count.
 */
export function finishReason(reason: string | null | undefined, hasCalls: boolean): string {
  if (reason === 'tool_use' && hasCalls) return 'tool_calls';
  return finishReasons.get(reason ?? '') ?? 'stop';
}

/**
 * Returns OpenAI's usage. Anthropic's `input_tokens` exclude the cached tokens, OpenAI's
 * `prompt_tokens` include them.
 */
export function openaiUsage(usage: Partial<AnthropicUsage>): object {
  const written = usage.cache_creation_input_tokens ?? 0;
  const read = usage.cache_read_input_tokens ?? 0;
  const prompt = (usage.input_tokens ?? 0) + written + read;
  const completion = usage.output_tokens ?? 0;
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: read },
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    // Tokens that the cache stores for an hour have another price.
    ...(usage.cache_creation?.ephemeral_1h_input_tokens ? { cache_creation: usage.cache_creation } : {}),
  };
}
