/**
 * Reads answers (RFC 9112) from the bytes of a connection. The proxy has its own parser, because Node's
 * parser exists only with its streams. undici's parser in WebAssembly calls back for each part of each
 * header (docs/decisions/009).
 */
import { MAX_INTERIM_ANSWERS } from '@rackless/daemon/http/interim-answers.js';
import { AnswerFault } from './answer-fault.js';
import { checkTrailer, MAX_HEAD_BYTES, parseAnswerHead, type AnswerHead } from './answer-head.js';
import { hexDigit, joinSmallChunks, MAX_JOINED_CHUNK, MAX_SINGLE_CHUNKS } from './small-chunks.js';

/** The receiver of an answer. */
export interface AnswerSink {
  /** The first byte of the answer, or of an interim answer, has arrived. */
  onAnswerBegun(): void;
  /** @returns false if the reader must pause. */
  onHead(head: AnswerHead): boolean;
  /** @param bytes never empty. @returns false if the reader must pause. */
  onData(bytes: Buffer): boolean;
  /** The answer is complete. @param isFollowed bytes follow that belong to no request. */
  onAnswerEnd(isFollowed: boolean): void;
}

/** Maximum size of a chunk's extensions or of a trailer. The proxy ignores both. */
const MAX_EXTRA_BYTES = 16_384;
/** Chunk extensions (RFC 9112 §7.1.1). White space around them is invalid, as in llhttp. */
const EXTENSIONS =
  /^(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[\t !\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t -\x7e\x80-\xff])*"))?)*$/;

const HEAD_END = Buffer.from('\r\n\r\n');
const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const BEGINNING = Buffer.from('HTTP/1.');

// States: the element that the reader expects next.
const NOTHING = 0;
const HEAD = 1;
const BODY = 2;
const CHUNK_SIZE = 3;
const CHUNK_EXTENSION = 4;
const CHUNK = 5;
const CHUNK_END = 6;
const TRAILER = 7;

/** Reads the answers of a connection, one after the other. */
export class AnswerReader {
  readonly #sink: AnswerSink;
  #state = NOTHING;
  /** The received part of an incomplete head. */
  #partial: Buffer | null = null;
  /** Bytes of the body or of the chunk that are still expected; Infinity: until the connection ends. */
  #left = 0;
  /** Number of received digits of a chunk's size, or of received bytes of the line end after a chunk. */
  #count = 0;
  /** The received part of extensions or of a trailer, as latin1. */
  #extra = '';
  /** Offset of the last line in `#extra`. */
  #lineStart = 0;
  #lastByte = 0;
  /** Whether the connection ends after this answer. */
  #closesAfterAnswer = false;
  /** Whether this is the answer to a HEAD request, without a body. */
  #isToHead = false;
  #begun = false;
  /** Number and total size of this answer's interim heads. */
  #interimHeads = 0;
  #interimBytes = 0;
  #smallChunks = 0;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  /** Returns whether the reader expects no answer. */
  get isIdle(): boolean {
    return this.#state === NOTHING;
  }

  /** Prepares for the answer to a new request. @param isToHead whether that is a HEAD request. */
  expect(isToHead = false): void {
    this.#state = HEAD;
    this.#isToHead = isToHead;
    this.#begun = false;
    this.#interimHeads = this.#interimBytes = this.#smallChunks = 0;
    this.#closesAfterAnswer = false;
  }

  /**
   * Reads bytes of the connection.
   * @returns the number of bytes that were read; fewer than in `bytes` if the sink pauses, or if the answer ends.
   * @throws {AnswerFault} if the answer is invalid or too large.
   */
  read(bytes: Buffer): number {
    let at = 0;
    let mayContinue = true;
    while (mayContinue && at < bytes.length && this.#state !== NOTHING) {
      switch (this.#state) {
        case HEAD: {
          const head = this.#takeHead(bytes, at);
          if (head === undefined) return bytes.length;
          at = head.next;
          mayContinue = this.#begin(head.head, at < bytes.length);
          break;
        }
        case BODY:
        case CHUNK: {
          const start = at;
          at += Math.min(this.#left, bytes.length - at);
          this.#left -= at - start;
          let end = at;
          if (this.#state === CHUNK && this.#left === 0 && end - start <= MAX_JOINED_CHUNK)
            if ((this.#smallChunks += 1) > MAX_SINGLE_CHUNKS) ({ end, next: at } = joinSmallChunks(bytes, at));
          const piece = start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
          mayContinue = this.#sink.onData(piece);
          // The sink may have called `stop`.
          if (this.#left > 0 || this.isIdle) break;
          if (this.#state === BODY) this.#end(at < bytes.length);
          else this.#enter(CHUNK_END);
          break;
        }
        default:
          at = this.#readFraming(bytes, at);
      }
    }
    return at;
  }

  /**
   * Ends the answer, because the connection has ended.
   * @throws {AnswerFault} if the answer is incomplete.
   */
  finish(): void {
    if (this.isIdle) return;
    if (this.#state === BODY && this.#left === Infinity) {
      this.#end(false);
      return;
    }
    // If the server announced `connection: close`, it ended the answer itself, so the announced
    // length was wrong. Without that announcement, the connection failed.
    if (this.#state === BODY && this.#closesAfterAnswer)
      throw new AnswerFault('length', 'shorter than its Content-Length');
    throw new AnswerFault('closed', 'the connection closed before the end of the answer');
  }

  /** Ignores the rest of the answer. */
  stop(): void {
    this.#state = NOTHING;
    this.#partial = null;
  }

  #end(isFollowed: boolean): void {
    this.stop();
    this.#sink.onAnswerEnd(isFollowed);
  }

  #begin(head: AnswerHead, isFollowed: boolean): boolean {
    const { status } = head;
    const framing = this.#isToHead ? 0 : head.framing;
    // RFC 9110 §15.2 allows a client to ignore interim answers. A 101 is a fault, because the
    // request had no header `Upgrade`.
    if (status === 101) throw new AnswerFault('http', 'a 101 without a request for an upgrade');
    if (status < 200) return true;
    this.#closesAfterAnswer = !head.keepsAlive;
    this.#left = framing === 'chunked' ? 0 : framing === 'connection' ? Infinity : framing;
    this.#state = BODY;
    const mayContinue = this.#sink.onHead(head);
    if (this.isIdle) return mayContinue;
    if (framing === 'chunked') this.#enter(CHUNK_SIZE);
    else if (this.#left === 0) this.#end(isFollowed);
    return mayContinue;
  }

  /**
   * Reads a head.
   * @returns the head, and the offset in `bytes` after it; undefined: the head is incomplete.
   * @throws {AnswerFault} if the head is invalid or too large, or follows too many interim answers.
   */
  #takeHead(bytes: Buffer, from: number): { readonly head: AnswerHead; readonly next: number } | undefined {
    if (!this.#begun) {
      this.#begun = true;
      this.#sink.onAnswerBegun();
    }
    const partial = this.#partial;
    // Most heads arrive in a single chunk.
    const whole = partial === null ? bytes : Buffer.concat([partial, bytes.subarray(from)]);
    const start = partial === null ? from : 0;
    // Searches only new bytes, and the old bytes that may be the beginning of the head's end.
    const searchedEnd = partial === null ? start : partial.length;
    const end = whole.indexOf(HEAD_END, Math.max(start, searchedEnd - HEAD_END.length + 1));
    const length = (end === -1 ? whole.length : end) - start;
    if (length + this.#interimBytes > MAX_HEAD_BYTES)
      throw new AnswerFault('head', `more than ${MAX_HEAD_BYTES} bytes`);
    if (end === -1) {
      checkPartial(whole, start, searchedEnd);
      this.#partial = start === 0 ? whole : whole.subarray(start);
      return undefined;
    }
    this.#partial = null;
    const head = parseAnswerHead(whole.toString('latin1', start, end));
    if (head.status < 200) {
      this.#interimHeads += 1;
      this.#interimBytes += length + HEAD_END.length;
      if (this.#interimHeads > MAX_INTERIM_ANSWERS)
        throw new AnswerFault('head', `more than ${MAX_INTERIM_ANSWERS} interim answers`);
    }
    const afterHead = end + HEAD_END.length;
    return { head, next: partial === null ? afterHead : afterHead - partial.length + from };
  }

  /** Begins to read another element of a chunked body. */
  #enter(state: number): void {
    this.#state = state;
    this.#count = 0;
    this.#extra = '';
    this.#lineStart = 0;
    this.#lastByte = 0;
  }

  /**
   * Reads chunk sizes, extensions and trailers (RFC 9112 §7.1).
   * @returns the offset after the bytes read.
   * @throws {AnswerFault} if they are invalid or too large.
   */
  #readFraming(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length) {
      const byte = bytes[at] ?? 0;
      at += 1;
      switch (this.#state) {
        case CHUNK_SIZE: {
          const digit = hexDigit(byte);
          if (digit !== -1) {
            this.#count += 1;
            if (this.#count > 12) throw badChunk();
            this.#left = this.#left * 16 + digit;
            break;
          }
          if (this.#count === 0 || (byte !== CR && byte !== SEMICOLON)) throw badChunk();
          this.#enter(CHUNK_EXTENSION);
          at -= 1;
          break;
        }
        case CHUNK_EXTENSION:
          if (!this.#endsLine(byte)) break;
          // The text is usually empty: common servers send no extensions.
          if (this.#extra.length > 2 && !EXTENSIONS.test(this.#extra.slice(0, -2))) throw badChunk();
          if (this.#left === 0) {
            this.#enter(TRAILER);
            break;
          }
          this.#enter(CHUNK);
          return at;
        case CHUNK_END:
          this.#count += 1;
          if (byte !== (this.#count === 1 ? CR : LF)) throw badChunk();
          if (this.#count === 2) this.#enter(CHUNK_SIZE);
          break;
        case TRAILER:
          if (!this.#endsLine(byte)) break;
          if (this.#extra.length - this.#lineStart > 2) {
            this.#lineStart = this.#extra.length;
            break;
          }
          checkTrailer(this.#extra.slice(0, -2));
          this.#end(at < bytes.length);
          return at;
        default:
          return at - 1;
      }
    }
    return at;
  }

  /**
   * Reads a byte of a line, which must end with CRLF.
   * @returns whether the line ends with this byte.
   * @throws {AnswerFault} if CR or LF is alone, or the line is too long.
   */
  #endsLine(byte: number): boolean {
    if ((byte === LF) !== (this.#lastByte === CR) || this.#extra.length >= MAX_EXTRA_BYTES) throw badChunk();
    this.#lastByte = byte;
    this.#extra += String.fromCharCode(byte);
    return byte === LF;
  }
}

const badChunk = () => new AnswerFault('http', 'an invalid chunk');

/**
 * Checks an incomplete head. Otherwise, the proxy and a server of another protocol would wait for each other.
 * @param from offset of the new bytes.
 * @throws {AnswerFault} if the bytes are not the beginning of a head.
 */
function checkPartial(bytes: Buffer, start: number, from: number): void {
  const length = Math.min(bytes.length - start, BEGINNING.length);
  if (bytes.compare(BEGINNING, 0, length, start, start + length) !== 0) throw new AnswerFault('http', 'no status line');
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1))
    if (bytes[at - 1] !== CR) throw new AnswerFault('http', 'a line that ends with LF only');
}
