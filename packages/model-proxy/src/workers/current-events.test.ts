import { describe, expect, it } from '@jest/globals';
import type { SiblingEvent } from '../routing/siblings.js';
import { CurrentEvents } from './current-events.js';

const failed = { until: 5000, steersRouting: true, provesFailure: true };

/** Returns a check that has ended at a time; `result` is empty if the check does not count. */
const checked = (checkedAt: number, result: { failed?: typeof failed | null }): SiblingEvent => ({
  kind: 'checked',
  id: 'a',
  check: { error: null, status: null, isChecked: true, provesFailure: false, checkedAt, durationMs: 1 },
  ...result,
});

/** Returns the events for a worker that starts after these events. */
function eventsAfter(...events: readonly SiblingEvent[]): readonly SiblingEvent[] {
  const current = new CurrentEvents();
  for (const event of events) current.add(event);
  return current.all();
}

describe('the events for a worker that starts later', () => {
  it('contain the last check, with the failure of the last check that counts', () => {
    expect(eventsAfter(checked(1, { failed }), checked(2, {}), checked(3, {}))).toEqual([checked(3, { failed })]);
  });

  it('have no failure after a later check has succeeded', () => {
    const succeeded = checked(2, { failed: null });
    expect(eventsAfter(checked(1, { failed }), succeeded)).toEqual([succeeded]);
    expect(eventsAfter(checked(1, { failed }), succeeded, checked(3, {}))).toEqual([checked(3, { failed: null })]);
  });

  it('have the last cooldown, and none after a recovery', () => {
    const cooled: SiblingEvent = { kind: 'cooled', id: 'a', until: 2 };
    expect(eventsAfter({ ...cooled, until: 1 }, cooled, checked(1, {}))).toEqual([cooled, checked(1, {})]);
    expect(eventsAfter(cooled, { kind: 'recovered', id: 'a' })).toEqual([]);
  });
});
