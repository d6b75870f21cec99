import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { guestImage } from '../harness/guest-image.js';
import { fault } from './bmc.js';
import { becomes, Lab, type Guest } from './lab.js';
import { describeEndToEnd } from './prerequisites.js';

const disk = 'RACKLESS-DISK label=DISK platform=pc';
const iso = 'RACKLESS-ISO label=CD platform=pc';
const pending = { enabled: 'Once', target: 'Cd' } as const;
const used = { enabled: 'Disabled', target: 'None' };
const root = '/redfish/v1';

describeEndToEnd('a daemon that is killed, or whose libvirtd stops or hangs', () => {
  let lab: Lab;
  let guest: Guest;
  let image: string;

  beforeAll(async () => {
    lab = await Lab.start({ settings: ['EMULATOR_LIBVIRT_TIMEOUT_SECONDS = 8'] });
    image = await lab.images.publish('boot.iso', await guestImage({ kind: 'iso', system: 'grub', label: 'CD' }));
    guest = await lab.guest();
  });
  afterAll(() => lab.stop());

  const restartDaemon = async (): Promise<void> => {
    await lab.killDaemon();
    await lab.startDaemon();
  };
  const statusOf = async (path: string): Promise<number> => (await lab.bmc.send('GET', path)).status;
  /**
   * Returns the answers to reads of the machine and its drive. After a restart of the daemon, they must
   * be the same.
   */
  const state = async (): Promise<unknown> => {
    const read = [guest.path, guest.drivePath].map(async (path) => {
      const { status, headers, body } = await lab.bmc.send('GET', path);
      return { status, etag: headers.get('etag'), body };
    });
    return await Promise.all(read);
  };

  it('keeps an image and a pending boot over its restart while the guest is off', async () => {
    await guest.insert(image);
    await guest.setBoot(pending);
    const before = await state();
    await restartDaemon();
    expect(await state()).toEqual(before);
    await guest.reset('On');
    expect(await guest.nextEvent()).toBe(iso);
    expect(await guest.boot()).toEqual(used);
    await guest.type('reboot');
    expect(await guest.nextEvent()).toBe(disk);
  });

  it('keeps an image and a pending boot over its restart while the guest runs; a reboot then boots the image', async () => {
    await guest.setBoot(pending);
    const before = await state();
    await restartDaemon();
    expect(await state()).toEqual(before);
    await guest.type('reboot');
    expect(await guest.nextEvent()).toBe(iso);
    await becomes(() => guest.boot(), used);
    await guest.type('reboot');
    expect(await guest.nextEvent()).toBe(disk);
  });

  it('shows the override as used if the guest restarted while the daemon did not run', async () => {
    await guest.setBoot(pending);
    await lab.killDaemon();
    await guest.type('reboot');
    expect(await guest.nextEvent()).toBe(iso);
    await lab.startDaemon();
    await becomes(() => guest.boot(), used);
    await guest.type('reboot');
    expect(await guest.nextEvent()).toBe(disk);
  });

  it('returns 503 while libvirtd hangs, still serves the root, and recovers', async () => {
    lab.libvirtd.signal('SIGSTOP');
    try {
      const { status, headers, body } = await lab.bmc.send('GET', guest.path);
      expect([status, fault(body).key]).toEqual([503, 'ServiceTemporarilyUnavailable']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await statusOf(root)).toBe(200);
    } finally {
      lab.libvirtd.signal('SIGCONT');
    }
    await becomes(() => statusOf(guest.path), 200);
    expect(await guest.powerState()).toBe('On');
  });

  it('starts while libvirtd is down, returns 503, and serves when libvirtd starts', async () => {
    await lab.killDaemon();
    await lab.libvirtd.stopDaemon();
    await lab.startDaemon();
    const { status, headers, body } = await lab.bmc.send('GET', guest.path);
    expect([status, fault(body).key]).toEqual([503, 'ServiceTemporarilyUnavailable']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await statusOf(root)).toBe(200);
    await lab.libvirtd.start();
    await becomes(() => statusOf(guest.path), 200);
    expect([await guest.powerState(), await guest.drive()]).toEqual(['On', { inserted: true, image }]);
  });

  it('keeps a pending boot when libvirtd is killed and started again, and shows it as used after a reboot', async () => {
    await guest.setBoot(pending);
    await lab.libvirtd.stopDaemon('SIGKILL');
    await becomes(() => statusOf(guest.path), 503);
    await lab.libvirtd.start();
    await becomes(() => statusOf(guest.path), 200);
    expect(await guest.boot()).toEqual(pending);
    await guest.type('reboot');
    expect(await guest.nextEvent()).toBe(iso);
    await becomes(() => guest.boot(), used);
    await guest.type('reboot');
    expect(await guest.nextEvent()).toBe(disk);
  });
});
