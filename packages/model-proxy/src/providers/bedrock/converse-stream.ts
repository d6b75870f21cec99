/**
 * Translates Converse's streams: first to Anthropic's events, which have the same meaning, and then to
 * OpenAI's chunks.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ChatStream } from '../anthropic/chat-stream.js';
import { EventFrames, jsonIn, type EventFrame } from '../aws/event-frames.js';
import type { DialectEvents, DialectStream } from '../dialect.js';
import { anthropicUsage, stopReason } from './converse-usage.js';
import { streamError } from './stream-error.js';

const index = z.number().int().nonnegative();
const call = z.object({ toolUseId: z.string(), name: z.string() });
const started = z.object({ contentBlockIndex: index, start: z.object({ toolUse: call.optional() }) });
const reasoning = z.object({
  text: z.string().optional(),
  signature: z.string().optional(),
  redactedContent: z.string().optional(),
});
const changed = z.object({
  contentBlockIndex: index,
  delta: z.object({
    text: z.string().optional(),
    toolUse: z.object({ input: z.string() }).optional(),
    reasoningContent: reasoning.optional(),
  }),
});
const stopped = z.object({ contentBlockIndex: index });
const ended = z.object({ stopReason: z.string() });
const measured = z.object({ usage: z.unknown().optional() });

/** One stream of a chat. */
export class ConverseStream implements DialectStream {
  readonly #frames = new EventFrames();
  readonly #chat: ChatStream;
  #reason: string | null = null;

  constructor(model: string) {
    this.#chat = new ChatStream(model);
    this.#chat.read([{ type: 'message_start', message: { id: `chatcmpl-${randomUUID()}` } }]);
  }

  push(chunk: Buffer): DialectEvents {
    const events: object[] = [];
    for (const frame of this.#frames.push(chunk)) {
      const error = streamError(frame);
      if (error !== undefined) return { events, isDone: false, error };
      const read = this.#chat.read(this.#anthropicEvents(frame));
      events.push(...read.events);
      if (read.isDone) return { events, isDone: true };
    }
    return { events, isDone: false };
  }

  /**
   * The usage comes after the stop reason. A stream with a stop reason, but without the usage, has the whole
   * answer.
   */
  finish(): DialectEvents {
    return this.#reason === null ? { events: [], isDone: false } : this.#chat.read(this.#end({}));
  }

  #anthropicEvents(frame: EventFrame): readonly object[] {
    const value = jsonIn(frame);
    switch (frame.name) {
      case 'contentBlockStart': {
        const { contentBlockIndex, start } = started.parse(value);
        const { toolUse } = start;
        if (toolUse === undefined) return [];
        const content_block = { type: 'tool_use', id: toolUse.toolUseId, name: toolUse.name, input: {} };
        return [{ type: 'content_block_start', index: contentBlockIndex, content_block }];
      }
      case 'contentBlockDelta': {
        const { contentBlockIndex, delta } = changed.parse(value);
        const redacted = delta.reasoningContent?.redactedContent;
        // Anthropic sends redacted content in the event that starts the block, not as a delta.
        if (redacted !== undefined)
          return [
            {
              type: 'content_block_start',
              index: contentBlockIndex,
              content_block: { type: 'redacted_thinking', data: redacted },
            },
          ];
        return deltasOf(delta).map((part) => ({ type: 'content_block_delta', index: contentBlockIndex, delta: part }));
      }
      case 'contentBlockStop':
        return [{ type: 'content_block_stop', index: stopped.parse(value).contentBlockIndex }];
      case 'messageStop':
        this.#reason = stopReason(ended.parse(value).stopReason);
        return [];
      case 'metadata':
        return this.#reason === null ? [] : this.#end(anthropicUsage(measured.parse(value).usage));
      default:
        // `messageStart`, and events that Bedrock may add.
        return [];
    }
  }

  #end(usage: object): readonly object[] {
    return [{ type: 'message_delta', delta: { stop_reason: this.#reason }, usage }, { type: 'message_stop' }];
  }
}

function deltasOf({ text, toolUse, reasoningContent }: z.infer<typeof changed>['delta']): readonly object[] {
  if (text !== undefined) return [{ type: 'text_delta', text }];
  if (toolUse !== undefined) return [{ type: 'input_json_delta', partial_json: toolUse.input }];
  const { text: thinking, signature } = reasoningContent ?? {};
  return [
    ...(thinking === undefined ? [] : [{ type: 'thinking_delta', thinking }]),
    ...(signature === undefined ? [] : [{ type: 'signature_delta', signature }]),
  ];
}
