/**
 * Tests the console, statistics, volumes and power actions of machines behind the driver for several
 * hosts, with a real guest.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { echoGuestXml, writeEchoDisk } from '../../../libvirt/test/harness/echo-guest.js';
import { LabHost, startHosts, until, uuidOf, type LabDriver } from './hosts-lab.js';

let left: LabHost;
let right: LabHost;
let lab: LabDriver;
let guest: string;

beforeAll(async () => {
  [left, right] = await Promise.all([LabHost.start('left', 'qemu'), LabHost.start('right', 'qemu')]);
  await left.define({ uuid: uuidOf(1), name: 'idle' });
  const { dir } = right.libvirtd.daemon;
  await writeFile(
    join(dir, 'tmp', 'echo.xml'),
    echoGuestXml({ name: 'echo', disk: await writeEchoDisk(dir, 'tmp/echo.img') }),
  );
  await right.virsh('define', join(dir, 'tmp', 'echo.xml'));
  lab = await startHosts([left, right]);
  guest = (await lab.driver.getSystem('echo')).uuid;
  await lab.driver.power(guest, 'create');
});
afterAll(async () => {
  await lab.driver.close();
  await Promise.all([left.stop(), right.stop()]);
});

describe('a machine of one of several hosts', () => {
  it('has a serial console', async () => {
    const { console: consoles } = lab.driver;
    if (consoles === undefined) throw new Error('the driver has no consoles');
    const stream = await consoles.open('echo');
    stream.write('x');
    const [echoed] = (await once(stream, 'data', { signal: AbortSignal.timeout(240_000) })) as [Buffer];
    expect(echoed.toString()).toBe('x');
    stream.destroy();
    expect(await consoles.instance(guest)).toMatch(/\d+$/);
    await expect(consoles.open('idle')).rejects.toMatchObject({ kind: 'conflict' });
  });

  it('has statistics, and no network data from its guest', async () => {
    const { statistics, guestNetwork } = lab.driver;
    if (statistics === undefined || !('all' in statistics)) throw new Error('the driver has no statistics');
    expect((await statistics.all()).map(({ uuid }) => uuid)).toEqual([guest]);
    expect(await guestNetwork?.facts(guest)).toEqual(new Map());
  });

  it('gets volumes on its host', async () => {
    const { volumes } = lab.driver;
    const wanted = { name: 'data', capacityBytes: 1024 ** 2, provisioning: 'thin', storage: null } as const;
    const target = await volumes?.createVolume(uuidOf(1), { ...wanted, bus: 'sata' });
    expect((await lab.driver.getSystem('idle')).disks?.some((disk) => disk.target === target)).toBe(true);
    await volumes?.provideVolume(uuidOf(1), { pool: null, name: 'configured' }, 1024 ** 2);
    expect(await left.virsh('vol-list', 'rackless-images')).toContain('configured');
    await volumes?.removeVolume(uuidOf(1), target ?? '');
    expect(await right.virsh('pool-list', '--all', '--name')).not.toContain('rackless-images');
  });

  it('can be paused and resumed', async () => {
    await lab.driver.power(guest, 'suspend');
    expect((await lab.driver.getSystem(guest)).state).toBe('paused');
    await lab.driver.power(guest, 'resume');
    await until('the changes', () => Promise.resolve(lab.changes.some(({ kind }) => kind === 'resumed')));
    expect((await lab.driver.getSystem(guest)).state).toBe('running');
  });
});
