import { describe, expect, it } from '@jest/globals';
import { EventBacklog } from './event-backlog.js';
import type { FeedEvent } from './event-record.js';

const event = (sequence: number): FeedEvent => ({
  sequence,
  id: `r-${sequence}`,
  event: {
    messageId: 'ResourceEvent.1.4.ResourceChanged',
    messageArgs: [],
    severity: 'OK',
    origin: '/',
    system: null,
    actor: null,
    time: new Date(0),
  },
  registryPrefix: 'ResourceEvent',
  versionlessId: 'ResourceEvent.ResourceChanged',
  resourceType: '',
});
const filledBacklog = (limit: number, count: number): EventBacklog => {
  const backlog = new EventBacklog(limit);
  for (let sequence = 1; sequence <= count; sequence += 1) backlog.push(event(sequence));
  return backlog;
};
const take = (backlog: EventBacklog, max: number) => {
  const { events, dropped } = backlog.take(max);
  return { events: events.map(({ sequence }) => sequence), dropped };
};

describe('the backlog of events', () => {
  it('returns events in order, each once', () => {
    const backlog = filledBacklog(5, 3);
    expect([take(backlog, 2), take(backlog, 2), take(backlog, 2)]).toEqual([
      { events: [1, 2], dropped: 0 },
      { events: [3], dropped: 0 },
      { events: [], dropped: 0 },
    ]);
  });

  it('drops the oldest events, and reports once how many were lost', () => {
    const backlog = filledBacklog(3, 1_000);
    expect(backlog.size).toBe(3);
    expect([take(backlog, 1), take(backlog, 9)]).toEqual([
      { events: [998], dropped: 997 },
      { events: [999, 1_000], dropped: 0 },
    ]);
    backlog.countLost(2);
    backlog.push(event(1_001));
    expect(take(backlog, 9)).toEqual({ events: [1_001], dropped: 2 });
  });

  it('takes back an undelivered batch, before newer events and up to the limit', () => {
    const backlog = filledBacklog(3, 5);
    const batch = backlog.take(2);
    backlog.push(event(6));
    backlog.push(event(7));
    backlog.putBack(batch);
    expect(take(backlog, 9)).toEqual({ events: [5, 6, 7], dropped: 4 });
  });
});
