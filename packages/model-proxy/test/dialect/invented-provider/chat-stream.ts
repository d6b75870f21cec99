/**
 * Translates the invented API's chat streams. Their events are `said` (text), `over` (end) and `trouble` (error).
 */
import type { DialectEvents, DialectStream } from '../../../src/providers/dialect.js';
import { EventReader, type ServerSentEvent } from '../../../src/sse/event-reader.js';
import { errorIn } from './errors.js';

/** Makes OpenAI's event with a piece of text. */
export const openaiPiece = (model: string, content: string) => ({
  object: 'chat.completion.chunk',
  model,
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
});

/** Makes OpenAI's last event, with the usage. */
export const openaiEnd = (model: string) => ({
  object: 'chat.completion.chunk',
  model,
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

export class ChatStream implements DialectStream {
  readonly #reader = new EventReader();
  readonly #model: string;

  constructor(model: string) {
    this.#model = model;
  }

  push(chunk: Buffer): DialectEvents {
    return this.#translated(this.#reader.push(chunk));
  }

  finish(): DialectEvents {
    return this.#translated(this.#reader.finish());
  }

  #translated(read: readonly ServerSentEvent[]): DialectEvents {
    const events: object[] = [];
    for (const { name, data } of read) {
      if (name === 'said') events.push(openaiPiece(this.#model, data));
      else if (name === 'over') return { events: [...events, openaiEnd(this.#model)], isDone: true };
      else if (name === 'trouble') {
        const error = errorIn(JSON.parse(data));
        return { events, isDone: false, ...(error === undefined ? {} : { error: { status: 529, ...error } }) };
      }
    }
    return { events, isDone: false };
  }
}
