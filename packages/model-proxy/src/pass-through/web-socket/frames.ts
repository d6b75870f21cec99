/**
 * Finds the text messages in WebSocket frames, and the ends of frames, where a close frame can be inserted.
 * @see RFC 6455 §5.2
 */
import { randomBytes } from 'node:crypto';

const OPCODE_TEXT = 0x1;
const OPCODE_CLOSE = 0x8;
/** The bit that only control frames have in their opcode. */
const CONTROL = 0x8;
const FINAL = 0x80;
/** The bit of a compressed message (RFC 7692 §6). */
const COMPRESSED = 0x40;
const MASKED = 0x80;

/** Gets the text messages of a direction. */
export interface TextListener {
  /** Called with each piece of a message. */
  onPiece(piece: Buffer): void;
  /** Called after the last piece of a message. */
  onEnd(): void;
}

/** Follows the bytes of one direction of a WebSocket, to find the ends of frames and the text messages. */
export class FrameCursor {
  readonly #texts: TextListener | undefined;
  /** Whether the message in progress is a text that is not compressed. */
  #isText = false;
  /** The opcode and the flags of the frame in progress. */
  #first = 0;
  /** The received part of a frame's head; at most 14 bytes. */
  #head: number[] = [];
  #payloadLeft = 0;
  #closed = false;

  /**
   * @param texts receives the text messages. Only for frames from a server: frames from a client are masked, and this
   *   class does not unmask them.
   */
  constructor(texts?: TextListener) {
    this.#texts = texts;
  }

  /** Reads the next bytes. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#payloadLeft > 0) {
        const taken = Math.min(this.#payloadLeft, chunk.length - at);
        this.#payloadLeft -= taken;
        if (this.#isTextFrame) this.#texts?.onPiece(chunk.subarray(at, at + taken));
        at += taken;
        if (this.#payloadLeft === 0) this.#endFrame();
        continue;
      }
      this.#head.push(chunk[at] ?? 0);
      at += 1;
      this.#readHead();
    }
  }

  /**
   * Returns whether a control frame can follow. A control frame may come between the fragments of a
   * message (§5.4).
   */
  get isBetweenFrames(): boolean {
    return this.#head.length === 0 && this.#payloadLeft === 0;
  }

  /** Returns whether a close frame has passed. No frame may follow it (§5.5.1). */
  get isClosed(): boolean {
    return this.#closed;
  }

  #readHead(): void {
    const [first = 0, second] = this.#head;
    if (second === undefined) return;
    const shortLength = second & 0x7f;
    const lengthBytes = shortLength === 126 ? 2 : shortLength === 127 ? 8 : 0;
    const maskBytes = (second & MASKED) === 0 ? 0 : 4;
    if (this.#head.length < 2 + lengthBytes + maskBytes) return;
    this.#payloadLeft =
      lengthBytes === 0
        ? shortLength
        : this.#head.slice(2, 2 + lengthBytes).reduce((length, byte) => length * 256 + byte, 0);
    const opcode = first & 0x0f;
    if (opcode === OPCODE_CLOSE) this.#closed = true;
    // A continuation frame has the opcode 0.
    if (opcode !== 0 && (opcode & CONTROL) === 0) this.#isText = opcode === OPCODE_TEXT && (first & COMPRESSED) === 0;
    this.#first = first;
    this.#head = [];
    if (this.#payloadLeft === 0) this.#endFrame();
  }

  get #isTextFrame(): boolean {
    return this.#isText && (this.#first & CONTROL) === 0;
  }

  #endFrame(): void {
    if (this.#isTextFrame && (this.#first & FINAL) !== 0) this.#texts?.onEnd();
  }
}

/** The end of a WebSocket, as both sides see it. */
export interface CloseReason {
  /** Status code (§7.4.1). */
  readonly code: number;
  /** Text for people, up to 123 bytes. */
  readonly reason: string;
}

/** Makes a close frame for a client. */
export function closeFrame(end: CloseReason): Buffer {
  const payload = closePayload(end);
  return Buffer.concat([Buffer.from([0x80 | OPCODE_CLOSE, payload.length]), payload]);
}

/** Makes a close frame for a server. It is masked, as all frames to servers (§5.3). */
export function maskedCloseFrame(end: CloseReason): Buffer {
  const payload = closePayload(end);
  const key = randomBytes(4);
  const masked = payload.map((byte, index) => byte ^ (key[index % 4] ?? 0));
  return Buffer.concat([Buffer.from([0x80 | OPCODE_CLOSE, MASKED | payload.length]), key, masked]);
}

/** @throws {RangeError} if the reason is too long for a control frame (§5.5). */
function closePayload({ code, reason }: CloseReason): Buffer {
  const text = Buffer.from(reason);
  if (text.length > 123) throw new RangeError(`a close frame has no room for ${text.length} bytes`);
  return Buffer.concat([Buffer.from([code >> 8, code & 0xff]), text]);
}
