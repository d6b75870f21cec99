/**
 * Passes answers of chat that already have OpenAI's form. Dialects use this if they differ from OpenAI only in other
 * parts, such as the framing of streams.
 */
import { recordOf, recordsOf } from '../anthropic/values.js';
import type { DialectAnswer, DialectEvents } from '../dialect.js';
import { openaiErrorIn } from './errors.js';

/** Returns an answer unchanged, or its error. @throws {Error} if it has neither choices nor an error. */
export function passedAnswer(value: unknown): DialectAnswer {
  const answer = recordOf(value) ?? {};
  const error = openaiErrorIn(answer);
  if (error !== undefined) return { error };
  if (!Array.isArray(answer['choices'])) throw new Error('the answer has no choices');
  return { value: answer };
}

/** Passes the events of one stream. The stream is complete if an event had a `finish_reason`. */
export class PassedChunks {
  #hasReason = false;

  /** Passes events up to the first error. @param values parsed events. @throws {Error} if an event is not an object. */
  read(values: readonly unknown[]): DialectEvents {
    const events: object[] = [];
    for (const value of values) {
      const event = recordOf(value);
      if (event === undefined) throw new Error('an event is not an object');
      const error = openaiErrorIn(event);
      if (error !== undefined) return { events, isDone: false, error };
      if (recordsOf(event['choices']).some(({ finish_reason: reason }) => typeof reason === 'string'))
        this.#hasReason = true;
      events.push(event);
    }
    return { events, isDone: false };
  }

  finish(): DialectEvents {
    return { events: [], isDone: this.#hasReason };
  }
}
