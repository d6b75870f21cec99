/**
 * Tests a host that hangs or is gone, with real libvirtds: its machines stay in the collection,
 * and requests for other hosts do not wait.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import type { AllStatistics } from '../../src/drivers/statistics-control.js';
import { openHostStore } from '../../src/drivers/hosts/host-store.js';
import { systemStatus } from '../../src/resources/status.js';
import { CallRelay } from '../kill/call-relay.js';
import { LabHost, noStore, startHosts, until, uuidOf, type LabDriver } from './hosts-lab.js';

let good: LabHost;
let lost: LabHost;
let lab: LabDriver;
let folder: string;

/** The machine of the host `good`. */
const here = uuidOf(1);
/** The machine of the host `lost`. */
const there = uuidOf(2);
const log = { warn: () => undefined, error: () => undefined };

beforeAll(async () => {
  // QEMU's driver stores definitions, so they survive a kill of libvirtd.
  [good, lost] = await Promise.all([LabHost.start('good', 'qemu'), LabHost.start('lost', 'qemu')]);
  await good.define({ uuid: here, name: 'here' });
  await lost.define({ uuid: there, name: 'there', title: 'far away' });
  folder = await mkdtemp(join(tmpdir(), 'rackless-hosts-'));
  lab = await startHosts([good, lost], { store: openHostStore(folder, log), timeoutMs: 8_000 });
  await lab.driver.getSystem(there);
});
afterAll(async () => {
  await lab.driver.close();
  await Promise.all([good.stop(), lost.stop()]);
  await rm(folder, { recursive: true });
});

const stateOf = async (uuid: string): Promise<unknown> => systemStatus(await lab.driver.getSystem(uuid))['State'];
const reaches = (state: string): Promise<void> =>
  until(`the machine to be ${state}`, async () => (await stateOf(there)) === state);

/** Checks what clients get while the host `lost` does not answer. */
async function checkLoss(): Promise<void> {
  const list = await lab.driver.listSystems();
  expect(list.map(({ uuid }) => uuid).toSorted()).toEqual([here, there]);
  const shown = await lab.driver.getSystem(there);
  expect(shown).toMatchObject({ name: 'there', title: 'far away', state: 'shutoff', host: 'lost' });
  // The driver returns the same object, so that its ETag does not change.
  expect(await lab.driver.getSystem('there')).toBe(shown);
  expect(systemStatus(shown)).toMatchObject({
    State: 'UnavailableOffline',
    Health: 'Warning',
    Conditions: [{ Message: expect.stringMatching(/Host lost does not answer: .*last known data/) as unknown }],
  });
  const calls = [
    lab.driver.power(there, 'create'),
    lab.driver.change(there, { assetTag: 'x' }, { basis: shown }),
    lab.driver.media?.eject(there, 'cdrom'),
    lab.driver.console?.open(there),
  ];
  for (const call of calls) {
    await expect(call).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^host lost does not answer: /) as unknown,
    });
  }
  expect(await lab.driver.guestNetwork?.facts(there)).toEqual(new Map());
  await lab.driver.ping();
  expect(await lab.driver.hosts?.read('lost')).toMatchObject({
    reachable: false,
    reason: expect.any(String) as unknown,
  });
  await lab.driver.change(here, { assetTag: 'works' });
}

describe('a host that does not answer', () => {
  it('does not delay lists and other machines while it hangs, even before the driver notices the loss', async () => {
    await until('the facts', async () => (await lab.driver.hosts?.read('lost'))?.facts !== null);
    lost.relay.stall();
    // The next list has to ask the hosts again, because a definition changed.
    await good.define({ uuid: here, name: 'here', title: 'changed' });
    const pending = lab.driver.getSystem(there);
    const order: string[] = [];
    await Promise.all([
      pending.then(() => order.push('lost')),
      lab.driver.listSystems().then(() => order.push('list')),
      lab.driver.getSystem(here).then(() => order.push('good')),
      lab.driver.ping().then(() => order.push('ping')),
    ]);
    expect(order.at(-1)).toBe('lost');
    // This read and all later ones do not wait until the host counts as lost.
    const last = await pending;
    expect(last).toMatchObject({ title: 'far away', unansweredSince: expect.any(Date) as unknown });
    expect(last.unreachable).toBeUndefined();
    expect(systemStatus(last)).toMatchObject({ State: 'Enabled', Health: 'Warning' });
    expect(await lab.driver.getSystem(there)).toBe(last);
  });

  it('keeps its machines while it hangs, and rejects changes', async () => {
    await reaches('UnavailableOffline');
    await checkLoss();
    expect(await lab.driver.hosts?.read('lost')).toMatchObject({ facts: { hypervisor: { name: 'QEMU' } } });
    expect(lab.messages).toContain('host lost does not answer: its machines show their last known data');
  });

  it('shows current data when it answers again, and no machine counts as new, removed or moved', async () => {
    const before = lab.changes.length;
    lost.relay.resume();
    await reaches('Enabled');
    await lab.driver.change(there, { assetTag: 'back' });
    expect((await lab.driver.getSystem(there)).assetTag).toBe('back');
    expect(lab.changes.slice(before).filter(({ kind }) => ['defined', 'undefined', 'moved'].includes(kind))).toEqual(
      [],
    );
    expect(lab.messages).toContain('host lost answers');
  });

  it('keeps its machines when its connections are reset, and reconnects', async () => {
    lost.relay.cut('reset');
    await until('the reconnect', async () => lab.driver.change(there, { assetTag: 'again' }).then(() => true));
    await reaches('Enabled');
  });

  it('keeps its machines when libvirtd is killed, also over a restart of the daemon', async () => {
    await lost.libvirtd.daemon.stopDaemon('SIGKILL');
    await reaches('UnavailableOffline');
    await checkLoss();
    await lab.driver.close();
    lab = await startHosts([good, lost], { store: openHostStore(folder, log), timeoutMs: 8_000, wait: false });
    await reaches('UnavailableOffline');
    await checkLoss();
    expect(lab.driver.isListIncomplete?.()).toBe(false);
  });

  it('shows its machine as Enabled again after the start of libvirtd', async () => {
    await lost.libvirtd.daemon.start();
    await reaches('Enabled');
    expect((await lab.driver.getSystem(there)).title).toBe('far away');
  });

  it('makes reads of unknown machines fail as unavailable, not as notFound, if it has never answered', async () => {
    await lost.libvirtd.daemon.stopDaemon('SIGKILL');
    const fresh = await startHosts([good, lost], { store: noStore, timeoutMs: 8_000, wait: false });
    try {
      await until('the list', async () => (await fresh.driver.listSystems()).length === 1);
      expect(fresh.driver.isListIncomplete?.()).toBe(true);
      await until('the loss of the host', async () => (await fresh.driver.hosts?.read('lost'))?.reachable === false);
      await expect(fresh.driver.getSystem(there)).rejects.toMatchObject({ kind: 'unavailable' });
      const alone = await startHosts([lost], { timeoutMs: 8_000, wait: false });
      await expect(alone.driver.listSystems()).rejects.toMatchObject({ kind: 'unavailable' });
      await expect(alone.driver.ping()).rejects.toMatchObject({ kind: 'unavailable' });
      await alone.driver.close();
    } finally {
      await fresh.driver.close();
      await lost.libvirtd.daemon.start();
    }
  });
});

/** Returns the statistics of a driver that reads those of all its machines at once. */
function statisticsOf({ statistics }: HypervisorDriver): AllStatistics {
  if (statistics === undefined || !('all' in statistics)) throw new Error('the driver has no statistics');
  return statistics;
}

describe('a host that answers, but whose calls fail', () => {
  let host: LabHost;
  let relay: CallRelay;
  const relayed = (): { name: string; uri: string } => ({
    name: 'faulty',
    uri: `qemu+unix:///system?socket=${relay.path}`,
  });

  beforeAll(async () => {
    host = await LabHost.start('faulty', 'qemu');
    await host.define({ uuid: there, name: 'there' });
    const { dir, socket } = host.libvirtd.daemon;
    relay = await CallRelay.listen(join(dir, 'run', 'relay'), socket);
  });
  afterAll(async () => {
    await relay.close();
    await host.stop();
  });

  it('is reported as lost once while parallel lists fail, and as back after a successful list', async () => {
    relay.decideBy(({ name }) => (name === 'connectListAllDomains' ? 'refuse' : 'forward'));
    let lists = 0;
    const holdFirstList = (driver: HypervisorDriver): void => {
      const list = driver.listSystems.bind(driver);
      driver.listSystems = () => {
        lists += 1;
        return lists === 1 ? new Promise(() => undefined) : list();
      };
    };
    const faulty = await startHosts([relayed()], { wait: false, opened: holdFirstList });
    const reports: string[] = [];
    faulty.driver.hosts?.onChange(({ kind }) => reports.push(kind));
    try {
      // The first list is still waiting when the second list fails.
      await until('the first list', () => Promise.resolve(lists > 0));
      await expect(faulty.driver.listSystems()).rejects.toMatchObject({ kind: 'unavailable' });
      // The third list is the check that finds the loss.
      await until('two further checks', () => Promise.resolve(lists > 4));
      expect(reports).toEqual(['lost']);
      relay.decideBy(() => 'forward');
      await until('the host', () => Promise.resolve(reports.length > 1));
      expect(reports).toEqual(['lost', 'back']);
      expect(await faulty.driver.listSystems()).toHaveLength(1);
    } finally {
      relay.decideBy(() => 'forward');
      await faulty.driver.close();
    }
  });

  it('shows the last known data, logs the reason once, and is used again as soon as its list succeeds', async () => {
    const faulty = await startHosts([good, relayed()]);
    const read = async (): Promise<string | undefined> => (await faulty.driver.getSystem(there)).unreachable?.reason;
    try {
      expect(await read()).toBeUndefined();
      let refused = 0;
      relay.decideBy(({ name }) => {
        if (name !== 'connectListAllDomains') return 'forward';
        refused += 1;
        return 'refuse';
      });
      // The next list asks libvirt again, because there is a new machine.
      await host.define({ uuid: uuidOf(3), name: 'new' });
      await until(
        'the loss of the host',
        async () => (await faulty.driver.listSystems(), (await read()) !== undefined),
      );
      const text = expect.stringContaining('refused by the test') as unknown;
      expect(await faulty.driver.hosts?.read('faulty')).toMatchObject({ reachable: false, reason: text });
      await until('a further check', () => Promise.resolve(refused > 3));
      expect(faulty.messages.filter((message) => message.includes('does not answer'))).toHaveLength(1);
      relay.decideBy(() => 'forward');
      await until('the host', async () => (await read()) === undefined);
      expect(await faulty.driver.listSystems()).toHaveLength(3);
    } finally {
      relay.decideBy(() => 'forward');
      await faulty.driver.close();
    }
  });

  it('causes one log line for each kind of failed call whose error no client gets', async () => {
    const failReads = (driver: HypervisorDriver): void => {
      driver.getSystem = () => Promise.reject(new TypeError('broken by the test'));
      statisticsOf(driver).all = () => Promise.reject(new TypeError('broken by the test'));
    };
    const faulty = await startHosts([host], { opened: failReads });
    const logged = (text: string): number =>
      faulty.messages.filter((message) => message === `${text} on host faulty failed`).length;
    try {
      await until('the reads after the list', () => Promise.resolve(logged(`reading machine ${there}`) > 0));
      for (let count = 0; count < 2; count += 1) {
        await faulty.driver.listSystems();
        await expect(faulty.driver.getSystem('unknown')).rejects.toMatchObject({ kind: 'notFound' });
        expect(await statisticsOf(faulty.driver).all()).toEqual([]);
      }
      expect(logged('looking for a machine')).toBe(1);
      expect(logged('reading the statistics of its machines')).toBe(1);
      expect(logged(`reading machine ${there}`)).toBe(1);
    } finally {
      await faulty.driver.close();
    }
  });
});
