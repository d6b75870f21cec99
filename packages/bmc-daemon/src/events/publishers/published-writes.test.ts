import { describe, expect, it } from '@jest/globals';
import type { Privilege } from '../../redfish/privileges.js';
import { createEventBus, type ServiceEvent } from '../event-bus.js';
import { publishWrites } from './published-writes.js';

describe('a change by a client', () => {
  it('is an event with the resource, its machine and the client', () => {
    const heard: ServiceEvent[] = [];
    const bus = createEventBus((error) => {
      throw error;
    });
    bus.subscribe((event) => heard.push(event));
    const publish = publishWrites(bus, (id) => (id === '7' ? 'operator' : undefined));
    const requester = {
      user: 'admin',
      session: null,
      address: '192.0.2.7',
      privileges: new Set<Privilege>(),
      requestId: 'not for events',
      signal: new AbortController().signal,
    };
    publish({ kind: 'changed', uri: '/redfish/v1/Systems/u-1', requester, detail: 'AssetTag' });
    publish({ kind: 'created', uri: '/redfish/v1/SessionService/Sessions/7', requester: { ...requester, user: null } });
    publish({ kind: 'removed', uri: '/redfish/v1/SessionService/Sessions/7', requester });
    const base = { messageArgs: [], severity: 'OK', time: expect.any(Date) };
    const admin = { user: 'admin', address: '192.0.2.7' };
    expect(heard).toEqual([
      {
        ...base,
        messageId: 'ResourceEvent.1.4.ResourceChanged',
        origin: '/redfish/v1/Systems/u-1',
        system: 'u-1',
        actor: admin,
        detail: 'AssetTag.',
      },
      {
        ...base,
        messageId: 'ResourceEvent.1.4.ResourceCreated',
        origin: '/redfish/v1/SessionService/Sessions/7',
        system: null,
        actor: { user: 'operator', address: '192.0.2.7' },
        detail: 'SessionService/Sessions/7.',
      },
      {
        ...base,
        messageId: 'ResourceEvent.1.4.ResourceRemoved',
        origin: '/redfish/v1/SessionService/Sessions/7',
        system: null,
        actor: admin,
        detail: 'SessionService/Sessions/7.',
      },
    ]);
  });
});
