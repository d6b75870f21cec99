import { expect, it } from '@jest/globals';
import type { FeedEvent } from './event-record.js';
import { eventsOf } from './machine-filter.js';

const event = (origin: string, system: string | null = null): FeedEvent => ({
  sequence: 1,
  id: '1',
  registryPrefix: 'ResourceEvent',
  versionlessId: 'ResourceEvent.ResourceChanged',
  resourceType: '',
  event: {
    messageId: 'ResourceEvent.1.4.ResourceChanged',
    messageArgs: [],
    severity: 'OK',
    origin: `/redfish/v1/${origin}`,
    system,
    actor: null,
    time: new Date(),
  },
});

it('eventsOf selects the events of one machine and of the service, and none of a host or another machine', () => {
  const wants = eventsOf('u-1', () => true);
  expect(wants(event('Systems/u-1', 'u-1'))).toBe(true);
  expect(wants(event('SessionService/Sessions/7'))).toBe(true);
  expect(wants(event('TaskService/Tasks/7', 'u-2'))).toBe(false);
  expect(wants(event('Chassis/rack-1'))).toBe(false);
});
