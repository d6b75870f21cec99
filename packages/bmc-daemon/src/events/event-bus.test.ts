import { describe, expect, it } from '@jest/globals';
import { createEventBus, type ServiceEvent } from './event-bus.js';

const event: ServiceEvent = {
  messageId: 'ResourceEvent.1.4.ResourceChanged',
  messageArgs: [],
  severity: 'OK',
  origin: '/redfish/v1/Systems/u-1',
  system: 'u-1',
  actor: null,
  time: new Date(0),
};

describe('the event bus', () => {
  it('calls every listener for each event, in order, until it unsubscribes', () => {
    const bus = createEventBus(() => undefined);
    const heard: string[] = [];
    const unsubscribe = bus.subscribe(({ origin }) => heard.push(`a ${origin}`));
    bus.subscribe(({ origin }) => heard.push(`b ${origin}`));
    bus.publish(event);
    unsubscribe();
    unsubscribe();
    bus.publish({ ...event, origin: '/other' });
    expect(heard).toEqual(['a /redfish/v1/Systems/u-1', 'b /redfish/v1/Systems/u-1', 'b /other']);
  });

  it('reports the error of a listener, and hides it from the publisher and the other listeners', () => {
    const errors: unknown[] = [];
    const bus = createEventBus((error) => errors.push(error));
    const heard: string[] = [];
    const fault = new Error('broken listener');
    bus.subscribe(() => {
      throw fault;
    });
    bus.subscribe(({ messageId }) => heard.push(messageId));
    bus.publish(event);
    expect(heard).toEqual([event.messageId]);
    expect(errors).toEqual([fault]);
  });

  it('ends only one of two subscriptions of the same listener', () => {
    const bus = createEventBus(() => undefined);
    let count = 0;
    const listener = () => {
      count += 1;
    };
    const unsubscribe = bus.subscribe(listener);
    bus.subscribe(listener);
    unsubscribe();
    bus.publish(event);
    expect(count).toBe(1);
  });
});
