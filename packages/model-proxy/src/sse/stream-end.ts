/** Recognizes the end of an answer in a stream of events. */
import type { Span } from '../json/navigate.js';
import { valueWithinLimits } from '../json/parse-within-limits.js';
import { dataOf, dataRanges } from './event-lines.js';

/** The reason why a stream is incomplete although its connection ended without an error. */
export type Interruption =
  /** The stream ended in the middle of an event. The client got nothing of it, or above 16 MiB only its beginning. */
  | 'event'
  /**
   * The stream had `choices`, but neither `[DONE]` nor a `finish_reason`; or Anthropic's events without the last
   * one.
   */
  | 'answer'
  /** The upstream sent an error as an event. The client has it. */
  | 'error';

/** Number of last chunks that are searched for the end of the answer. */
const RECENT_CHUNKS = 8;
/** Smaller chunks are joined with the chunk before. Otherwise, the last chunks could be less than an event. */
const SMALL_CHUNK_BYTES = 128;
/** A chunk of this size or more is not joined with later chunks. */
const JOINED_BYTES = 1024;

/** Matches an event of Anthropic's streams, which end with `message_stop`. */
const messageEvent = /"type"\s*:\s*"(message_start|content_block_(start|delta|stop)|message_delta)"/;

/** The last chunks of a stream. */
export class RecentChunks {
  readonly #chunks: Buffer[] = [];
  #count = 0;

  /** Joins a small chunk with the last chunk, or stores a chunk in place of the oldest. */
  add(chunk: Buffer): void {
    const last = this.#chunks[(this.#count - 1) % RECENT_CHUNKS];
    if (chunk.length < SMALL_CHUNK_BYTES && last !== undefined && last.length < JOINED_BYTES) {
      this.#chunks[(this.#count - 1) % RECENT_CHUNKS] = Buffer.concat([last, chunk]);
      return;
    }
    this.#chunks[this.#count % RECENT_CHUNKS] = chunk;
    this.#count += 1;
  }

  /**
   * Returns whether the end of the answer is missing. After a crash of the upstream, an HTTP/1.0
   * answer ends without an error of the connection. A complete answer has Anthropic's `message_stop`, `[DONE]`
   * or, from some servers, only a `finish_reason`. The caller looks for `[DONE]` before.
   */
  lacksEnd(): boolean {
    const lastText = this.#text();
    // If the upstream sent an error event, the client already has an error.
    if (messageEvent.test(lastText)) return !/"type"\s*:\s*"(message_stop|error)"/.test(lastText);
    return /"choices"\s*:/.test(lastText) && !/"(finish_reason"\s*:\s*"|error"\s*:\s*["{])/.test(lastText);
  }

  /** Returns whether the upstream has ended the stream with an error of its own. */
  endsWithError(): boolean {
    const lastText = this.#text();
    return /"error"\s*:\s*["{]/.test(lastText) && !/"finish_reason"\s*:\s*"|"message_stop"/.test(lastText);
  }

  /** Returns whether Anthropic's last event has come. @param incomplete number of last bytes that are no event yet. */
  hasStopped(incomplete: number): boolean {
    const text = this.#text();
    return /"type"\s*:\s*"message_stop"/.test(text.slice(0, Math.max(0, text.length - incomplete)));
  }

  #text(): string {
    const oldest = this.#count % RECENT_CHUNKS;
    return Buffer.concat([...this.#chunks.slice(oldest), ...this.#chunks.slice(0, oldest)]).toString('latin1');
  }
}

/** Returns whether an event's data begins with `[DONE]`. */
export function isDoneMark(event: Buffer, { start, end }: Span): boolean {
  return end - start >= 6 && event.toString('latin1', start, start + 6) === '[DONE]';
}

/** Returns whether the last event of a stream lacks only its empty line. */
export function isComplete(event: Buffer): boolean {
  const data = dataOf(event, dataRanges(event)).toString('utf8').slice(0, -1);
  if (data.startsWith('[DONE]')) return true;
  const last = event[event.length - 1];
  if (!data.startsWith('{')) return last === 0x0a || last === 0x0d;
  // Incomplete JSON is a usual case and no error: the result is undefined.
  return valueWithinLimits(data) !== undefined;
}

/**
 * Matches the beginning of the event with which an answer is complete, for OpenAI's and Anthropic's APIs. A line break
 * before it cannot be in a text of the answer, because JSON escapes it.
 */
const lastEvent = /(?:^|\n)(?:data: ?\[DONE\]|event: ?(?:message_stop|response\.(?:completed|incomplete|failed)))/;
const lastNames = ['[DONE]', 'message_stop', 'response.'];

/** Returns whether the last event of an answer begins in a chunk. */
export function hasLastEvent(chunk: Buffer): boolean {
  return lastNames.some((name) => chunk.includes(name)) && lastEvent.test(chunk.toString('latin1'));
}
