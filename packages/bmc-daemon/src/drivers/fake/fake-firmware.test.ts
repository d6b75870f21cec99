import { describe, expect, it } from '@jest/globals';
import type { DeviceKey } from '../snapshot/firmware-snapshot.js';
import { FakeDriver } from './fake-driver.js';
import { plainMachine, sampleMachines } from './sample-machines.js';

const running = 'node-2';

describe('firmware of a machine in memory', () => {
  it('shows the first device of the boot order as the override until a client sets an override, as with libvirt', async () => {
    const driver = new FakeDriver();
    const { boot } = await driver.getSystem(running);
    const order = boot.options.filter(({ kind }) => kind !== boot.target).map(({ key }) => key);
    await driver.change(running, { bootOrder: order });
    const kind = boot.options.find(({ key }) => key === order[0])?.kind;
    expect((await driver.getSystem(running)).boot).toEqual({
      ...boot,
      enabled: 'continuous',
      target: kind,
      order,
      firstDevicePath: boot.options.find(({ key }) => key === order[0])?.path,
    });
    expect(['network', 'cdrom']).toContain(kind);
    await driver.change(running, { boot: { enabled: 'once', target: 'cdrom' } });
    await driver.change(running, { bootOrder: boot.order });
    expect((await driver.getSystem(running)).boot).toMatchObject({ enabled: 'once', target: 'cdrom' });
  });

  it('shows network boot only if the boot order contains the first interface, and null without one', async () => {
    const alone = plainMachine({ uuid: '00000000-0000-4000-8000-000000000001', name: 'alone', interfaces: [] });
    const driver = new FakeDriver({ machines: [...sampleMachines(), alone] });
    const { interfaces } = await driver.getSystem(running);
    const [first, second] = interfaces.map(({ mac }) => `interface:${mac}` as const);
    if (first === undefined || second === undefined) throw new Error(`${running} has fewer than two interfaces`);
    const shown = async (name: string, bootOrder: readonly DeviceKey[]) => {
      await driver.change(name, { bootOrder });
      return (await driver.getSystem(name)).firmware.settings.networkBoot;
    };
    expect(await shown(running, [second, 'disk:vda'])).toBe(false);
    expect(await shown(running, [second, first])).toBe(true);
    expect((await driver.getSystem(alone.name)).firmware.settings.networkBoot).toBeNull();
    expect(await shown(alone.name, ['disk:vda'])).toBeNull();
    await expect(driver.change(alone.name, { settings: { networkBoot: true } })).rejects.toMatchObject({
      kind: 'unsupported',
      field: 'networkBoot',
    });
    await driver.change(alone.name, { settings: { networkBoot: false } });
    expect((await driver.getSystem(alone.name)).firmware.settings.networkBoot).toBeNull();
  });

  it('shows whether the current run has Secure Boot, even after the definition changed to BIOS and back', async () => {
    const driver = new FakeDriver();
    const secureBoot = async () => (await driver.getSystem(running)).firmware.secureBoot;
    await driver.power(running, 'reset');
    expect(await secureBoot()).toMatchObject({ enabled: true, current: true });
    await driver.change(running, { boot: { firmware: 'bios' } });
    expect(await secureBoot()).toBeNull();
    await driver.change(running, { boot: { firmware: 'efi' } });
    expect(await secureBoot()).toMatchObject({ enabled: false, current: true });
    // A run that started with BIOS has no Secure Boot, even if the definition now has UEFI.
    await driver.change(running, { boot: { firmware: 'bios' } });
    await driver.power(running, 'reset');
    await driver.change(running, { boot: { firmware: 'efi' } });
    expect(await secureBoot()).toMatchObject({ current: null });
    await driver.power(running, 'reset');
    await driver.power(running, 'destroy');
    expect(await secureBoot()).toMatchObject({ current: null });
  });
});
