import { mkdir, readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import type { ImageRequest } from '../../src/media/image.js';
import { guestFinds, emptyIdeDrive, TestHost, until, type Guest } from './host.js';

let host: TestHost;
let driver: CompleteDriver;

beforeAll(async () => {
  host = await TestHost.start();
  await mkdir(host.file('pool'));
  await host.virsh('pool-create-as', 'shared', 'dir', '--target', host.file('pool'));
  driver = await host.driver({ storagePool: 'shared' });
});
afterAll(() => host.stop());

const image = (url: URL): ImageRequest => ({ url, writeProtected: true, verifyCertificate: true });
/** Saves the state of a machine, as libvirt-guests does at a host shutdown. Waits until the machine is off. */
async function saveState(guest: Guest): Promise<void> {
  await host.virsh('managedsave', guest.name);
  await until('the machine to be off', async () => (await driver.getSystem(guest.uuid)).state === 'shutoff');
}
const isSaved = async ({ name }: Guest): Promise<boolean> =>
  /Managed save:\s+yes/.test(await host.virsh('dominfo', name));
const inserted = async ({ uuid }: Guest): Promise<readonly string[]> =>
  (await driver.getSystem(uuid)).media.flatMap(({ device, inserted }) => (inserted ? [device] : []));
/** Returns the targets of the USB disks of a running guest, such as `sda`. */
const sticks = async ({ name }: Guest): Promise<readonly string[]> =>
  (await host.virsh('domblklist', name)).match(/sd[a-z](?= )/g) ?? [];

describe('a machine with a saved state', () => {
  it('continues from this state at a power-on, and discards the state at a restart or power cycle', async () => {
    const guest = await host.guest();
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await saveState(guest);
    await driver.power(guest.uuid, 'create');
    // A new process, but no boot: the same guest continues.
    expect(await guest.serial.reaches(3)).toEqual(['<power on>', 'boot disk', '<power on>']);
    await driver.power(guest.uuid, 'pressButton');
    expect((await guest.serial.reaches(4)).at(-1)).toBe('power button');
    for (const action of ['reset', 'cycle'] as const) {
      await until('the machine to be off', async () => (await driver.getSystem(guest.uuid)).state === 'shutoff');
      const before = guest.serial.events.length;
      await driver.power(guest.uuid, 'create');
      await guest.serial.reaches(before + 2);
      await saveState(guest);
      await driver.power(guest.uuid, action);
      const boot = ['<power on>', 'boot disk'];
      expect((await guest.serial.reaches(before + 4)).slice(before)).toEqual([...boot, ...boot]);
      expect(await isSaved(guest)).toBe(false);
      await driver.power(guest.uuid, 'destroy');
    }
  });

  it('sees an image that was inserted while it was off, and boots the image when the guest restarts', async () => {
    const guest = await host.guest({ machine: 'pc', cdrom: emptyIdeDrive });
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await saveState(guest);
    const [cd, stick] = [await host.serveImage('cd'), await host.serveImage('stick')];
    await driver.media.insert(guest.uuid, 'cdrom', image(cd.url));
    await driver.media.insert(guest.uuid, 'usb', image(stick.url));
    await driver.change(guest.uuid, { boot: { enabled: 'once', target: 'cdrom' } });
    expect(await inserted(guest)).toEqual(['cdrom', 'usb']);
    await driver.power(guest.uuid, 'create');
    expect([await inserted(guest), await sticks(guest)]).toEqual([['cdrom', 'usb'], ['sda']]);
    await guestFinds(guest, 'medium cd');
    guest.serial.send('r');
    await until('the next boot', () => Promise.resolve(guest.serial.events.at(-1)?.startsWith('boot') === true));
    expect(guest.serial.events.filter((line) => line.startsWith('boot'))).toEqual(['boot disk', 'boot cd']);
    await driver.power(guest.uuid, 'destroy');
    for (const device of ['cdrom', 'usb'] as const) await driver.media.eject(guest.uuid, device);
  });

  it('continues although its images were ejected while it was off, and the driver then deletes them', async () => {
    const guest = await host.guest({ machine: 'pc', cdrom: emptyIdeDrive });
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    const [cd, stick] = [await host.serveImage('old'), await host.serveImage('stick')];
    await driver.media.insert(guest.uuid, 'cdrom', image(cd.url));
    await driver.media.insert(guest.uuid, 'usb', image(stick.url));
    await guestFinds(guest, 'medium old');
    await saveState(guest);
    for (const device of ['cdrom', 'usb'] as const) await driver.media.eject(guest.uuid, device);
    expect(await inserted(guest)).toEqual([]);
    // The driver does not delete the images, because QEMU opens them when it restores the saved state.
    expect(await readdir(host.file('pool'))).toHaveLength(2);
    await driver.power(guest.uuid, 'create');
    await guestFinds(guest, 'no medium');
    expect([await inserted(guest), await sticks(guest)]).toEqual([[], []]);
    expect(guest.serial.events.filter((line) => line.startsWith('boot'))).toEqual(['boot disk']);
    await until('the images to be gone', async () => (await readdir(host.file('pool'))).length === 0);
    await driver.power(guest.uuid, 'destroy');
  });

  it('rejects the removal of a volume that the saved state uses', async () => {
    const guest = await host.guest();
    const volume = {
      bus: 'virtio',
      name: null,
      capacityBytes: 1_048_576,
      provisioning: 'thin',
      storage: null,
    } as const;
    const target = await driver.volumes.createVolume(guest.uuid, volume);
    await driver.power(guest.uuid, 'create');
    await guest.serial.reaches(2);
    await saveState(guest);
    await expect(driver.volumes.removeVolume(guest.uuid, target)).rejects.toMatchObject({ kind: 'conflict' });
    await driver.power(guest.uuid, 'create');
    await driver.power(guest.uuid, 'destroy');
    await driver.volumes.removeVolume(guest.uuid, target);
    expect(await readdir(host.file('pool'))).toEqual([]);
  });
});
