/** A body that goes upstream while it is still being received. */
import { Readable } from 'node:stream';

/** Pieces that the upstream has not taken; from here on the client is held back. In bytes. */
const HELD_BYTES = 65_536;
/** Pieces of the beginning that are shown (`--detailed_debug`). */
const SHOWN_PIECES = 4;

export interface BodyStreamOptions {
  /** Of all of it, in bytes; null: it is not known, and goes upstream in chunks. */
  readonly byteLength: number | null;
  /** What has been received so far. */
  readonly beginning: readonly Buffer[];
  /** There is room for more, or nobody wants any: whoever was held back may go on. */
  readonly onRoom: () => void;
}

/** Filled by whoever receives the body, read by the upstream's connection; gone with that, and without an error of its own. */
export class BodyStream extends Readable {
  readonly byteLength: number | null;
  /** The first pieces. */
  readonly shown: readonly Buffer[];
  readonly #onRoom: () => void;
  #isWhole = false;

  constructor({ byteLength, beginning, onRoom }: BodyStreamOptions) {
    super({ highWaterMark: HELD_BYTES });
    this.byteLength = byteLength;
    this.shown = beginning.slice(0, SHOWN_PIECES);
    this.#onRoom = onRoom;
    for (const piece of beginning) this.push(piece);
  }

  /** @returns false: no more before there is room. */
  add(piece: Buffer): boolean {
    return this.destroyed || this.push(piece);
  }

  /** There is no more. Without this nothing upstream looks like a whole request. */
  finish(): void {
    this.#isWhole = true;
    if (!this.destroyed) this.push(null);
  }

  /** Whether all of it has been received. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Whether it is the client that everybody waits for. */
  get waitsForClient(): boolean {
    return !this.#isWhole && this.readableLength === 0;
  }

  override _read(): void {
    this.#onRoom();
  }

  override _destroy(_error: Error | null, done: (error?: Error | null) => void): void {
    // The request knows what befell it; an error here would be one that nobody expects.
    done(null);
    this.#onRoom();
  }
}
