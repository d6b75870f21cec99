/**
 * Translates the streams of InvokeModel. Each event contains an event of the model's own API, as base64.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
 */
import { z } from 'zod';
import { parseWithinLimits } from '../../json/parse-within-limits.js';
import { EventFrames, jsonIn, type EventFrame } from '../aws/event-frames.js';
import type { DialectEvents, DialectStream } from '../dialect.js';
import { streamError } from './stream-error.js';

const chunked = z.object({ bytes: z.base64() });

/** Returns the bytes in an event; undefined: an event without bytes. */
export function chunkBytes(frame: EventFrame): Buffer | undefined {
  return frame.name === 'chunk' ? Buffer.from(chunked.parse(jsonIn(frame)).bytes, 'base64') : undefined;
}

/** Reads the parsed events of a model's own API. */
interface ValueReader {
  /** @throws {Error} if an event does not belong to the model's API. */
  read(values: readonly unknown[]): DialectEvents;
  /** Reads the end of the stream. */
  finish(): DialectEvents;
}

/** One stream. */
export class InvokeStream implements DialectStream {
  readonly #frames = new EventFrames();
  readonly #reader: ValueReader;

  constructor(reader: ValueReader) {
    this.#reader = reader;
  }

  push(chunk: Buffer): DialectEvents {
    const events: object[] = [];
    for (const frame of this.#frames.push(chunk)) {
      const error = streamError(frame);
      if (error !== undefined) return { events, isDone: false, error };
      const bytes = chunkBytes(frame);
      if (bytes === undefined) continue;
      const read = this.#reader.read([parseWithinLimits(bytes.toString())]);
      events.push(...read.events);
      if (read.isDone || read.error !== undefined) return { ...read, events };
    }
    return { events, isDone: false };
  }

  finish(): DialectEvents {
    return this.#reader.finish();
  }
}
