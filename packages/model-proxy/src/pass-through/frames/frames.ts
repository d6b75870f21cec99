/**
 * Finds the ends of WebSocket frames, to insert a close frame between two of them.
 * @see RFC 6455 §5.2
 */
import { randomBytes } from 'node:crypto';

const OPCODE_CLOSE = 0x8;
const MASKED = 0x80;

/** Follows the bytes of one direction of a WebSocket, to find the ends of frames. */
export class FrameCursor {
  /** The received part of a frame's head; at most 14 bytes. */
  #head: number[] = [];
  #payloadLeft = 0;
  #closed = false;

  /** Reads the next bytes. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#payloadLeft > 0) {
        const taken = Math.min(this.#payloadLeft, chunk.length - at);
        this.#payloadLeft -= taken;
        at += taken;
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
    if ((first & 0x0f) === OPCODE_CLOSE) this.#closed = true;
    this.#head = [];
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
