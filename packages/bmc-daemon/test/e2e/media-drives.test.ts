import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { guestImage } from '../harness/guest-image.js';
import { property } from './bmc.js';
import { Lab, type Guest } from './lab.js';
import { describeEndToEnd } from './prerequisites.js';

const run = promisify(execFile);

describeEndToEnd('USB sticks and floppy disks over Redfish', () => {
  let lab: Lab;
  let folder: string;
  let guest: Guest;

  beforeAll(async () => {
    lab = await Lab.start();
    folder = await mkdtemp(join(tmpdir(), 'rackless-media-drives-'));
    guest = await lab.guest();
  });
  afterAll(async () => {
    await lab.stop();
    await rm(folder, { recursive: true });
  });

  /** Publishes a config drive like those of Ironic, whose file contains `word`. Returns its URL. */
  const configDrive = async (word: string): Promise<string> => {
    const content = join(folder, `config-${word}`);
    await mkdir(content);
    await writeFile(join(content, 'meta'), `RACKLESS-CONFIG ${word}\n`);
    const file = join(folder, `${word}.iso`);
    await run('xorriso', ['-as', 'mkisofs', '-quiet', '-R', '-J', '-V', 'config-2', '-o', file, content]);
    return await lab.images.publish(`redfish-configdrive-${word}`, file);
  };
  /** Publishes a floppy disk with a file that contains `word`. Returns its URL. */
  const floppyDisk = async (word: string): Promise<string> => {
    const [file, content] = [join(folder, `${word}.img`), join(folder, `floppy-${word}`)];
    await writeFile(content, `RACKLESS-FLOPPY ${word}\n`);
    await writeFile(file, '');
    await truncate(file, 1_474_560);
    await run('mformat', ['-i', file, '-f', '1440', '-v', 'IR-VFD-DEV', '::']);
    await run('mcopy', ['-i', file, content, '::/meta']);
    return await lab.images.publish(`${word}.img`, file);
  };
  const drive = (id: string): string => `${guest.path}/VirtualMedia/${id}`;
  const insert = async (id: string, body: object): Promise<number> =>
    (await lab.bmc.finish(await lab.bmc.send('POST', `${drive(id)}/Actions/VirtualMedia.InsertMedia`, body))).status;
  const eject = async (id: string): Promise<number> =>
    (await lab.bmc.finish(await lab.bmc.send('POST', `${drive(id)}/Actions/VirtualMedia.EjectMedia`, {}))).status;
  const allowable = async (): Promise<unknown> =>
    property(await lab.bmc.get(guest.path), 'Boot', 'BootSourceOverrideTarget@Redfish.AllowableValues');

  /**
   * Boots the stick once, and returns the report of the guest. The firmware's USB driver has fixed
   * deadlines, and on a busy host a guest can stop without a message. If no report arrives within
   * 120 s, this function starts the guest again, at most twice.
   */
  const bootUsb = async (machine: Guest): Promise<string> => {
    for (let attempt = 1; ; attempt += 1) {
      expect(await machine.setBoot({ target: 'Usb', enabled: 'Once' })).toEqual({ target: 'Usb', enabled: 'Once' });
      await machine.reset('On');
      try {
        return await machine.nextEvent(120_000);
      } catch (error) {
        if (attempt === 3) throw error;
        await machine.reset('ForceOff');
      }
    }
  };

  it('are visible to a guest after its start; a floppy disk can also be replaced while the guest runs', async () => {
    const definition = await guest.definition();
    expect(await insert('Usb', { Image: await configDrive('REST') })).toBe(204);
    expect(await insert('Floppy', { Image: await floppyDisk('REST') })).toBe(204);
    expect(await allowable()).toEqual(expect.arrayContaining(['Floppy', 'Usb']));
    await guest.reset('On');
    expect(await guest.nextEvent()).toMatch(/RACKLESS-DISK/);
    await guest.type('cat (hd1)/meta');
    expect(await guest.nextEvent()).toBe('RACKLESS-CONFIG REST');
    await guest.type('cat (fd0)/meta');
    expect(await guest.nextEvent()).toBe('RACKLESS-FLOPPY REST');
    // The floppy drive stays after an eject, so it accepts another disk while the guest runs.
    expect(await eject('Floppy')).toBe(204);
    expect(await insert('Floppy', { Image: await floppyDisk('LIVE'), WriteProtected: true })).toBe(204);
    // GRUB caches for two seconds what it has read, so this command waits longer.
    await guest.type('sleep 3');
    await guest.type('cat (fd0)/meta');
    expect(await guest.nextEvent()).toBe('RACKLESS-FLOPPY LIVE');
    expect([await eject('Floppy'), await eject('Usb')]).toEqual([204, 204]);
    await guest.reset('ForceOff');
    const left = (await guest.definition()).replace(/\s*<disk type='file' device='floppy'>[\s\S]*?<\/disk>/, '');
    expect(left.replace(/\s*<controller type='fdc'[\s\S]*?<\/controller>|\s*<controller type='fdc'[^>]*\/>/, '')).toBe(
      definition,
    );
    expect(await lab.volumes()).toEqual([]);
  });

  it('are visible to a running guest if they are USB sticks, and an eject removes their device', async () => {
    guest = await lab.guest();
    await guest.reset('On');
    expect(await guest.nextEvent()).toMatch(/RACKLESS-DISK/);
    expect(await insert('Usb', { Image: await configDrive('LIVE') })).toBe(204);
    // GRUB's own USB drivers find a stick that was inserted after the start.
    await guest.type('insmod uhci');
    await guest.type('insmod usbms');
    await guest.type('cat (usb0)/meta');
    expect(await guest.nextEvent()).toBe('RACKLESS-CONFIG LIVE');
    expect(await eject('Usb')).toBe(204);
    expect(await lab.virsh('domblklist', guest.name)).not.toContain('sda');
    await guest.reset('ForceOff');
  });

  it('can be booted if they are USB sticks, and so can a CD whose image QEMU streams', async () => {
    const machine = await lab.guest();
    const stick = `${machine.path}/VirtualMedia/Usb/Actions/VirtualMedia.InsertMedia`;
    const usb = await lab.images.publish('usb.iso', await guestImage({ kind: 'iso', system: 'grub', label: 'USB' }));
    expect((await lab.bmc.finish(await lab.bmc.send('POST', stick, { Image: usb }))).status).toBe(204);
    expect(await bootUsb(machine)).toBe('RACKLESS-ISO label=USB platform=pc');
    await machine.reset('ForceOff');

    const streamed = await lab.images.publish(
      's.iso',
      await guestImage({ kind: 'iso', system: 'grub', label: 'STREAM' }),
    );
    const cd = `${machine.path}/VirtualMedia/Cd`;
    const body = { Image: streamed, TransferMethod: 'Stream' };
    const action = property(await lab.bmc.get(cd), 'Actions', '#VirtualMedia.InsertMedia');
    const methods = property(action, 'TransferMethod@Redfish.AllowableValues');
    const answer = await lab.bmc.send('POST', `${cd}/Actions/VirtualMedia.InsertMedia`, body);
    if (JSON.stringify(methods) === '["Upload"]') {
      // QEMU's HTTP driver is in a separate package, which this host does not have.
      expect(answer.status).toBe(400);
      return;
    }
    expect(methods).toEqual(['Upload', 'Stream']);
    expect((await lab.bmc.finish(answer)).status).toBe(204);
    expect(await lab.bmc.get(cd)).toMatchObject({ TransferMethod: 'Stream', Image: streamed, ImageName: 's.iso' });
    expect(lab.images.downloads('s.iso')).toBe(0);
    await machine.setBoot({ target: 'Cd', enabled: 'Once' });
    await machine.reset('On');
    expect(await machine.nextEvent()).toBe('RACKLESS-ISO label=STREAM platform=pc');
    await machine.eject();
    expect(await machine.drive()).toEqual({ inserted: false, image: null });
    expect(
      (await lab.bmc.finish(await lab.bmc.send('POST', `${cd}/Actions/VirtualMedia.InsertMedia`, body))).status,
    ).toBe(204);
    await machine.setBoot({ target: 'Cd', enabled: 'Once' });
    await machine.reset('ForceRestart');
    expect(await machine.nextEvent()).toBe('RACKLESS-ISO label=STREAM platform=pc');
  }, 900_000);
});
