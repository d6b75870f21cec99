/**
 * The events that a subscriber has not received yet: bounded, with a count of the dropped events.
 */
import type { FeedEvent } from './event-record.js';

interface Batch {
  readonly events: readonly FeedEvent[];
  /** How many older events were dropped since the last batch. */
  readonly dropped: number;
}

/** A queue of events. When it is full, it drops the oldest event. */
export class EventBacklog {
  readonly #limit: number;
  #events: FeedEvent[] = [];
  /** Index of the first event; shifting the array for each event would be slow. */
  #first = 0;
  #dropped = 0;

  /** @param limit maximum number of events. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#events.length - this.#first;
  }

  /** The oldest event; undefined if there is none. */
  get oldest(): FeedEvent | undefined {
    return this.#events[this.#first];
  }

  /** Adds an event as the newest one. */
  push(event: FeedEvent): void {
    this.#events.push(event);
    if (this.size <= this.#limit) return;
    this.#first += 1;
    this.#dropped += 1;
    if (this.#first >= this.#limit) this.#compact();
  }

  /** Counts events that were lost before they reached this queue. */
  countLost(count: number): void {
    this.#dropped += count;
  }

  /** Removes and returns the oldest events, at most `max`. Restarts the count of the dropped events. */
  take(max: number): Batch {
    const events = this.#events.slice(this.#first, this.#first + max);
    this.#first += events.length;
    const dropped = this.#dropped;
    this.#dropped = 0;
    if (this.size === 0 || this.#first >= this.#limit) this.#compact();
    return { events, dropped };
  }

  /** Puts back a batch that was not delivered, before all newer events. Drops the oldest events above the maximum. */
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
