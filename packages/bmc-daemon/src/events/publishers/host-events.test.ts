import { expect, it } from '@jest/globals';
import { createEventBus, type ServiceEvent } from '../event-bus.js';
import { publishHostChanges } from './host-events.js';

it('publishHostChanges publishes each change of a host as an event of its chassis', () => {
  const bus = createEventBus((error) => {
    throw error;
  });
  const heard: ServiceEvent[] = [];
  bus.subscribe((event) => heard.push(event));
  const publish = publishHostChanges(bus);
  publish({ kind: 'lost', name: 'rack-1', reason: 'connection refused' });
  publish({ kind: 'back', name: 'rack-1' });
  publish({ kind: 'removed', name: 'rack-1' });
  publish({ kind: 'added', name: 'rack-2' });
  const event = (key: string, host: string, severity = 'OK', messageArgs: readonly string[] = []) => ({
    messageId: `ResourceEvent.1.4.${key}`,
    messageArgs,
    severity,
    origin: `/redfish/v1/Chassis/${host}`,
    system: null,
    actor: null,
    time: expect.any(Date) as unknown,
  });
  expect(heard).toEqual([
    {
      ...event('ResourceStatusChangedCritical', 'rack-1', 'Critical', ['rack-1', 'Critical']),
      detail: 'The host does not answer: connection refused.',
    },
    event('ResourceStatusChangedOK', 'rack-1', 'OK', ['rack-1', 'OK']),
    event('ResourceRemoved', 'rack-1'),
    event('ResourceCreated', 'rack-2'),
  ]);
});
