/**
 * A stream of events with the model's name as it is told here. Event by event: nothing waits for more than the event that it stands
 * in, and every byte but the name's is what it was: comments, unknown fields, line ends.
 */
import type { ProxyError } from '../errors.js';
import { ChunkList } from '../json/chunk-list.js';
import { findValue, type Span } from '../json/navigate.js';
import { dataRanges, endsWithLine, EventEnds, startsWith } from './event-lines.js';

export interface EventRewriterOptions {
  /** Where events carry the model's name; the first path that is there. */
  readonly modelPaths: readonly (readonly string[])[];
  /** From the name that the upstream reports to the one that the client reads. Always the same for the same name. */
  readonly model: (reported: string) => string;
}

/** Why a stream that ended without an error of its connection is not whole after all. */
export type Interruption =
  /** In the middle of an event. What there was of it has been left out. */
  | 'event'
  /** Neither `[DONE]` nor a finish_reason had come for its choices. */
  | 'answer';

export interface EventRewriter {
  /**
   * As {@link EventRewriter.push} for by far the commonest chunk: one event that begins like the ones before it.
   * @returns the event, a character for each byte (latin1), as what is put together is cheaper as a text; undefined: it is anything
   * else, and is to be pushed.
   */
  pushLikely(chunk: Buffer): string | undefined;
  /** @returns whole events, in few buffers; the chunk itself where nothing in it had to change; empty: none was whole. */
  push(chunk: Buffer): Buffer[];
  /** The upstream has ended. @returns a last event without its empty line, if it is whole otherwise. */
  finish(): Buffer[];
  /** After {@link finish}: what must not look like a complete answer. The client is to get {@link renderErrorEvent} then. */
  readonly interruption: Interruption | null;
}

/** Larger events pass unchanged: no model server has any reason to send them, and they would have to be kept. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** Up to here pieces are joined to one write; copying costs less than a write. */
const JOINED_BYTES = 65_536;
/** Longer beginnings are not remembered. */
const MAX_PREFIX_BYTES = 2048;
/** After so many beginnings that were not the one before there is no use in remembering more: some servers put the name last. */
const UNLIKE_EVENTS = 16;
/** Chunks that the end of a stream is judged by. */
const RECENT_CHUNKS = 8;

/** An error as an event: what clients of OpenAI's take an exception from in the middle of a stream. */
export function renderErrorEvent(error: ProxyError): Buffer {
  return Buffer.from(`data: ${JSON.stringify(error.body)}\n\n`);
}

/** One for each answer. Needs no closing. */
export function createEventRewriter(options: EventRewriterOptions): EventRewriter {
  return new Rewriter(options);
}

/** Bytes `start` up to `end` give way to the replacement. */
interface Edit extends Span {
  readonly replacement: Buffer;
}

/** Beginning of an event, up to the end of the model's name. */
interface KnownPrefix {
  readonly prefix: Buffer;
  /** The same with the name as the client reads it; null: it is that already. */
  readonly renamed: Buffer | null;
  /** What stands in the prefix's place, as latin1. */
  readonly text: string;
}

class Rewriter implements EventRewriter {
  readonly #options: EventRewriterOptions;
  readonly #ends = new EventEnds();
  /** Of an event that is not whole yet. */
  #pending = new ChunkList();
  #pendingBytes = 0;
  /** The present event is too large: it goes on as it comes. */
  #passing = false;
  #known: KnownPrefix | null = null;
  /** Events with a name that did not begin as the one before. */
  #unlike = 0;
  #reported: Buffer | null = null;
  #replacement: Buffer | null = null;
  #isDone = false;
  readonly #recent: Buffer[] = [];
  #chunks = 0;
  #interruption: Interruption | null = null;

  constructor(options: EventRewriterOptions) {
    this.#options = options;
  }

  get interruption(): Interruption | null {
    return this.#interruption;
  }

  pushLikely(chunk: Buffer): string | undefined {
    const known = this.#known;
    if (known === null || this.#passing || this.#pendingBytes > 0 || !this.#ends.atStart) return undefined;
    const { prefix, text } = known;
    if (!startsWith(chunk, 0, prefix) || !endsWithLine(chunk, prefix.length)) return undefined;
    this.#remember(chunk);
    return text + chunk.toString('latin1', prefix.length);
  }

  #remember(chunk: Buffer): void {
    this.#recent[this.#chunks % RECENT_CHUNKS] = chunk;
    this.#chunks += 1;
  }

  push(chunk: Buffer): Buffer[] {
    this.#remember(chunk);
    const out: Buffer[] = [];
    /** Everything before is in `out`. */
    let written = 0;
    let from = this.#ends.begin(chunk);
    // The LF of a CRLF that was cut apart belongs to the event in front of it.
    let start = this.#pendingBytes > 0 ? 0 : from;
    for (;;) {
      const end = this.#ends.next(chunk, from);
      if (end === -1) break;
      if (this.#passing) this.#passing = false;
      else if (this.#pendingBytes > 0) {
        if (start > written) out.push(chunk.subarray(written, start));
        this.#finishPending(chunk.subarray(start, end), out);
        written = end;
      } else {
        const edit = this.#editOf(chunk, start, end);
        if (edit !== null) {
          out.push(chunk.subarray(written, edit.start), edit.replacement);
          written = edit.end;
        }
      }
      start = from = end;
    }
    const whole = this.#passing ? chunk.length : start;
    if (written === 0 && whole === chunk.length) return chunk.length === 0 ? out : [chunk];
    if (whole > written) out.push(chunk.subarray(written, whole));
    if (whole < chunk.length) this.#keep(chunk.subarray(whole), out);
    return joined(out);
  }

  finish(): Buffer[] {
    const out: Buffer[] = [];
    if (this.#pendingBytes > 0) {
      const event = Buffer.concat(this.#pending.chunks, this.#pendingBytes);
      this.#pending = new ChunkList();
      this.#pendingBytes = 0;
      if (isWhole(event)) this.#finishPending(event, out);
      else this.#interruption = 'event';
    } else if (this.#passing) this.#interruption = 'event';
    if (this.#interruption === null && !this.#isDone && this.#lacksEnd()) this.#interruption = 'answer';
    return joined(out);
  }

  #keep(rest: Buffer, out: Buffer[]): void {
    this.#pending.push(rest);
    this.#pendingBytes += rest.length;
    if (this.#pendingBytes <= MAX_EVENT_BYTES) return;
    // Not spread: there may be too many for the arguments of one call.
    for (const piece of this.#pending.chunks) out.push(piece);
    this.#pending = new ChunkList();
    this.#pendingBytes = 0;
    this.#passing = true;
  }

  #finishPending(rest: Buffer, out: Buffer[]): void {
    const event =
      this.#pendingBytes === 0
        ? rest
        : Buffer.concat([...this.#pending.chunks, rest], this.#pendingBytes + rest.length);
    this.#pending = new ChunkList();
    this.#pendingBytes = 0;
    const edit = this.#editOf(event, 0, event.length);
    if (edit === null) out.push(event);
    else out.push(event.subarray(0, edit.start), edit.replacement, event.subarray(edit.end));
  }

  /** What to change in the event at `start`; null: nothing. */
  #editOf(bytes: Buffer, start: number, end: number): Edit | null {
    const known = this.#known;
    // The events of a stream are alike up to the model's name in most servers: then so is the name, and where it stands.
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
    this.#unlike += 1;
    if (value.end <= MAX_PREFIX_BYTES && this.#unlike <= UNLIKE_EVENTS) {
      // Copied: the chunk that it came in is not to be kept for the whole stream.
      const prefix = Buffer.from(event.subarray(0, value.end));
      const renamed = replacement && Buffer.concat([event.subarray(0, value.start), replacement]);
      this.#known = { prefix, renamed, text: (renamed ?? prefix).toString('latin1') };
    }
    return replacement && { ...value, replacement };
  }

  /** Data in several lines is one text with line feeds between them. A name never spans two: JSON's strings have no line feeds. */
  #analyzeLines(event: Buffer, ranges: readonly Span[]): Edit | null {
    const lineFeed = Buffer.from('\n');
    const data = Buffer.concat(ranges.flatMap(({ start, end }) => [event.subarray(start, end), lineFeed]));
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
      // A name is text; null and whatever else stay.
      if (value !== undefined) return bytes[value.start] === 0x22 ? value : null;
    }
    return null;
  }

  #replacementOf(value: Buffer): Buffer | null {
    if (this.#reported?.equals(value) === true) return this.#replacement;
    this.#reported = Buffer.from(value);
    this.#replacement = null;
    const text = textOf(value);
    if (text === null) return null;
    const name = this.#options.model(text);
    if (name !== text) this.#replacement = Buffer.from(JSON.stringify(name));
    return this.#replacement;
  }

  /**
   * A connection can end in good order in front of an upstream that died: HTTP/1.0's answers end that way. A model's answer ends
   * with `[DONE]` or, where a server does without, has told why it finished.
   */
  #lacksEnd(): boolean {
    const oldest = this.#chunks % RECENT_CHUNKS;
    const last = Buffer.concat([...this.#recent.slice(oldest), ...this.#recent.slice(0, oldest)]).toString('latin1');
    // An error of the upstream's own has told the client already.
    return /"choices"\s*:/.test(last) && !/"(finish_reason"\s*:\s*"|error"\s*:\s*["{])/.test(last);
  }
}

function isDoneMark(event: Buffer, { start, end }: Span): boolean {
  return end - start >= 6 && event.toString('latin1', start, start + 6) === '[DONE]';
}

/** Whether an event that the end of the stream cut off lacks nothing but its empty line. */
function isWhole(event: Buffer): boolean {
  const ranges = dataRanges(event);
  const data = ranges.map(({ start, end }) => event.toString('utf8', start, end)).join('\n');
  if (data.startsWith('[DONE]')) return true;
  const last = event[event.length - 1];
  if (!data.startsWith('{')) return last === 0x0a || last === 0x0d;
  try {
    JSON.parse(data);
    return true;
  } catch {
    // It is cut off: that is the question.
    return false;
  }
}

function textOf(value: Buffer): string | null {
  try {
    const text: unknown = JSON.parse(value.toString());
    return typeof text === 'string' ? text : null;
  } catch {
    // No JSON: the client is to see what the upstream sent.
    return null;
  }
}

function joined(pieces: Buffer[]): Buffer[] {
  if (pieces.length < 2) return pieces;
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return length <= JOINED_BYTES ? [Buffer.concat(pieces, length)] : pieces;
}
