import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { reaches, TestHost, until } from './host.js';

let host: TestHost;
let driver: CompleteDriver;

beforeAll(async () => {
  host = await TestHost.start();
  driver = await host.driver();
});
afterAll(() => host.stop());

const override = async (uuid: string) => {
  const { enabled, target } = (await driver.getSystem(uuid)).boot;
  return { enabled, target };
};
const used = { enabled: 'disabled', target: 'none' };

describe.each(['q35', 'pc'])('a one-time boot on %s', (machine) => {
  const cdromOf = async (): Promise<string> => {
    const drive = await host.drive(`cd-${machine}`);
    return machine === 'pc' ? drive.replace(`dev='sda' bus='sata'`, `dev='hda' bus='ide'`) : drive;
  };
  const cd = `boot cd-${machine}`;

  it('affects one boot of a machine that was off, and later resets boot the disk', async () => {
    const guest = await host.guest({ machine, cdrom: await cdromOf() });
    const definition = await host.inactiveXml(guest);
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    expect(await override(guest.uuid)).toEqual({ enabled: 'once', target: 'cdrom' });
    await driver.power(guest.uuid, 'create');
    expect(await guest.serial.reaches(2)).toEqual(['<power on>', cd]);
    expect(await override(guest.uuid)).toEqual(used);
    guest.serial.send('r');
    expect(await guest.serial.reaches(3)).toEqual(['<power on>', cd, 'boot disk']);
    await driver.power(guest.uuid, 'reset');
    expect((await guest.serial.reaches(4)).slice(3)).toEqual(['boot disk']);
    await driver.power(guest.uuid, 'destroy');
    // Only the daemon's metadata remains.
    expect(await host.definitionOf(guest)).toBe(definition);
  });

  it('affects only the next restart by the guest if the machine runs', async () => {
    const guest = await host.guest({ machine, cdrom: await cdromOf() });
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    guest.serial.send('r');
    expect((await guest.serial.reaches(3)).slice(2)).toEqual([cd]);
    await until('the override to be used up', async () => (await override(guest.uuid)).enabled === 'disabled');
    guest.serial.send('r');
    expect((await guest.serial.reaches(4)).slice(2)).toEqual([cd, 'boot disk']);
    await driver.power(guest.uuid, 'destroy');
  });

  it('affects ForceRestart and GracefulRestart if the machine runs', async () => {
    const guest = await host.guest({ machine, cdrom: await cdromOf() });
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    await driver.power(guest.uuid, 'reset');
    // A new process needs no restoration of the boot order.
    expect((await guest.serial.reaches(4)).slice(2)).toEqual(['<power on>', cd]);
    expect(await override(guest.uuid)).toEqual(used);
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    await driver.power(guest.uuid, 'reboot');
    expect((await guest.serial.reaches(6)).slice(4)).toEqual(['power button', cd]);
    await until('the override to be used up', async () => (await override(guest.uuid)).enabled === 'disabled');
    guest.serial.send('r');
    expect((await guest.serial.reaches(7)).slice(6)).toEqual(['boot disk']);
    await driver.power(guest.uuid, 'destroy');
  });

  it('applies when another tool starts the machine', async () => {
    const guest = await host.guest({ machine, cdrom: await cdromOf() });
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    await host.virsh('start', guest.name);
    await until('the guest to boot from cd', () => Promise.resolve(guest.serial.events.includes(cd)));
    await until('the override to be used up', async () => (await override(guest.uuid)).enabled === 'disabled');
    const booted = guest.serial.events.length;
    guest.serial.send('r');
    expect((await guest.serial.reaches(booted + 1)).slice(booted)).toEqual(['boot disk']);
    await driver.power(guest.uuid, 'destroy');
  });
});

describe('a continuous override', () => {
  it('applies to every boot, including restarts of a running guest, until it is disabled', async () => {
    const guest = await host.guest({ cdrom: await host.drive('cd') });
    const definition = await host.inactiveXml(guest);
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await driver.change(guest.uuid, { boot: { enabled: 'continuous', target: 'cdrom' } });
    guest.serial.send('r');
    await guest.serial.reaches(3);
    guest.serial.send('r');
    expect((await guest.serial.reaches(4)).slice(1)).toEqual(['boot disk', 'boot cd', 'boot cd']);
    await driver.power(guest.uuid, 'destroy');
    await reaches(driver, guest, 'shutoff');
    await driver.power(guest.uuid, 'create');
    expect((await guest.serial.reaches(6)).slice(4)).toEqual(['<power on>', 'boot cd']);
    await driver.change(guest.uuid, { boot: { enabled: 'disabled' } });
    guest.serial.send('r');
    expect((await guest.serial.reaches(7)).slice(6)).toEqual(['boot disk']);
    await driver.power(guest.uuid, 'destroy');
    expect(await host.definitionOf(guest)).toBe(definition);
  });
});

describe('a one-time boot of a guest that virsh has started', () => {
  it('delays no other change while the driver waits for the firmware', async () => {
    const guest = await host.guest({ cdrom: await host.drive('late') });
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    await host.virsh('start', '--paused', guest.name);
    const started = `machine ${guest.name} was started by another program: resetting it for its one-time boot`;
    await until('the driver to see the start', () => Promise.resolve(host.messages.includes(started)));
    const begin = performance.now();
    await driver.change(guest.uuid, { assetTag: 'a' });
    // The driver waits 30 s for the firmware of the paused guest. The change must not wait for this.
    expect(performance.now() - begin).toBeLessThan(15_000);
    await host.virsh('resume', guest.name);
    await until('the one-time boot', () => Promise.resolve(guest.serial.events.includes('boot late')));
    await driver.power(guest.uuid, 'destroy');
  });
});
