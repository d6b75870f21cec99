/**
 * Translates streams of chat into Anthropic's events.
 * @see https://platform.claude.com/docs/en/build-with-claude/streaming
 */
import { z } from 'zod';
import type { Block } from '../anthropic/content.js';
import { recordsOf } from '../anthropic/values.js';
import type { DialectEvents, DialectStream } from '../dialect.js';
import { chatContent, contentOf, thinkingIn } from './chat-content.js';
import { listOf } from './list-of.js';
import { callIdOf, chatUsage, messageFrame, messageUsage, stopOf, thinkingBlock } from './message-answer.js';
import { signedId } from './thought-signature.js';

const text = z.string().nullish();

const called = z.object({
  index: z.number().nullish(),
  id: text,
  function: z.object({ name: text, arguments: text }).nullish(),
  extra_content: z.unknown().optional(),
});

const chunk = z.object({
  id: text,
  model: text,
  choices: listOf(
    z.object({
      index: z.number().nullish(),
      delta: z
        .object({
          content: chatContent,
          refusal: text,
          reasoning_content: text,
          reasoning: text,
          thinking_blocks: z.unknown().optional(),
          tool_calls: listOf(called).nullish(),
        })
        .nullish(),
      finish_reason: text,
      stop_reason: z.unknown().optional(),
    }),
  ).nullish(),
  usage: chatUsage,
});

type Choice = NonNullable<z.infer<typeof chunk>['choices']>[number];

/** The block that the current events extend. */
interface OpenBlock {
  readonly type: 'thinking' | 'text' | 'tool_use';
  /** Whether the thinking has got its signature. */
  readonly isSigned?: true;
  /** OpenAI's index and id of a call. */
  readonly call?: number;
  readonly id?: string;
}

/** One stream of a message. Blocks follow each other, as in Anthropic's streams. */
export class MessageStream implements DialectStream {
  readonly #chat: DialectStream;
  readonly #model: string;
  #events: object[] = [];
  #hasBegun = false;
  #open: OpenBlock | null = null;
  /** Index of the last block. */
  #index = -1;
  #calls = -1;
  #usage: z.infer<typeof chatUsage>;
  /** The choice with the reason why the answer ended. */
  #last: Choice | null = null;
  #isRefused = false;

  /**
   * @param chat reads the upstream's stream as OpenAI's events.
   * @param model the upstream's name, for streams without it.
   */
  constructor(chat: DialectStream, model: string) {
    this.#chat = chat;
    this.#model = model;
  }

  push(bytes: Buffer): DialectEvents {
    return this.#translated(this.#chat.push(bytes), false);
  }

  finish(): DialectEvents {
    return this.#translated(this.#chat.finish(), true);
  }

  #translated({ events, isDone, error }: DialectEvents, isEnd: boolean): DialectEvents {
    for (const event of events) this.#read(event);
    // An answer that ends before it has begun is a fault of the upstream.
    const hasAnswer = this.#last !== null || (isDone && this.#hasBegun);
    const isComplete = error === undefined && hasAnswer && (isDone || isEnd);
    if (isComplete) this.#end();
    const translated = { events: this.#events, isDone: isComplete };
    this.#events = [];
    return error === undefined ? translated : { ...translated, error };
  }

  #read(event: object): void {
    const { id, model, choices, usage } = chunk.parse(event);
    this.#usage = usage ?? this.#usage;
    const choice = choices?.find(({ index }) => (index ?? 0) === 0);
    if (choice === undefined) return;
    const { delta } = choice;
    const before = this.#events.length;
    const thoughts = recordsOf(delta?.thinking_blocks);
    if (thoughts.length > 0) for (const thought of thoughts) this.#think(thought);
    else this.#change('thinking', thinkingIn(delta ?? {}));
    if (delta?.refusal) this.#isRefused = true;
    this.#change('text', contentOf(delta?.content).text + (delta?.refusal ?? ''));
    for (const call of delta?.tool_calls ?? []) this.#call(call);
    if (choice.finish_reason) this.#last = choice;
    // The first event waits for content, so that an early error can still be retried.
    if (this.#hasBegun || (this.#events.length === before && this.#last === null)) return;
    this.#begin(id ?? '', model ?? this.#model);
  }

  #begin(id: string, model: string): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const stop = { stop_reason: null, stop_sequence: null };
    const message = { ...messageFrame(id, model), content: [], ...stop, usage: messageUsage(this.#usage) };
    this.#events.unshift({ type: 'message_start', message }, { type: 'ping' });
  }

  /** Adds a part of LiteLLM's `thinking_blocks`, which also has the signatures. */
  #think(block: Block): void {
    const { type, thinking, signature } = block;
    if (type === 'redacted_thinking') {
      this.#start({ type: 'thinking' }, block);
      this.#close();
      return;
    }
    if (typeof thinking === 'string' && thinking !== '') {
      // The signature is the end of a thought, so more text belongs to the next thought.
      if (this.#open?.isSigned === true) this.#close();
      this.#change('thinking', thinking);
    }
    // LiteLLM sends an empty signature with each part of a thought.
    if (typeof signature !== 'string' || signature === '' || this.#open?.type !== 'thinking') return;
    this.#delta({ type: 'signature_delta', signature });
    this.#open = { ...this.#open, isSigned: true };
  }

  #change(type: 'thinking' | 'text', added: string): void {
    if (added === '') return;
    if (this.#open?.type !== type) this.#start({ type }, type === 'thinking' ? thinkingBlock('') : { type, text: '' });
    this.#delta(
      type === 'thinking' ? { type: 'thinking_delta', thinking: added } : { type: 'text_delta', text: added },
    );
  }

  /**
   * Adds a part of a call. Some servers repeat the id of a call in each event, other servers give all calls the
   * same index. So a new call begins if the index or the id differs from that of the open call.
   */
  #call({ index, id, function: part, extra_content: extra }: z.infer<typeof called>): void {
    const open = this.#open?.type === 'tool_use' ? this.#open : undefined;
    const call = index ?? open?.call ?? 0;
    const isNew = open === undefined || open.call !== call || (Boolean(id) && id !== open.id);
    if (isNew) {
      const name = part?.name ?? '';
      if (name === '') throw new Error('a tool call without a name, or parts of several calls at the same time');
      this.#calls += 1;
      const callId = callIdOf(id, this.#calls);
      this.#start(
        { type: 'tool_use', call, id: callId },
        { type: 'tool_use', id: signedId(callId, extra), name, input: {} },
      );
    }
    const json = part?.arguments ?? '';
    if (json !== '') this.#delta({ type: 'input_json_delta', partial_json: json });
  }

  #start(open: OpenBlock, content_block: Block): void {
    this.#close();
    this.#open = open;
    this.#index += 1;
    this.#events.push({ type: 'content_block_start', index: this.#index, content_block });
  }

  #delta(delta: Block): void {
    this.#events.push({ type: 'content_block_delta', index: this.#index, delta });
  }

  #close(): void {
    if (this.#open !== null) this.#events.push({ type: 'content_block_stop', index: this.#index });
    this.#open = null;
  }

  #end(): void {
    this.#close();
    this.#begin('', this.#model);
    const { finish_reason: reason, stop_reason: stop } = this.#last ?? {};
    const delta = stopOf(this.#isRefused ? 'content_filter' : reason, { stop, hasCalls: this.#calls >= 0 });
    this.#events.push({ type: 'message_delta', delta, usage: messageUsage(this.#usage) }, { type: 'message_stop' });
  }
}
