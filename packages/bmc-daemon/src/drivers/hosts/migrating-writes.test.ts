import { describe, expect, it } from '@jest/globals';
import type { HypervisorDriver } from '../driver.js';
import { arriving, type MachineChange, type MachineChangeListener } from '../machine-change.js';
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

/** Starts a service with a machine on the host left. `migrate` begins its migration to the host right. */
async function startService(): Promise<{
  readonly driver: HypervisorDriver;
  readonly migrate: () => void;
  /** Calls that began on left. Each ends after `write`. */
  readonly calls: string[];
  write: () => void;
}> {
  const listeners = new Map<string, MachineChangeListener>();
  const calls: string[] = [];
  const service = { calls, write: (): void => undefined };
  const open = ({ name }: { readonly name: string }): HypervisorDriver => {
    const call = (method: string) => async (): Promise<void> => {
      calls.push(method);
      await Promise.resolve();
      service.write();
    };
    const driver = {
      start: () => Promise.resolve(),
      close: () => Promise.resolve(),
      ping: () => Promise.resolve(),
      onChange: (listener: MachineChangeListener) => {
        listeners.set(name, listener);
        return () => undefined;
      },
      listSystems: () => Promise.resolve(name === 'left' ? [machine] : []),
      getSystem: () => Promise.resolve({ ...machine, state: 'running' }),
      power: call('power'),
      change: call('change'),
      media: { insert: call('insert'), eject: call('eject'), set: call('set') },
      volumes: { createVolume: call('createVolume'), removeVolume: call('removeVolume') },
    };
    return driver as unknown as HypervisorDriver; // the members that this test uses
  };
  const hosts = ['left', 'right'].map((name) => ({ name, uri: `test:///${name}` }));
  const { driver } = createHostsDriver({ hosts, open, store, backgroundWork: new BackgroundWork(), log });
  await driver.start();
  await driver.listSystems();
  const arrival: MachineChange = { kind: 'started', reason: arriving, ...machine };
  return Object.assign(service, { driver, migrate: () => listeners.get('right')?.(arrival) });
}

const { uuid } = machine;
const image = { url: new URL('http://192.0.2.1/x.iso'), writeProtected: true, verifyCertificate: true };
const writes: readonly [string, (driver: HypervisorDriver) => Promise<unknown> | undefined][] = [
  ['change', (driver) => driver.change(uuid, { assetTag: 'shelf 1' })],
  ['insert', (driver) => driver.media?.insert(uuid, 'cdrom', image)],
  ['eject', (driver) => driver.media?.eject(uuid, 'cdrom')],
  ['set', (driver) => driver.media?.set(uuid, 'cdrom', (current) => current)],
  ['removeVolume', (driver) => driver.volumes?.removeVolume(uuid, 'vdb')],
];
const migrating = {
  kind: 'unavailable',
  message: 'changing machine web: it migrates from host left to host right',
};

describe('a machine of several hosts', () => {
  it.each(writes)('rejects %s during its migration, before the write', async (_, write) => {
    const service = await startService();
    service.migrate();
    await expect(write(service.driver)).rejects.toMatchObject(migrating);
    expect(service.calls).toEqual([]);
    await service.driver.close();
  });

  it.each(writes)('rejects %s if its migration begins before the write ends', async (name, write) => {
    const service = await startService();
    service.write = service.migrate;
    await expect(write(service.driver)).rejects.toMatchObject(migrating);
    expect(service.calls).toEqual([name]);
    await service.driver.close();
  });

  it('accepts a power-off during its migration', async () => {
    const service = await startService();
    service.migrate();
    await service.driver.power(uuid, 'destroy');
    expect(service.calls).toEqual(['power']);
    await service.driver.close();
  });
});
