/**
 * Translates streams of binary frames. A frame has four bytes with the length of a text, then the text. Length 0
 * ends the stream.
 */
import type { DialectEvents, DialectStream } from '../../../src/providers/dialect.js';

export class FrameStream implements DialectStream {
  readonly #model: string;
  #pending = Buffer.alloc(0);

  constructor(model: string) {
    this.#model = model;
  }

  push(chunk: Buffer): DialectEvents {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    const events: object[] = [];
    while (this.#pending.length >= 4) {
      const length = this.#pending.readUInt32BE(0);
      if (length > 1000) throw new Error('a frame is too long');
      if (length === 0) return { events, isDone: true };
      if (this.#pending.length < 4 + length) break;
      const text = this.#pending.toString('utf8', 4, 4 + length);
      events.push({ model: this.#model, choices: [{ index: 0, text, finish_reason: null }] });
      this.#pending = this.#pending.subarray(4 + length);
    }
    return { events, isDone: false };
  }

  finish(): DialectEvents {
    return { events: [], isDone: false };
  }
}
