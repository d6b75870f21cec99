/** Tests the facts about a libvirt host with a real libvirtd, which stops, hangs and comes back. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import type { HostChange, HostSnapshot } from '../../src/drivers/hosts-control.js';
import { createLibvirtDriver } from '../../src/drivers/libvirt/libvirt-driver.js';
import { TestHost, until } from '../libvirt-driver/host.js';
import { imageLimits } from '../support/image-limits.js';

let host: TestHost;
let driver: CompleteDriver;

beforeAll(async () => {
  host = await TestHost.start();
  driver = await host.driver({ hostName: 'lab-1' });
});
afterAll(() => host.stop());

function snapshotOf(snapshot: HostSnapshot | undefined): HostSnapshot {
  if (snapshot === undefined) throw new Error('the driver has no hosts');
  return snapshot;
}
const read = async (): Promise<HostSnapshot> => snapshotOf(await driver.hosts?.read('lab-1'));

/** Reads a value of virsh: a line `name: value unit`. */
async function virshValue(command: string, name: string): Promise<string> {
  const text = await host.virsh(command);
  return new RegExp(`^${name} *: *(.+)$`, 'm').exec(text)?.[1]?.trim() ?? '';
}

describe('a libvirt host', () => {
  it('reports the versions and the capacity that virsh shows', async () => {
    expect(driver.hosts?.list()).toEqual([{ name: 'lab-1', uri: host.libvirtd.uri }]);
    const { facts, ...state } = await read();
    expect(state).toEqual({
      name: 'lab-1',
      uri: host.libvirtd.uri,
      reachable: true,
      reason: null,
      since: expect.any(Date) as unknown,
    });
    expect(facts).toMatchObject({
      hypervisor: { name: 'QEMU', version: (await virshValue('version', 'Running hypervisor')).replace('QEMU ', '') },
      libvirtVersion: (await virshValue('version', 'Using library')).replace('libvirt ', ''),
      architecture: await virshValue('nodeinfo', 'CPU model'),
      memoryBytes: Number.parseInt(await virshValue('nodememstats', 'total'), 10) * 1024,
      processors: {
        sockets: Number(await virshValue('nodeinfo', 'CPU socket\\(s\\)')),
        threads: Number(await virshValue('nodeinfo', 'CPU\\(s\\)')),
      },
    });
  });

  it('reports free memory and the load of its processors', async () => {
    const { facts } = await read();
    expect(facts?.freeMemoryBytes).toBeGreaterThan(0);
    expect(facts?.freeMemoryBytes).toBeLessThan(facts?.memoryBytes ?? 0);
    expect(facts?.cpuLoad).toBeGreaterThanOrEqual(0);
    expect(facts?.cpuLoad).toBeLessThanOrEqual(1);
    const again = await read();
    expect(again.facts?.cpuTime?.busySeconds).toBeGreaterThanOrEqual(facts?.cpuTime?.busySeconds ?? Infinity);
  });

  it('counts its machines, and each of these machines names the host', async () => {
    const guest = await host.guest();
    expect((await driver.getSystem(guest.uuid)).host).toBe('lab-1');
    expect(await driver.listSystems()).toMatchObject([{ uuid: guest.uuid, host: 'lab-1' }]);
    expect((await read()).facts?.machines).toEqual({ total: 1, running: 0 });
    await driver.power(guest.uuid, 'create');
    expect((await read()).facts?.machines).toEqual({ total: 1, running: 1 });
    await driver.power(guest.uuid, 'destroy');
  });

  it('rejects the name of another host', async () => {
    await expect(driver.hosts?.read('lab-2')).rejects.toMatchObject({ kind: 'notFound' });
  });
});

/** Reads until `reachable` of the snapshot has the given value. Returns the last snapshot. */
async function readUntil(reachable: boolean, from: () => Promise<HostSnapshot>): Promise<HostSnapshot> {
  let snapshot = await from();
  await until(`a host with reachable: ${reachable}`, async () => {
    snapshot = await from();
    return snapshot.reachable === reachable;
  });
  return snapshot;
}

describe('a libvirt host that does not answer', () => {
  it('is reported as unreachable, with a reason and its last facts, until libvirtd runs again', async () => {
    const before = await readUntil(true, read);
    const changes: HostChange[] = [];
    driver.hosts?.onChange((change) => changes.push(change));
    await host.libvirtd.stopDaemon('SIGKILL');
    const lost = await readUntil(false, read);
    expect(lost.since.getTime()).toBeGreaterThanOrEqual(before.since.getTime());
    expect(lost.reason).toMatch(/^.+$/);
    expect(lost.facts).toMatchObject({ libvirtVersion: before.facts?.libvirtVersion, machines: { total: 1 } });
    expect((await read()).since).toEqual(lost.since);
    await host.libvirtd.start();
    const back = await readUntil(true, read);
    expect(back).toMatchObject({ reason: null, facts: { machines: { total: 1 } } });
    expect(changes).toMatchObject([
      { kind: 'lost', name: 'lab-1', reason: expect.stringMatching(/^.+$/) as unknown },
      { kind: 'back', name: 'lab-1' },
    ]);
    expect(back.since.getTime()).toBeGreaterThanOrEqual(lost.since.getTime());
  });

  it('is reported as unreachable, with its last facts, while libvirtd hangs', async () => {
    const { hosts } = await host.driver({ hostName: 'lab-1', timeoutMs: 1_000 });
    const readSoon = async (): Promise<HostSnapshot> => snapshotOf(await hosts?.read('lab-1'));
    await readUntil(true, readSoon);
    host.libvirtd.signal('SIGSTOP');
    try {
      expect(await readUntil(false, readSoon)).toMatchObject({ facts: { hypervisor: { name: 'QEMU' } } });
    } finally {
      host.libvirtd.signal('SIGCONT');
    }
    await readUntil(true, readSoon);
  });
});

it('a driver reports no facts about a host that has never answered', async () => {
  const log = { info: () => undefined, warn: () => undefined, debug: () => undefined };
  const absent = createLibvirtDriver({
    uri: `qemu:///system?socket=${host.file('absent.sock')}`,
    bootLoaderMap: {},
    storagePool: null,
    gracefulRestartWaitMs: 60_000,
    timeoutMs: 30_000,
    images: imageLimits,
    log,
  });
  await absent.start();
  try {
    const snapshot = await absent.hosts?.read('localhost');
    expect(snapshot).toMatchObject({ name: 'localhost', reachable: false, facts: null });
    expect(snapshot?.reason).toContain('absent.sock');
  } finally {
    await absent.close();
  }
});
