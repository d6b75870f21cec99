/**
 * What happens to a machine between two steps of one operation: somebody else changes its definition, or its QEMU takes its time. The
 * moment is made certain by a call of the machine's own `domain` that does something else first.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { BootControl } from '../../src/drivers/libvirt/boot-control.js';
import type { Host } from '../../src/drivers/libvirt/host.js';
import type { Machine } from '../../src/drivers/libvirt/inventory.js';
import { readMetadata } from '../../src/drivers/libvirt/xml/metadata.js';
import { TestHost, type Guest } from './host.js';

jest.setTimeout(120_000);
let host: TestHost;
beforeAll(async () => {
  host = await TestHost.start();
}, 60_000);
afterAll(() => host.stop());

/** Has a call of the machine wait, the first time, for something else to be done. */
function before(machine: Machine, call: 'qemuMonitorCommand', meddle: () => Promise<unknown>): void {
  const { domain } = machine;
  const real = domain[call].bind(domain);
  let meddled: Promise<unknown> | undefined;
  domain[call] = async (...words) => {
    await (meddled ??= meddle());
    return await real(...words);
  };
}

const find = (parts: Host, { uuid }: Guest): Promise<Machine> => parts.inventory.find(uuid);

describe('a definition that somebody changes', () => {
  it('while a used once-order is taken back keeps that change (B6, B8)', async () => {
    const guest = await host.guest({ cdrom: await host.drive('cd') });
    const driver = await host.driver();
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await driver.setBoot(guest.uuid, { enabled: 'once', target: 'cdrom' });
    await driver.close();
    guest.serial.send('r');
    expect((await guest.serial.reaches(3)).at(-1)).toBe('boot cd');
    const parts = host.parts();
    const machine = await find(parts, guest);
    // Between the look at the definition and its change QEMU is told the machine's own order.
    before(machine, 'qemuMonitorCommand', () => host.virsh('change-media', guest.name, 'sda', '--eject', '--config'));
    await new BootControl({ host: parts, bootLoaderMap: {} }).reconcile(machine);
    const definition = await host.inactiveXml(guest);
    expect(readMetadata(definition).boot?.enabled).toBe('disabled');
    expect(definition).not.toContain('.iso');
    await host.virsh('destroy', guest.name);
  });
});
