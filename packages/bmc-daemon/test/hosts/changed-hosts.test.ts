/** Tests hosts that get another name or URI, with real libvirtds: their machines stay the same machines. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import { openHostStore } from '../../src/drivers/hosts/host-store.js';
import { LabHost, startHosts, until, uuidOf, type LabDriver } from './hosts-lab.js';

let kept: LabHost;
let changed: LabHost;
let lab: LabDriver;
let folder: string;
const machine = uuidOf(2);
const log = { warn: () => undefined, error: () => undefined };

beforeEach(async () => {
  [kept, changed] = await Promise.all([LabHost.start('kept', 'qemu'), LabHost.start('changed', 'qemu')]);
  await kept.define({ uuid: uuidOf(1), name: 'one' });
  await changed.define({ uuid: machine, name: 'two' });
  folder = await mkdtemp(join(tmpdir(), 'rackless-hosts-'));
  drivers = new Map();
  lab = await startHosts([kept, changed], {
    store: openHostStore(folder, log),
    timeoutMs: 8_000,
    opened: (driver, name) => drivers.set(name, driver),
  });
  await lab.driver.getSystem(machine);
});
afterEach(async () => {
  await lab.driver.close();
  await Promise.all([kept.stop(), changed.stop()]);
  await rm(folder, { recursive: true });
});

/**
 * The drivers of both hosts. Some tests replace a method, to simulate a fault that is rare with
 * libvirt.
 */
let drivers: Map<string, HypervisorDriver>;

const kinds = (): readonly string[] => lab.changes.filter(({ uuid }) => uuid === machine).map(({ kind }) => kind);

describe('a host whose configuration changes', () => {
  it('keeps its machines when it gets another name, even while it does not answer', async () => {
    changed.relay.stall();
    await lab.setHosts([kept, { name: 'renamed', uri: changed.uri }]);
    expect((await lab.driver.listSystems()).map(({ uuid }) => uuid)).toContain(machine);
    await until('the loss of the host', async () => (await lab.driver.getSystem(machine)).unreachable !== undefined);
    changed.relay.resume();
    await until('the host', async () => (await lab.driver.getSystem(machine)).unreachable === undefined);
    expect((await lab.driver.getSystem(machine)).host).toBe('renamed');
    expect(kinds()).toEqual(['moved']);
  });

  it('keeps its machines when it gets another URI', async () => {
    await lab.setHosts([kept, { name: 'changed', uri: changed.libvirtd.daemon.uri }]);
    expect((await lab.driver.getSystem(machine)).host).toBe('changed');
    await lab.driver.change(machine, { assetTag: 'x' });
    expect(kinds().filter((kind) => kind !== 'changed')).toEqual([]);
  });

  it('loses its machines when it gets another name and another URI, until it answers', async () => {
    changed.relay.stall();
    await lab.setHosts([kept, { name: 'other', uri: changed.uri.replace('127.0.0.1', 'localhost') }]);
    await expect(lab.driver.getSystem(machine)).rejects.toMatchObject({ kind: expect.any(String) as unknown });
    changed.relay.resume();
    await until('the machine', async () => (await lab.driver.listSystems()).some(({ uuid }) => uuid === machine));
    expect(kinds()).toEqual(['moved']);
  });

  it('loses its machines if it is removed', async () => {
    await lab.setHosts([kept]);
    expect((await lab.driver.listSystems()).map(({ uuid }) => uuid)).toEqual([uuidOf(1)]);
    // libvirt calls the removal of a definition `undefined`.
    await until('the removal', () => Promise.resolve(kinds().includes('undefined')));
    expect(kinds()).toEqual(['undefined']);
  });

  it('emits "lost" only after "added" when its new URI does not answer, even if its old connections close slowly', async () => {
    const events: string[] = [];
    lab.driver.hosts?.onChange(({ kind, name }) => events.push(`${kind} ${name}`));
    const loss = until('the loss of the host', () => Promise.resolve(events.includes('lost changed')));
    replaceClose((close) => loss.then(close));
    await lab.setHosts([kept, { name: 'changed', uri: 'qemu+tcp://127.0.0.1:1/system' }]);
    expect(events).toEqual(['removed changed', 'added changed', 'lost changed']);
  });

  it('can change again after a change that failed', async () => {
    replaceClose(closeThenFail);
    await expect(lab.setHosts([kept])).rejects.toThrow('the driver failed');
    await lab.setHosts([kept, changed]);
    await until('the machine', async () => (await lab.driver.listSystems()).some(({ uuid }) => uuid === machine));
    replaceClose(closeThenFail);
    await expect(lab.setHosts([kept])).rejects.toThrow('the driver failed');
    // The last change has failed, too, and `afterEach` must be able to close the driver nevertheless.
  });
});

async function closeThenFail(close: () => Promise<void>): Promise<never> {
  await close();
  throw new Error('the driver failed');
}

/** Replaces the method `close` of the second host's driver. `replacement` gets the original method. */
function replaceClose(replacement: (close: () => Promise<void>) => Promise<void>): void {
  const driver = drivers.get('changed');
  if (driver === undefined) throw new Error('the driver was not opened');
  const close = driver.close.bind(driver);
  driver.close = () => replacement(close);
}
