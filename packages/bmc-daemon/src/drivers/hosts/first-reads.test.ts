import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { waitFor } from '../../../test/daemon/process.js';
import type { HypervisorDriver } from '../driver.js';
import type { HostRef } from '../hosts-control.js';
import { BackgroundWork } from '../queue/background-work.js';
import type { SystemSnapshot } from '../snapshot/system-snapshot.js';
import { createHostsDriver } from './hosts-driver.js';

const log = { info: () => undefined, warn: () => undefined };
const store = {
  machinesOf: () => undefined,
  add: () => undefined,
  scheduleWrite: () => undefined,
  close: () => undefined,
};

describe('a service with many hosts', () => {
  it('reads new machines in the background, at most four at once on all hosts together', async () => {
    let [running, most, done] = [0, 0, 0];
    const open = ({ name }: { readonly name: string }): HypervisorDriver => {
      const refs = [1, 2, 3].map((number) => ({ uuid: `${name}-${number}`, name: `${name}-${number}` }));
      const driver = {
        start: () => Promise.resolve(),
        close: () => Promise.resolve(),
        ping: () => Promise.resolve(),
        onChange: () => () => undefined,
        listSystems: () => Promise.resolve(refs),
        getSystem: async (uuid: string) => {
          running += 1;
          most = Math.max(most, running);
          await nextTurn();
          running -= 1;
          done += 1;
          return { uuid, name: uuid, state: 'shutoff' };
        },
      };
      return driver as unknown as HypervisorDriver; // the parts that lists and first reads use
    };
    const hosts = Array.from({ length: 20 }, (_, number) => ({ name: `host-${number}`, uri: 'test:///default' }));
    const { driver } = createHostsDriver({ hosts, open, store, backgroundWork: new BackgroundWork(), log });
    await driver.start();
    expect(await driver.listSystems()).toHaveLength(60);
    await waitFor(
      () => (done === 60 ? true : undefined),
      () => `only ${done} machines are read`,
    );
    expect(most).toBe(4);
    await driver.close();
  });

  it('does not read a machine that the driver of a host has already read in advance', async () => {
    const read: string[] = [];
    const refs = ['a', 'b', 'c', 'd'].map((uuid) => ({ uuid, name: uuid }));
    const snapshotOf = (uuid: string): SystemSnapshot => ({ uuid, name: uuid, state: 'shutoff' });
    const open = (_host: HostRef, onReadAhead: (snapshot: SystemSnapshot) => void): HypervisorDriver => {
      const driver = {
        start: () => Promise.resolve(),
        close: () => Promise.resolve(),
        ping: () => Promise.resolve(),
        onChange: () => () => undefined,
        listSystems: () => Promise.resolve(refs),
        getSystem: (uuid: string) => {
          read.push(uuid);
          // The driver has read two other machines in advance, and one that does not exist anymore.
          for (const ahead of ['b', 'c', 'removed']) onReadAhead(snapshotOf(ahead));
          return Promise.resolve(snapshotOf(uuid));
        },
      };
      return driver as unknown as HypervisorDriver; // the parts that lists and first reads use
    };
    const hosts = [{ name: 'rack-1', uri: 'test:///default' }];
    const { driver } = createHostsDriver({ hosts, open, store, backgroundWork: new BackgroundWork(), log });
    await driver.start();
    await waitFor(
      () => (read.includes('d') ? true : undefined),
      () => `only ${read.join()} are read`,
    );
    expect(read).toEqual(['a', 'd']);
    expect((await driver.listSystems()).map(({ uuid }) => uuid)).toEqual(['a', 'b', 'c', 'd']);
    await driver.close();
  });
});
