/** Parses the events of OpenAI's streams, for endpoints that translate them. */
import { parseWithinLimits } from '../../json/parse-within-limits.js';
import { EventReader, type ServerSentEvent } from '../../sse/event-reader.js';
import type { DialectEvents, DialectStream } from '../dialect.js';
import { openaiErrorIn } from './errors.js';

/** Parses the events of one stream. */
export class OpenaiEvents implements DialectStream {
  readonly #reader = new EventReader();

  push(chunk: Buffer): DialectEvents {
    return read(this.#reader.push(chunk));
  }

  finish(): DialectEvents {
    return read(this.#reader.finish());
  }
}

/**
 * Parses events up to the end mark or the first error.
 * @throws {Error} if an event is not JSON or not an object, or exceeds a limit.
 */
function read(received: readonly ServerSentEvent[]): DialectEvents {
  const events: object[] = [];
  for (const { data } of received) {
    if (data.startsWith('[DONE]')) return { events, isDone: true };
    const event = parseWithinLimits(data);
    if (typeof event !== 'object' || event === null) throw new Error('an event is not an object');
    const error = openaiErrorIn(event);
    if (error !== undefined) return { events, isDone: false, error };
    events.push(event);
  }
  return { events, isDone: false };
}
