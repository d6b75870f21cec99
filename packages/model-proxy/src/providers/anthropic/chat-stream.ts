/**
 * Translates Anthropic's streams to OpenAI's chunks.
 * @see https://platform.claude.com/docs/en/build-with-claude/streaming
 */
import { z } from 'zod';
import { parseWithinLimits } from '../../json/parse-within-limits.js';
import { EventReader, type ServerSentEvent } from '../../sse/event-reader.js';
import type { DialectEvents, DialectStream } from '../dialect.js';
import { finishReason, now, openaiUsage, usageSchema, type AnthropicUsage } from './answer.js';
import { errorWithStatus } from './errors.js';
import { JSON_TOOL } from './tools.js';

const typed = z.looseObject({ type: z.string() });
const started = z.object({ message: z.object({ id: z.string(), usage: usageSchema.nullish() }) });
const blockStarted = z.object({ index: z.number(), content_block: typed });
const blockChanged = z.object({ index: z.number(), delta: typed });
const blockEnded = z.object({ index: z.number() });
const changed = z.object({
  delta: z.object({ stop_reason: z.string().nullish() }),
  usage: usageSchema.nullish(),
});
const text = z.object({ text: z.string() });
const thought = z.object({ thinking: z.string() });
const signed = z.object({ signature: z.string() });
const partialJson = z.object({ partial_json: z.string() });
const toolUse = z.object({ id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()).nullish() });

/** The translation of a stream with more unfinished tool calls fails, because each call takes memory. */
const MAX_OPEN_CALLS = 1000;

/** A tool call that has not ended. */
interface OpenCall {
  /** Position in `tool_calls`; null: the tool for JSON, whose input is the text of the answer. */
  readonly position: number | null;
  hasArguments: boolean;
}

/** One stream of a chat. */
export class ChatStream implements DialectStream {
  readonly #reader = new EventReader();
  readonly #model: string;
  readonly #created = now();
  #id = '';
  #usage: Partial<AnthropicUsage> = {};
  #stopReason: string | null = null;
  /**
   * Whether a chunk with the role was sent. That chunk waits for content, so that an early error can still be
   * retried.
   */
  #hasRole = false;
  /** The unfinished tool calls by Anthropic's index of their block. */
  readonly #openCalls = new Map<number, OpenCall>();
  #calls = 0;

  constructor(model: string) {
    this.#model = model;
  }

  push(chunk: Buffer): DialectEvents {
    return this.read(this.#reader.push(chunk).map(valueOf));
  }

  finish(): DialectEvents {
    return this.read(this.#reader.finish().map(valueOf));
  }

  /** Translates parsed events, which may come from a stream without SSE. @throws {Error} as {@link push}. */
  read(values: readonly unknown[]): DialectEvents {
    const events: object[] = [];
    for (const event of values) {
      const { type } = typed.parse(event);
      if (type === 'error') {
        const error = errorWithStatus(event);
        if (error === undefined) throw new Error('an error without a message');
        return { events, isDone: false, error };
      }
      if (type === 'message_stop') return { events: [...events, this.#last()], isDone: true };
      const delta = this.#deltaOf(type, event);
      if (delta !== undefined) events.push(this.#chunk(delta));
    }
    return { events, isDone: false };
  }

  /** Returns OpenAI's delta for an event; undefined: the event has none, or its type is unknown. */
  #deltaOf(type: string, event: unknown): object | undefined {
    switch (type) {
      case 'message_start': {
        const { message } = started.parse(event);
        this.#id = message.id;
        this.#addUsage(message.usage);
        return undefined;
      }
      case 'content_block_start': {
        const { index, content_block: block } = blockStarted.parse(event);
        return this.#startBlock(index, block);
      }
      case 'content_block_delta': {
        const { index, delta } = blockChanged.parse(event);
        return this.#changeBlock(index, delta);
      }
      case 'content_block_stop':
        return this.#endBlock(blockEnded.parse(event).index);
      case 'message_delta': {
        const { delta, usage } = changed.parse(event);
        this.#stopReason = delta.stop_reason ?? this.#stopReason;
        this.#addUsage(usage);
        return undefined;
      }
      default:
        // `ping`, and events that Anthropic may add.
        return undefined;
    }
  }

  #startBlock(index: number, block: z.infer<typeof typed>): object | undefined {
    if (block.type === 'redacted_thinking') return { thinking_blocks: [block] };
    if (block.type === 'text') return textDelta(text.parse(block).text);
    if (block.type !== 'tool_use') return undefined;
    const { id, name, input } = toolUse.parse(block);
    if (this.#openCalls.size >= MAX_OPEN_CALLS) throw new Error('too many tool calls at the same time');
    const initialArguments = Object.keys(input ?? {}).length === 0 ? '' : JSON.stringify(input);
    const position = name === JSON_TOOL ? null : this.#calls++;
    this.#openCalls.set(index, { position, hasArguments: initialArguments !== '' });
    if (position === null) return textDelta(initialArguments);
    return { tool_calls: [{ index: position, id, type: 'function', function: { name, arguments: initialArguments } }] };
  }

  #changeBlock(index: number, delta: z.infer<typeof typed>): object | undefined {
    switch (delta.type) {
      case 'text_delta':
        return textDelta(text.parse(delta).text);
      case 'thinking_delta': {
        const { thinking } = thought.parse(delta);
        return { reasoning_content: thinking, thinking_blocks: [{ type: 'thinking', thinking }] };
      }
      case 'signature_delta':
        return { thinking_blocks: [{ type: 'thinking', thinking: '', signature: signed.parse(delta).signature }] };
      case 'input_json_delta': {
        // Blocks of tools that run at Anthropic also have input, which OpenAI's chunks cannot contain.
        const call = this.#openCalls.get(index);
        return call === undefined ? undefined : argumentsDelta(call, partialJson.parse(delta).partial_json);
      }
      default:
        return undefined;
    }
  }

  #endBlock(index: number): object | undefined {
    const call = this.#openCalls.get(index);
    this.#openCalls.delete(index);
    // Clients parse the arguments, and an empty text is not JSON.
    return call === undefined || call.hasArguments ? undefined : argumentsDelta(call, '{}');
  }

  #addUsage(usage: AnthropicUsage | null | undefined): void {
    const given = Object.entries(usage ?? {}).filter(([, count]) => count !== null && count !== undefined);
    this.#usage = { ...this.#usage, ...Object.fromEntries(given) };
  }

  #chunk(delta: object): object {
    const withRole = this.#hasRole ? delta : { role: 'assistant', ...delta };
    this.#hasRole = true;
    return { ...this.#frame(), choices: [{ index: 0, delta: withRole, finish_reason: null }] };
  }

  /** Makes the last chunk, with the usage. It has a choice, because some clients read `choices[0]` of each chunk. */
  #last(): object {
    const delta = this.#hasRole ? {} : { role: 'assistant', content: '' };
    const reason = finishReason(this.#stopReason, this.#calls > 0);
    const choices = [{ index: 0, delta, finish_reason: reason }];
    return { ...this.#frame(), choices, usage: openaiUsage(this.#usage) };
  }

  #frame(): object {
    return { id: this.#id, object: 'chat.completion.chunk', created: this.#created, model: this.#model };
  }
}

function valueOf({ data }: ServerSentEvent): unknown {
  return parseWithinLimits(data);
}

function textDelta(content: string): object | undefined {
  return content === '' ? undefined : { content };
}

function argumentsDelta(call: OpenCall, json: string): object | undefined {
  if (json === '') return undefined;
  call.hasArguments = true;
  if (call.position === null) return { content: json };
  return { tool_calls: [{ index: call.position, function: { arguments: json } }] };
}
