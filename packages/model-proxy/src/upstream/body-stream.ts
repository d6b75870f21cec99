/** Request bodies that go upstream while they arrive. */
import { Readable } from 'node:stream';

/** The proxy pauses the client while this number of bytes waits for the upstream. */
const MAX_BUFFERED_BYTES = 65_536;
/** Number of first chunks in the trace (`--detailed_debug`). */
const TRACED_CHUNKS = 4;

/** Options of {@link BodyStream}. */
interface BodyStreamOptions {
  /** Size of the whole body; null: unknown, so the body is sent in chunks. */
  readonly byteLength: number | null;
  /** The chunks received so far. */
  readonly beginning: readonly Buffer[];
  /** Called when the client may continue: the stream has room, or it was destroyed. */
  readonly onRoom: () => void;
}

/**
 * A body that the client's request fills and the upstream's connection reads. The upstream's request
 * destroys the stream. The stream emits no error.
 */
export class BodyStream extends Readable {
  readonly byteLength: number | null;
  /** The first chunks, for the trace. */
  readonly traced: readonly Buffer[];
  readonly #onRoom: () => void;
  #isComplete = false;

  constructor({ byteLength, beginning, onRoom }: BodyStreamOptions) {
    super({ highWaterMark: MAX_BUFFERED_BYTES });
    this.byteLength = byteLength;
    this.traced = beginning.slice(0, TRACED_CHUNKS);
    this.#onRoom = onRoom;
    for (const piece of beginning) this.push(piece);
  }

  /** Adds a chunk. @returns false if the caller must wait for `onRoom`. */
  add(piece: Buffer): boolean {
    return this.destroyed || this.push(piece);
  }

  /** Ends the body. Without this call, the upstream's request stays incomplete. */
  finish(): void {
    this.#isComplete = true;
    if (!this.destroyed) this.push(null);
  }

  /** Returns whether the body is complete. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Returns whether the upstream waits for bytes of the client. */
  get waitsForClient(): boolean {
    return !this.#isComplete && this.readableLength === 0;
  }

  override _read(): void {
    this.#onRoom();
  }

  override _destroy(_error: Error | null, done: (error?: Error | null) => void): void {
    // The owner of the request reports the error. An error event here would have no listener.
    done(null);
    this.#onRoom();
  }
}
