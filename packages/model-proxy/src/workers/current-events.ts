/** Stores the events of workers for workers that start later. */
import type { SiblingEvent } from '../routing/siblings.js';

/** Above this number, the oldest events are dropped. */
const MAX_EVENTS = 20_000;

/** The workers' events that still apply. */
export class CurrentEvents {
  readonly #events = new Map<string, SiblingEvent>();

  add(event: SiblingEvent): void {
    const key = `${topicOf[event.kind]} ${event.id}`;
    const before = this.#events.get(key);
    this.#events.delete(key);
    // A trial is short, and `recovered` and `counted` only remove the event before them: none of these is stored.
    if (event.kind === 'tried' || event.kind === 'recovered' || event.kind === 'counted') return;
    this.#events.set(key, withEarlierFailure(event, before));
    for (const oldest of this.#events.keys()) {
      if (this.#events.size <= MAX_EVENTS) return;
      this.#events.delete(oldest);
    }
  }

  /** Returns the events in the order in which they happened. */
  all(): readonly SiblingEvent[] {
    return [...this.#events.values()];
  }
}

/** Topics of events. An event replaces the earlier event with the same topic and id. */
const topicOf: Readonly<Record<SiblingEvent['kind'], string>> = {
  cooled: 'cooldown',
  recovered: 'cooldown',
  tried: 'trial',
  checked: 'check',
  uncounted: 'response',
  counted: 'response',
};

/**
 * Returns the event. If it is a check that does not count, adds the result of the earlier check, which still applies: a
 * worker that starts later must learn it.
 */
function withEarlierFailure(event: SiblingEvent, before: SiblingEvent | undefined): SiblingEvent {
  if (event.kind !== 'checked' || event.failed !== undefined || before?.kind !== 'checked') return event;
  return { ...event, failed: before.failed };
}
