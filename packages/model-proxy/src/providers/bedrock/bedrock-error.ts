/** Errors of Bedrock. */
import { recordOf, textOf } from '../anthropic/values.js';
import type { UpstreamError } from '../dialect.js';

/**
 * Returns the error in an answer; undefined: it has another form. Bedrock writes `message`. AWS's gateway in front of
 * Bedrock writes `Message`.
 */
export function bedrockError(_status: number, body: unknown): UpstreamError | undefined {
  const { message, Message } = recordOf(body) ?? {};
  const text = textOf(message) ?? textOf(Message);
  return text === undefined ? undefined : { message: text };
}
