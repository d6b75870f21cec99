import { beforeEach, describe, expect, it } from '@jest/globals';
import { allowSystems } from '../allowed-systems.js';
import type { MachineStatistics } from '../statistics-control.js';
import { FakeDriver } from './fake-driver.js';

let now: number;
let driver: FakeDriver;
let uuid: string;

beforeEach(async () => {
  now = 1_000_000;
  driver = new FakeDriver({ now: () => now });
  ({ uuid } = await driver.getSystem('node-2'));
});

const read = async (): Promise<MachineStatistics | undefined> =>
  (await driver.statistics.all()).find((machine) => machine.uuid === uuid);
const writtenBytes = async () => (await read())?.disks.get('vda')?.writeBytes ?? -1;

describe('counters of machines in memory', () => {
  it('grow while a machine runs, stop while it is paused, and are 0 after its next start', async () => {
    driver.define({ ...(await driver.getSystem(uuid)), state: 'running' });
    let last = await writtenBytes();
    for (let step = 0; step < 400; step += 1) {
      now += 1_000;
      const next = await writtenBytes();
      expect(next).toBeGreaterThanOrEqual(last);
      last = next;
    }
    expect(last).toBeGreaterThan(1e6);
    await driver.power(uuid, 'suspend');
    const { run, disks } = (await read()) ?? {};
    now += 60_000;
    expect((await read())?.disks).toEqual(disks);
    await driver.power(uuid, 'resume');
    now += 60_000;
    expect(await writtenBytes()).toBeGreaterThan(last);
    await driver.power(uuid, 'destroy');
    expect(await read()).toBeUndefined();
    await driver.power(uuid, 'create');
    const again = await read();
    expect(again?.run).not.toBe(run);
    expect(again?.disks.get('vda')).toMatchObject({ readBytes: 0, writeBytes: 0 });
  });

  it('include the time before a pause, even if the first reading comes during the pause', async () => {
    driver.define({ ...(await driver.getSystem(uuid)), state: 'running' });
    now += 400_000;
    await driver.power(uuid, 'suspend');
    expect(await writtenBytes()).toBeGreaterThan(1e6);
  });

  it('are absent for machines that are not allowed', async () => {
    driver.define({ ...(await driver.getSystem(uuid)), state: 'running' });
    const readAllowed = async (allowed: readonly string[]) => {
      const { statistics } = allowSystems(driver, allowed);
      return statistics !== undefined && 'all' in statistics ? await statistics.all() : undefined;
    };
    expect((await readAllowed(['node-2']))?.map((machine) => machine.uuid)).toEqual([uuid]);
    expect(await readAllowed([])).toEqual([]);
  });
});
