import { describe, expect, it } from '@jest/globals';
import { FakeDriver } from './fake-driver.js';

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
