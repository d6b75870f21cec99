/** Holds back the comments and pings at the beginning of a stream. */
import { ChunkList } from '../json/chunk-list.js';

/**
 * Maximum time before the client gets the first comment. Common load balancers close a connection only after 30
 * seconds or more without a byte.
 */
const MAX_HOLD_MS = 10_000;
/** Comments are far shorter. */
const MAX_HELD_BYTES = 65_536;

/**
 * The events before the first one with a part of the answer. If the stream fails while the proxy holds them back,
 * another deployment can still serve the request. Call {@link take} at the end of the stream too: it stops a timer.
 */
export class HeldEvents {
  #held = new ChunkList();
  #heldBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #onDue: () => void;

  /** @param onDue called {@link MAX_HOLD_MS} after the first event, unless {@link take} is called before. */
  constructor(onDue: () => void) {
    this.#onDue = onDue;
  }

  /** Adds events. @returns whether to wait for more; false: there are too many, and the caller sends them. */
  add(events: Buffer): boolean {
    this.#timer ??= setTimeout(this.#onDue, MAX_HOLD_MS).unref();
    this.#held.push(events);
    this.#heldBytes += events.length;
    return this.#heldBytes <= MAX_HELD_BYTES;
  }

  /** Returns the events so far, and forgets them. */
  take(): Buffer {
    clearTimeout(this.#timer);
    const events = Buffer.concat(this.#held.chunks, this.#heldBytes);
    this.#held = new ChunkList();
    this.#heldBytes = 0;
    return events;
  }
}
