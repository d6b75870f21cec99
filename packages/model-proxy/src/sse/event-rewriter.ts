/**
 * Rewrites streams of server-sent events: renames the model, or replaces the id of the response, and can
 * remove the event with the usage. Forwards each event as soon as it is complete. All other bytes stay
 * unchanged: comments, unknown fields and line ends.
 */
import { parseJson } from '@rackless/daemon/text/json.js';
import { errorBody, type Api } from '../errors/error-body.js';
import type { ProxyError } from '../errors/proxy-error.js';
import { ChunkList } from '../json/chunk-list.js';
import { findValue, type Span } from '../json/navigate.js';
import { dataOf, dataRanges, endsEventAfterLine, EventEnds, startsWith } from './event-lines.js';
import { joined } from './join-pieces.js';
import { isComplete, isDoneMark, RecentChunks, type Interruption } from './stream-end.js';
import { isOnlyUsage, usageKey } from './usage-event.js';

/** Options of {@link createEventRewriter}. */
interface EventRewriterOptions {
  /** Paths of the member with the model's name or the id. The first path that exists is used. */
  readonly modelPaths: readonly (readonly string[])[];
  /**
   * Returns the client's name or id for that of the upstream. Must return the same name for the same
   * input.
   */
  readonly model: (reported: string) => string;
  /** Whether to remove the event that has only the usage. Default: false. */
  readonly hidesUsage?: boolean;
}

/** Rewrites a stream of events. Holds no resources: the caller may drop it without {@link EventRewriter.finish}. */
export interface EventRewriter {
  /**
   * Rewrites the most common kind of chunk: exactly one event, which begins like the events before
   * it.
   * @returns the event as latin1 text, which is cheaper to join than buffers. undefined: another
   *   kind of chunk, for which the caller must call {@link EventRewriter.push}.
   */
  pushLikely(chunk: Buffer): string | undefined;
  /**
   * Rewrites a chunk.
   * @returns the complete events, in few buffers. The chunk itself if nothing changed. Empty if no
   *   event is complete.
   */
  push(chunk: Buffer): Buffer[];
  /** Ends the stream. @returns the last event if it lacks only its empty line. */
  finish(): Buffer[];
  /** Whether `[DONE]` or Anthropic's `message_stop` has come: the answer is complete. */
  readonly isDone: boolean;
  /**
   * After {@link finish}: why the stream is incomplete. The caller then sends {@link
   * renderErrorEvent}, unless the client has an error already. null: complete.
   */
  readonly interruption: Interruption | null;
  /** The event with the usage that was removed; null: none. */
  readonly hiddenUsage: Buffer | null;
  /** Number of complete events so far, with `[DONE]` and comments, and without events above 16 MiB. */
  readonly eventCount: number;
}

/**
 * Larger events are forwarded unchanged, because the rewriter would have to store them. Model
 * servers send far smaller ones.
 */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** Shorter events have no data that matters: `data:{}` has 7 bytes. */
const MIN_EVENT_BYTES = 7;
/** Longer prefixes are not cached. */
const MAX_PREFIX_BYTES = 2048;
/** After this number of different prefixes, the rewriter caches no more: some servers write the name last. */
const MAX_DIFFERENT_PREFIXES = 16;

/**
 * Writes an error as an event. When the event arrives, OpenAI's and Anthropic's clients throw an exception.
 */
export function renderErrorEvent(error: ProxyError, api: Api, requestId: string): Buffer {
  const name = api === 'anthropic' ? 'event: error\n' : '';
  return Buffer.from(`${name}data: ${errorBody(error, api, requestId)}\n\n`);
}

/** Makes the rewriter for an answer. */
export function createEventRewriter(options: EventRewriterOptions): EventRewriter {
  return new Rewriter(options);
}

/** Replaces the bytes from `start` up to `end`. */
interface Edit extends Span {
  readonly replacement: Buffer;
}

/** The beginning of an event, up to the end of the model's name. */
interface KnownPrefix {
  readonly prefix: Buffer;
  /** The prefix with the client's name; null: the name does not change. */
  readonly renamed: Buffer | null;
  /** `renamed`, or `prefix` if the name does not change, as latin1. */
  readonly text: string;
}

const NOTHING = Buffer.alloc(0);

class Rewriter implements EventRewriter {
  readonly #options: EventRewriterOptions;
  readonly #ends = new EventEnds();
  /** The chunks of an incomplete event. */
  #pending = new ChunkList();
  #pendingBytes = 0;
  /** The current event is larger than {@link MAX_EVENT_BYTES}, and is forwarded unchanged. */
  #isForwardedUnchanged = false;
  /** The cached prefix of the events of this stream; null: none yet. */
  #known: KnownPrefix | null = null;
  /** Number of events whose prefix differed from the cached prefix. */
  #differentPrefixes = 0;
  /** The last name that the upstream sent; null: none yet. */
  #reported: Buffer | null = null;
  /** The replacement of {@link #reported}; null: the name does not change. */
  #replacement: Buffer | null = null;
  #isDone = false;
  readonly #recent = new RecentChunks();
  #interruption: Interruption | null = null;
  /** Size of the incomplete event at the end of the stream, which the client does not get. */
  #droppedBytes = 0;
  hiddenUsage: Buffer | null = null;
  eventCount = 0;

  constructor(options: EventRewriterOptions) {
    this.#options = options;
  }

  get isDone(): boolean {
    return this.#isDone || this.#recent.hasStopped(this.#pendingBytes + this.#droppedBytes);
  }

  get interruption(): Interruption | null {
    return this.#interruption;
  }

  pushLikely(chunk: Buffer): string | undefined {
    const known = this.#known;
    if (known === null || this.#isForwardedUnchanged || this.#pendingBytes > 0 || !this.#ends.atLineStart)
      return undefined;
    const { prefix, text } = known;
    if (!startsWith(chunk, 0, prefix) || !endsEventAfterLine(chunk, prefix.length)) return undefined;
    if (this.#options.hidesUsage === true && chunk.includes(usageKey)) return undefined;
    this.eventCount += 1;
    this.#recent.add(chunk);
    return text + chunk.toString('latin1', prefix.length);
  }

  push(chunk: Buffer): Buffer[] {
    this.#recent.add(chunk);
    const output: Buffer[] = [];
    /** All bytes before this offset are in `output`. */
    let written = 0;
    let from = this.#ends.begin(chunk);
    // If a chunk boundary cut a CRLF, the LF belongs to the previous event.
    let start = this.#pendingBytes > 0 ? 0 : from;
    for (;;) {
      const end = this.#ends.next(chunk, from);
      if (end === -1) break;
      if (this.#isForwardedUnchanged) this.#isForwardedUnchanged = false;
      else if (this.#pendingBytes > 0) {
        if (start > written) output.push(chunk.subarray(written, start));
        this.#finishPending(chunk.subarray(start, end), output);
        written = end;
      } else {
        const edit = this.#editOf(chunk, start, end);
        if (edit !== null) {
          output.push(chunk.subarray(written, edit.start), edit.replacement);
          written = edit.end;
        }
      }
      start = from = end;
    }
    const completeEnd = this.#isForwardedUnchanged ? chunk.length : start;
    if (written === 0 && completeEnd === chunk.length) return chunk.length === 0 ? output : [chunk];
    if (completeEnd > written) output.push(chunk.subarray(written, completeEnd));
    if (completeEnd < chunk.length) this.#addPending(chunk.subarray(completeEnd), output);
    return joined(output);
  }

  finish(): Buffer[] {
    const output: Buffer[] = [];
    if (this.#pendingBytes > 0) {
      const event = Buffer.concat(this.#pending.chunks, this.#pendingBytes);
      this.#pending = new ChunkList();
      this.#pendingBytes = 0;
      if (isComplete(event)) this.#finishPending(event, output);
      else [this.#interruption, this.#droppedBytes] = ['event', event.length];
    } else if (this.#isForwardedUnchanged) this.#interruption = 'event';
    if (this.#interruption !== null) return joined(output);
    if (this.#recent.endsWithError()) this.#interruption = 'error';
    else if (!this.#isDone && this.#recent.lacksEnd()) this.#interruption = 'answer';
    return joined(output);
  }

  #addPending(rest: Buffer, output: Buffer[]): void {
    this.#pending.push(rest);
    this.#pendingBytes += rest.length;
    if (this.#pendingBytes <= MAX_EVENT_BYTES) return;
    // No spread: a call has a maximum number of arguments.
    for (const piece of this.#pending.chunks) output.push(piece);
    this.#pending = new ChunkList();
    this.#pendingBytes = 0;
    this.#isForwardedUnchanged = true;
  }

  #finishPending(rest: Buffer, output: Buffer[]): void {
    const event =
      this.#pendingBytes === 0
        ? rest
        : Buffer.concat([...this.#pending.chunks, rest], this.#pendingBytes + rest.length);
    this.#pending = new ChunkList();
    this.#pendingBytes = 0;
    const edit = this.#editOf(event, 0, event.length);
    if (edit === null) output.push(event);
    else output.push(event.subarray(0, edit.start), edit.replacement, event.subarray(edit.end));
  }

  /** Returns the change of the event at `start`; null: no change. */
  #editOf(bytes: Buffer, start: number, end: number): Edit | null {
    this.eventCount += 1;
    if (end - start < MIN_EVENT_BYTES) return null;
    if (this.#options.hidesUsage === true && isOnlyUsage(bytes.subarray(start, end))) {
      this.hiddenUsage = Buffer.from(bytes.subarray(start, end));
      return { start, end, replacement: NOTHING };
    }
    const known = this.#known;
    // Most servers write events that are equal up to the end of the model's name.
    if (known !== null && startsWith(bytes, start, known.prefix)) {
      return known.renamed && { start, end: start + known.prefix.length, replacement: known.renamed };
    }
    const edit = this.#analyze(bytes.subarray(start, end));
    return edit && { start: start + edit.start, end: start + edit.end, replacement: edit.replacement };
  }

  #analyze(event: Buffer): Edit | null {
    const ranges = dataRanges(event);
    const [only] = ranges;
    if (only === undefined) return null;
    if (ranges.length > 1) return this.#analyzeLines(event, ranges);
    if (event[only.start] !== 0x7b) {
      if (isDoneMark(event, only)) this.#isDone = true;
      return null;
    }
    const value = this.#findModel(event, only);
    if (value === null) return null;
    const replacement = this.#replacementOf(event.subarray(value.start, value.end));
    this.#differentPrefixes += 1;
    if (value.end <= MAX_PREFIX_BYTES && this.#differentPrefixes <= MAX_DIFFERENT_PREFIXES) {
      // A view would keep its chunk in memory for the whole stream.
      const prefix = Buffer.from(event.subarray(0, value.end));
      const renamed = replacement && Buffer.concat([event.subarray(0, value.start), replacement]);
      this.#known = { prefix, renamed, text: (renamed ?? prefix).toString('latin1') };
    }
    return replacement && { ...value, replacement };
  }

  /**
   * Analyzes data in several lines, which is a single text with line feeds. A name is always in a
   * single line, because JSON strings contain no line feeds.
   */
  #analyzeLines(event: Buffer, ranges: readonly Span[]): Edit | null {
    const data = dataOf(event, ranges);
    const value = this.#findModel(data, { start: 0, end: data.length });
    if (value === null) return null;
    let offset = 0;
    for (const { start, end } of ranges) {
      const length = end - start;
      if (value.start >= offset && value.end <= offset + length) {
        const shift = start - offset;
        const replacement = this.#replacementOf(data.subarray(value.start, value.end));
        return replacement && { start: value.start + shift, end: value.end + shift, replacement };
      }
      offset += length + 1;
    }
    return null;
  }

  #findModel(bytes: Buffer, range: Span): Span | null {
    for (const path of this.#options.modelPaths) {
      const value = findValue(bytes, range.start, range.end, path);
      // Only a text is renamed. null and other values stay.
      if (value !== undefined) return bytes[value.start] === 0x22 ? value : null;
    }
    return null;
  }

  #replacementOf(value: Buffer): Buffer | null {
    if (this.#reported?.equals(value) === true) return this.#replacement;
    this.#reported = Buffer.from(value);
    this.#replacement = null;
    const text = parseJson(value.toString());
    // Invalid JSON: the client gets the upstream's bytes unchanged.
    if (typeof text !== 'string') return null;
    const name = this.#options.model(text);
    if (name !== text) this.#replacement = Buffer.from(JSON.stringify(name));
    return this.#replacement;
  }
}
