import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { FakeDriver } from '../drivers/fake/fake-driver.js';
import { startNotifications } from './fake-notifications.js';
import { machinesOf, type SystemNotification } from './fake-systems.js';

const system = {
  uuid: '27946b59-9e44-4fa7-8e91-f3527a1ef094',
  name: 'fake1',
  power_state: 'On',
  external_notifier: true,
} as const;

describe('the sender of notifications about machines in memory', () => {
  let server: Server;
  let received: SystemNotification[];
  let warnings: string[];
  let driver: FakeDriver;
  let stop: () => void;
  const arrivals = new EventEmitter();

  beforeEach(async () => {
    received = [];
    warnings = [];
    server = createServer((request, response) => {
      void text(request).then((body) => {
        received.push(JSON.parse(body) as SystemNotification); // The daemon sends this object.
        response.end();
        arrivals.emit('notification');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
    driver = new FakeDriver({ machines: machinesOf([system]) });
    const log = { warn: (warning: string) => void warnings.push(warning) };
    stop = startNotifications([system], driver, { url: `http://127.0.0.1:${port}` }, log);
  });
  afterEach(async () => {
    stop();
    await driver.close();
    server.close();
    server.closeAllConnections();
  });

  /** Returns the present and the pending power state of the first notifications. */
  const powerStates = async (count: number): Promise<readonly (readonly [string | undefined, string | null])[]> => {
    while (received.length < count) await once(arrivals, 'notification');
    return received.slice(0, count).map((sent) => [sent.power_state, sent.pending_power?.power_state ?? null]);
  };

  it('notifies of each step of a power cycle with the state of this step', async () => {
    await driver.power(system.uuid, 'cycle');
    expect(await powerStates(4)).toEqual([
      ['On', 'Off'],
      ['Off', null],
      ['Off', 'On'],
      ['On', null],
    ]);
    expect(warnings).toEqual([]);
  });

  it('notifies of the last change of a machine that is then removed, but not of the removal', async () => {
    const machine = driver.find(system.uuid);
    driver.define({ ...machine, state: 'shutoff' });
    driver.undefine(system.uuid);
    driver.define(machine);
    expect(await powerStates(3)).toEqual([
      ['On', 'Off'],
      ['Off', null],
      ['On', null],
    ]);
    expect(warnings).toEqual([]);
  });
});
