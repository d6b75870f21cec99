import { describe, expect, it } from '@jest/globals';
import { DriverError } from '../driver-error.js';
import type { HypervisorDriver } from '../driver.js';
import type { HostRef } from '../hosts-control.js';
import { BackgroundWork } from '../queue/background-work.js';
import { createHostsDriver } from './hosts-driver.js';

const log = { info: () => undefined, warn: () => undefined };
const store = {
  machinesOf: () => undefined,
  add: () => undefined,
  scheduleWrite: () => undefined,
  close: () => undefined,
};
const machine = { uuid: '00000000-0000-4000-8000-000000000001', name: 'web' };
const left = { name: 'left', uri: 'test:///left' };
const right = { name: 'right', uri: 'test:///right' };

const shuttingDown = new DriverError('unavailable', 'inserting: the service is shutting down');

/**
 * Starts a service. The machine runs on the host left; the hosts in `others` have copies that are off. Begins an insert
 * on the host left, which rejects with `insertError` when the driver of this host closes.
 */
async function startService(others: readonly string[] = [], insertError = shuttingDown) {
  const inserts: string[] = [];
  const open = ({ name }: HostRef): HypervisorDriver => {
    let endInsert = (): void => undefined;
    const driver = {
      start: () => Promise.resolve(),
      close: () => {
        endInsert();
        return Promise.resolve();
      },
      ping: () => Promise.resolve(),
      onChange: () => () => undefined,
      listSystems: () => Promise.resolve([left.name, ...others].includes(name) ? [machine] : []),
      getSystem: () => Promise.resolve({ ...machine, state: name === left.name ? 'running' : 'shutoff' }),
      media: {
        insert: () => {
          inserts.push(name);
          if (name !== left.name) return Promise.resolve();
          return new Promise<void>((_, reject) => {
            endInsert = () => reject(insertError);
          });
        },
      },
    };
    return driver as unknown as HypervisorDriver; // the members that this test uses
  };
  const service = createHostsDriver({ hosts: [left, right], open, store, backgroundWork: new BackgroundWork(), log });
  await service.driver.start();
  await service.driver.listSystems();
  await service.driver.getSystem(machine.uuid);
  const image = { url: new URL('http://192.0.2.1/x.iso'), writeProtected: true, verifyCertificate: true };
  const insert = service.driver.media?.insert(machine.uuid, 'cdrom', image);
  while (inserts.length === 0) await new Promise((resolve) => setImmediate(resolve));
  return { ...service, insert, inserts };
}

describe('an insert on a host whose driver closes', () => {
  it.each([
    ['only this host has the machine', []],
    ['another host also has the machine', ['right']],
  ])('fails because the configuration no longer has the host, if %s', async (_, others) => {
    const { driver, setHosts, insert, inserts } = await startService(others);
    const removing = setHosts([right]);
    await expect(insert).rejects.toMatchObject({
      kind: 'notFound',
      message: 'using host left: the host was removed from the configuration',
    });
    await removing;
    expect(inserts).toEqual(['left']);
    await driver.close();
  });

  it('runs on the host to which the machine migrated meanwhile', async () => {
    const migrated = new DriverError('notFound', 'inserting: no such machine');
    const { driver, setHosts, insert, inserts } = await startService(['right'], migrated);
    const removing = setHosts([right]);
    await insert;
    await removing;
    expect(inserts).toEqual(['left', 'right']);
    await driver.close();
  });

  it('fails and may be repeated if only the URI of the host changed', async () => {
    const { driver, setHosts, insert } = await startService();
    const changing = setHosts([{ name: 'left', uri: 'test:///other' }, right]);
    await expect(insert).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'using host left: the configuration of the host changed',
    });
    await changing;
    await driver.close();
  });

  it('reports that the service is shutting down if the whole driver closes', async () => {
    const { driver, insert } = await startService();
    const closing = driver.close();
    await expect(insert).rejects.toThrow('the service is shutting down');
    await closing;
  });
});
