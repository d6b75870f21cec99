import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createEventBus, type EventBus } from '../event-bus.js';
import { publishMachineChanges, type MachineEvents } from './machine-events.js';

describe('changes that a driver reports', () => {
  let bus: EventBus;
  let machines: MachineEvents;
  let publishedEvents: string[];
  const machine = { uuid: 'u-1', name: 'web' };

  beforeEach(() => {
    jest.useFakeTimers();
    publishedEvents = [];
    bus = createEventBus((error) => {
      throw error;
    });
    bus.subscribe(({ messageId, origin, actor, detail }) =>
      publishedEvents.push(
        [messageId.split('.').at(-1), origin.replace('/redfish/v1/', ''), actor?.address, detail].join(' | '),
      ),
    );
    machines = publishMachineChanges({ events: bus, settleMs: 100 });
  });

  afterEach(() => {
    machines.close();
    jest.useRealTimers();
  });

  const request = (path: string) =>
    bus.publish({
      messageId: 'ResourceEvent.1.4.ResourceChanged',
      messageArgs: [],
      severity: 'OK',
      origin: `/redfish/v1/Systems/u-1${path}`,
      system: 'u-1',
      actor: { user: null, address: '192.0.2.7' },
      time: new Date(),
    });

  it('are published at once if they are about power or a crash, with their reason if they have one', () => {
    machines.onChange({ ...machine, kind: 'stopped', reason: 'shut down by its guest' });
    machines.onChange({ ...machine, kind: 'crashed' });
    expect(publishedEvents).toEqual([
      'ResourcePoweredOff | Systems/u-1 |  | Shut down by its guest.',
      'ResourceStatusChangedCritical | Systems/u-1 |  | ',
    ]);
  });

  it('are published as one event for several changes of a definition, and one for changes of media', () => {
    for (const kind of ['changed', 'media', 'changed', 'changed'] as const) machines.onChange({ ...machine, kind });
    expect(publishedEvents).toEqual([]);
    jest.advanceTimersByTime(150);
    expect(publishedEvents).toEqual([
      'ResourceChanged | Systems/u-1 |  | The definition or the devices of the machine changed.',
      'ResourceChanged | Systems/u-1/VirtualMedia |  | An image was inserted or ejected.',
    ]);
  });

  it("are not published in addition to a client's own event, in either order", () => {
    machines.onChange({ ...machine, kind: 'changed' });
    machines.onChange({ ...machine, kind: 'media' });
    request('/VirtualMedia/Cd');
    machines.onChange({ ...machine, kind: 'media' });
    jest.advanceTimersByTime(1_000);
    expect(publishedEvents).toEqual(['ResourceChanged | Systems/u-1/VirtualMedia/Cd | 192.0.2.7 | ']);
    // A change of u-1 by a client does not hide its new image or a change of u-2.
    request('');
    machines.onChange({ ...machine, kind: 'media' });
    machines.onChange({ uuid: 'u-2', name: 'db', kind: 'changed' });
    jest.advanceTimersByTime(1_000);
    expect(publishedEvents.slice(2)).toEqual([
      'ResourceChanged | Systems/u-1/VirtualMedia |  | An image was inserted or ejected.',
      'ResourceChanged | Systems/u-2 |  | The definition or the devices of the machine changed.',
    ]);
  });

  it('are not published if they are about the definition of a removed machine', () => {
    for (const kind of ['changed', 'media', 'undefined'] as const) machines.onChange({ ...machine, kind });
    machines.onChange({ uuid: 'u-2', name: 'db', kind: 'changed' });
    jest.advanceTimersByTime(1_000);
    expect(publishedEvents).toEqual([
      'ResourceRemoved | Systems/u-1 |  | ',
      'ResourceChanged | Systems/u-2 |  | The definition or the devices of the machine changed.',
    ]);
  });
});
