/**
 * Reads the `content` of an answer of chat. OpenAI's is a text. Mistral and Databricks send a list if the model thinks.
 * @see https://docs.mistral.ai/capabilities/reasoning
 * @see https://docs.databricks.com/aws/en/machine-learning/model-serving/query-reason-models
 */
import { z } from 'zod';
import type { Block } from '../anthropic/content.js';
import { recordsOf, textOf } from '../anthropic/values.js';
import { listOf } from './list-of.js';

/** The form of `content`. */
export const chatContent = z.union([z.string(), listOf(z.looseObject({ type: z.string() }))]).nullish();

/** Returns the text and the thinking. Ignores parts that Anthropic's messages cannot contain. */
export function contentOf(content: z.infer<typeof chatContent>): { readonly text: string; readonly thinking: string } {
  if (content === null || content === undefined) return { text: '', thinking: '' };
  if (typeof content === 'string') return { text: content, thinking: '' };
  let text = '';
  let thinking = '';
  for (const part of content) {
    if (part.type === 'text') text += textOf(part['text']) ?? '';
    else thinking += thoughtOf(part);
  }
  return { text, thinking };
}

/** The members of an answer, or of a part of a stream, that may have the thinking. */
interface Thinking {
  /** DeepSeek's name. */
  readonly reasoning_content?: string | null | undefined;
  /** OpenRouter's name. */
  readonly reasoning?: string | null | undefined;
  readonly content?: z.infer<typeof chatContent>;
}

/** Returns the thinking of an answer. Some servers send an empty member besides the one that has the thinking. */
export function thinkingIn({ reasoning_content: first, reasoning: second, content }: Thinking): string {
  return [first, second].find(Boolean) ?? contentOf(content).thinking;
}

/**
 * Returns the thinking in a part; empty if the part has none. Mistral's part is `{"type": "thinking", "thinking":
 * [{"type": "text"}]}`, Databricks' part is `{"type": "reasoning", "summary": […]}`.
 */
function thoughtOf({ type, thinking, summary }: Block): string {
  if (type !== 'thinking' && type !== 'reasoning') return '';
  const whole = textOf(thinking);
  if (whole !== undefined) return whole;
  return recordsOf(thinking ?? summary)
    .map(({ text }) => textOf(text) ?? '')
    .join('');
}
