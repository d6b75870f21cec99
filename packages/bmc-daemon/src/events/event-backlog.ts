/** What a subscriber has not been given yet: bounded, and it knows what it lost. */
import type { FeedEvent } from './event-record.js';

export interface Batch {
  readonly events: readonly FeedEvent[];
  /** How many older ones had to make room since the last batch. */
  readonly dropped: number;
}

/** A queue of events; the oldest make room. */
export class EventBacklog {
  readonly #limit: number;
  #events: FeedEvent[] = [];
  /** Place of the first one that is left: shifting each would move all the others. */
  #first = 0;
  #dropped = 0;

  /** @param limit how many are kept. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#events.length - this.#first;
  }

  push(event: FeedEvent): void {
    this.#events.push(event);
    if (this.size <= this.#limit) return;
    this.#first += 1;
    this.#dropped += 1;
    if (this.#first >= this.#limit) this.#compact();
  }

  /** Says that so many were lost before they came here. */
  lost(count: number): void {
    this.#dropped += count;
  }

  /** The next ones, which are no longer in the queue then. */
  take(most: number): Batch {
    const events = this.#events.slice(this.#first, this.#first + most);
    this.#first += events.length;
    const dropped = this.#dropped;
    this.#dropped = 0;
    if (this.size === 0 || this.#first >= this.#limit) this.#compact();
    return { events, dropped };
  }

  /** Puts a batch back that could not be delivered; what has come meanwhile stays behind it. */
  putBack({ events, dropped }: Batch): void {
    const all = [...events, ...this.#events.slice(this.#first)];
    const excess = Math.max(0, all.length - this.#limit);
    this.#events = all.slice(excess);
    this.#first = 0;
    this.#dropped += dropped + excess;
  }

  #compact(): void {
    this.#events = this.#events.slice(this.#first);
    this.#first = 0;
  }
}
