/**
 * Reads answers (RFC 9112) out of the bytes of one connection. Node's own parser is not to be had without its streams, and undici's,
 * in WebAssembly, calls back for each part of each header (decision 009).
 */
import { MAX_INTERIM_ANSWERS } from '@rackless/daemon/interim-answers.js';
import { AnswerFault } from './answer-fault.js';
import { checkTrailer, MAX_HEAD_BYTES, parseAnswerHead, type AnswerHead } from './answer-head.js';

/** Whoever waits for the answer. */
export interface AnswerSink {
  /** Its first byte, or that of an interim answer. */
  onAnswerBegun(): void;
  /** @returns false: no more for now. */
  onHead(head: AnswerHead): boolean;
  /** Never empty. @returns false: no more for now. */
  onData(bytes: Buffer): boolean;
  /** All of it has come. @param isFollowed more has come behind it, which nobody asked for. */
  onAnswerEnd(isFollowed: boolean): void;
}

/** The extensions of a chunk, or a trailer; nobody reads either. */
const MAX_ASIDE_BYTES = 16_384;
/** RFC 9112 §7.1.1, without the white space around it, which llhttp does not take either. */
const EXTENSIONS =
  /^(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[\t !\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t -\x7e\x80-\xff])*"))?)*$/;

const HEAD_END = Buffer.from('\r\n\r\n');
const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const BEGINNING = Buffer.from('HTTP/1.');

// What comes next.
const NOTHING = 0;
const HEAD = 1;
const BODY = 2;
const CHUNK_SIZE = 3;
const CHUNK_EXTENSION = 4;
const CHUNK = 5;
const CHUNK_END = 6;
const TRAILER = 7;

export class AnswerReader {
  readonly #sink: AnswerSink;
  #state = NOTHING;
  /** The beginning of a head that is not whole. */
  #partial: Buffer | null = null;
  /** Of the body or the chunk, in bytes; Infinity: up to the connection's end. */
  #left = 0;
  /** Digits of a chunk's length, or bytes behind a chunk. */
  #digits = 0;
  /** Extensions or a trailer as far as they have come; latin1. */
  #aside = '';
  /** Where in that its last line begins. */
  #lineStart = 0;
  #lastByte = 0;
  #endsByConnection = false;
  #begun = false;
  /** Interim heads of this answer, and their length in bytes. */
  #interimHeads = 0;
  #interimBytes = 0;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  /** Whether no answer is waited for: bytes that come are nobody's. */
  get isIdle(): boolean {
    return this.#state === NOTHING;
  }

  /** A request goes out: what comes is the answer to it. */
  expect(): void {
    this.#state = HEAD;
    this.#begun = false;
    this.#interimHeads = this.#interimBytes = 0;
    this.#endsByConnection = false;
  }

  /**
   * Reads on.
   * @returns how many bytes were read: fewer than there are where the sink wants no more, or behind the answer's end.
   * @throws {AnswerFault}
   */
  read(bytes: Buffer): number {
    let at = 0;
    let goesOn = true;
    while (goesOn && at < bytes.length && this.#state !== NOTHING) {
      switch (this.#state) {
        case HEAD: {
          const head = this.#takeHead(bytes, at);
          if (head === undefined) return bytes.length;
          at = head.behind;
          goesOn = this.#begin(head.head, at < bytes.length);
          break;
        }
        case BODY:
        case CHUNK: {
          const length = Math.min(this.#left, bytes.length - at);
          const piece = length === bytes.length ? bytes : bytes.subarray(at, at + length);
          at += length;
          this.#left -= length;
          goesOn = this.#sink.onData(piece);
          // Whoever was told may have given it up.
          if (this.#left > 0 || this.isIdle) break;
          if (this.#state === BODY) this.#end(at < bytes.length);
          else this.#toLine(CHUNK_END);
          break;
        }
        default:
          at = this.#readFraming(bytes, at);
      }
    }
    return at;
  }

  /** The connection has ended. @throws {AnswerFault} the answer had not. */
  finish(): void {
    if (this.isIdle) return;
    if (this.#state === BODY && this.#left === Infinity) {
      this.#end(false);
      return;
    }
    // Of a server that closes after its answer, what it announced was wrong; of any other the connection was.
    if (this.#state === BODY && this.#endsByConnection) throw new AnswerFault('length', 'less than its Content-Length');
    throw new AnswerFault('closed', 'closed');
  }

  /** The answer is nobody's any more. */
  stop(): void {
    this.#state = NOTHING;
    this.#partial = null;
  }

  #end(isFollowed: boolean): void {
    this.stop();
    this.#sink.onAnswerEnd(isFollowed);
  }

  #begin(head: AnswerHead, isFollowed: boolean): boolean {
    const { status, framing } = head;
    // RFC 9110 §15.2: interim answers may be passed over; but nobody asked for another protocol.
    if (status === 101) throw new AnswerFault('http', 'bad upgrade');
    if (status < 200) return true;
    this.#endsByConnection = !head.keepsAlive;
    this.#left = framing === 'chunked' ? 0 : framing === 'connection' ? Infinity : framing;
    this.#state = BODY;
    const goesOn = this.#sink.onHead(head);
    if (this.isIdle) return goesOn;
    if (framing === 'chunked') this.#toLine(CHUNK_SIZE);
    else if (this.#left === 0) this.#end(isFollowed);
    return goesOn;
  }

  /** @returns undefined: it is not whole. */
  #takeHead(bytes: Buffer, from: number): { readonly head: AnswerHead; readonly behind: number } | undefined {
    if (!this.#begun) {
      this.#begun = true;
      this.#sink.onAnswerBegun();
    }
    const partial = this.#partial;
    // In most answers the head comes in one piece.
    const whole = partial === null ? bytes : Buffer.concat([partial, bytes.subarray(from)]);
    const start = partial === null ? from : 0;
    // What has been looked through is not looked through again, but for what may be the beginning of its end.
    const seen = partial === null ? start : partial.length;
    const end = whole.indexOf(HEAD_END, Math.max(start, seen - HEAD_END.length + 1));
    const length = (end === -1 ? whole.length : end) - start;
    if (length + this.#interimBytes > MAX_HEAD_BYTES) throw new AnswerFault('head', 'too large');
    if (end === -1) {
      checkPartial(whole, start, seen);
      this.#partial = start === 0 ? whole : whole.subarray(start);
      return undefined;
    }
    this.#partial = null;
    const head = parseAnswerHead(whole.toString('latin1', start, end));
    if (head.status < 200) {
      this.#interimHeads += 1;
      this.#interimBytes += length + HEAD_END.length;
      if (this.#interimHeads > MAX_INTERIM_ANSWERS) throw new AnswerFault('head', 'too many interim answers');
    }
    const behind = end + HEAD_END.length;
    return { head, behind: partial === null ? behind : behind - partial.length + from };
  }

  #toLine(state: number): void {
    this.#state = state;
    this.#digits = 0;
    this.#aside = '';
    this.#lineStart = 0;
    this.#lastByte = 0;
  }

  /** Lengths of chunks, and what stands around them (RFC 9112 §7.1). @returns the byte behind what was read. */
  #readFraming(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length) {
      const byte = bytes[at] ?? 0;
      at += 1;
      switch (this.#state) {
        case CHUNK_SIZE: {
          const digit = hexDigit(byte);
          if (digit !== -1) {
            this.#digits += 1;
            if (this.#digits > 12) throw badChunk();
            this.#left = this.#left * 16 + digit;
            break;
          }
          if (this.#digits === 0 || (byte !== CR && byte !== SEMICOLON)) throw badChunk();
          this.#toLine(CHUNK_EXTENSION);
          at -= 1;
          break;
        }
        case CHUNK_EXTENSION:
          if (!this.#endsLine(byte)) break;
          // Nobody sends any.
          if (this.#aside.length > 2 && !EXTENSIONS.test(this.#aside.slice(0, -2))) throw badChunk();
          if (this.#left === 0) {
            this.#toLine(TRAILER);
            break;
          }
          this.#toLine(CHUNK);
          return at;
        case CHUNK_END:
          this.#digits += 1;
          if (byte !== (this.#digits === 1 ? CR : LF)) throw badChunk();
          if (this.#digits === 2) this.#toLine(CHUNK_SIZE);
          break;
        case TRAILER:
          if (!this.#endsLine(byte)) break;
          if (this.#aside.length - this.#lineStart > 2) {
            this.#lineStart = this.#aside.length;
            break;
          }
          checkTrailer(this.#aside.slice(0, -2));
          this.#end(at < bytes.length);
          return at;
        default:
          return at - 1;
      }
    }
    return at;
  }

  /** Lines end by CR and LF together. @returns whether the byte was the last one of a line. */
  #endsLine(byte: number): boolean {
    if ((byte === LF) !== (this.#lastByte === CR) || this.#aside.length >= MAX_ASIDE_BYTES) throw badChunk();
    this.#lastByte = byte;
    this.#aside += String.fromCharCode(byte);
    return byte === LF;
  }
}

const badChunk = () => new AnswerFault('http', 'bad chunk');

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/**
 * Of a head that is not whole: whether it can become one. A server that speaks something else may wait for us for ever.
 * @param from where what is new begins.
 */
function checkPartial(bytes: Buffer, start: number, from: number): void {
  const length = Math.min(bytes.length - start, BEGINNING.length);
  if (bytes.compare(BEGINNING, 0, length, start, start + length) !== 0) throw new AnswerFault('http', 'no status line');
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1))
    if (bytes[at - 1] !== CR) throw new AnswerFault('http', 'a line that ends by LF alone');
}
