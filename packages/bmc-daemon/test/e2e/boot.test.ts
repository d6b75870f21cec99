import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { guestImage } from '../harness/guest-image.js';
import { becomes, Lab, type Guest } from './lab.js';
import { describeEndToEnd } from './prerequisites.js';

const used = { enabled: 'Disabled', target: 'None' };

for (const [firmware, platform, name] of [
  ['bios', 'pc', 'SeaBIOS'],
  ['efi', 'efi', 'OVMF'],
] as const) {
  const disk = `RACKLESS-DISK label=DISK platform=${platform}`;
  const iso = `RACKLESS-ISO label=CD platform=${platform}`;

  describeEndToEnd(`a guest with ${name}`, () => {
    let lab: Lab;
    let guest: Guest;
    let image: string;

    beforeAll(async () => {
      // A boot loader ignores the power button, so a graceful restart ends as a hard restart.
      lab = await Lab.start({ settings: ['EMULATOR_GRACEFUL_RESTART_WAIT_SECONDS = 1'] });
      image = await lab.images.publish('boot.iso', await guestImage({ kind: 'iso', system: 'grub', label: 'CD' }));
      guest = await lab.guest({ firmware });
    });
    afterAll(() => lab.stop());

    it.each([
      ['while the daemon runs', false],
      ['while no daemon runs', true],
    ])('boots the inserted ISO once, and then the disk when the guest restarts itself %s', async (_how, killed) => {
      const definition = await guest.definition();
      await guest.insert(image);
      const pending = { enabled: 'Once', target: 'Cd' };
      expect(await guest.setBoot({ target: 'Cd', enabled: 'Once' })).toEqual(pending);
      expect(await guest.boot()).toEqual(pending);
      await guest.reset('On');
      if (killed) await lab.killDaemon();
      expect(await guest.nextEvent()).toBe(iso);
      await guest.type('reboot');
      expect(await guest.nextEvent()).toBe(disk);
      if (killed) await lab.startDaemon();
      expect(await guest.boot()).toEqual(used);
      expect(await guest.powerState()).toBe('On');
      expect(await guest.drive()).toEqual({ inserted: true, image });
      await guest.reset('ForceOff');
      await guest.eject();
      // The definition contains neither the override nor the image.
      expect(await guest.definition()).toBe(definition);
    });

    it('boots the ISO with a continuous override until a client disables it, which restores the boot order', async () => {
      const definition = await guest.definition();
      await guest.insert(image);
      const withImage = await guest.definition();
      const set = { enabled: 'Continuous', target: 'Cd' };
      expect(await guest.setBoot({ target: 'Cd', enabled: 'Continuous' })).toEqual(set);
      await guest.reset('On');
      expect(await guest.nextEvent()).toBe(iso);
      await guest.type('reboot');
      expect(await guest.nextEvent()).toBe(iso);
      expect(await guest.boot()).toEqual(set);
      expect(await guest.setBoot({ enabled: 'Disabled' })).toEqual({ enabled: 'Disabled', target: 'Cd' });
      expect(await guest.definition()).toBe(withImage);
      await guest.type('reboot');
      expect(await guest.nextEvent()).toBe(disk);
      await guest.reset('ForceOff');
      await guest.eject();
      expect(await guest.definition()).toBe(definition);
    });

    it('boots the ISO at the next restart, by the guest or over Redfish, if a client sets Once while the machine runs', async () => {
      const definition = await guest.definition();
      await guest.reset('On');
      expect(await guest.nextEvent()).toBe(disk);
      await guest.insert(image);
      const restarts = {
        'by itself': () => guest.type('reboot'),
        ForceRestart: () => guest.reset('ForceRestart'),
        // The graceful restart ends as a hard restart. OVMF is slow and would behave like SeaBIOS, so only SeaBIOS is
        // tested.
        ...(firmware === 'bios' ? { GracefulRestart: () => guest.reset('GracefulRestart') } : {}),
      };
      for (const [how, restart] of Object.entries(restarts)) {
        await guest.setBoot({ target: 'Cd', enabled: 'Once' });
        await restart();
        expect([how, await guest.nextEvent()]).toEqual([how, iso]);
        await becomes(() => guest.boot(), used);
        await guest.type('reboot');
        expect([how, await guest.nextEvent()]).toEqual([how, disk]);
      }
      await guest.reset('ForceOff');
      await guest.eject();
      expect(await guest.definition()).toBe(definition);
    });
  });
}

describeEndToEnd('setting a boot source that the guest has no device for', () => {
  const disk = 'RACKLESS-DISK label=DISK platform=pc';
  const iso = 'RACKLESS-ISO label=CD platform=pc';
  let lab: Lab;
  let image: string;

  beforeAll(async () => {
    lab = await Lab.start();
    image = await lab.images.publish('boot.iso', await guestImage({ kind: 'iso', system: 'grub', label: 'CD' }));
  });
  afterAll(() => lab.stop());

  it('is accepted for the network, and the guest then boots its disk', async () => {
    const guest = await lab.guest();
    const definition = await guest.definition();
    for (const enabled of ['Continuous', 'Once'] as const) {
      expect(await guest.setBoot({ target: 'Pxe', enabled })).toEqual({ target: 'Pxe', enabled });
      expect(await guest.definition()).toBe(definition);
      await guest.reset('On');
      expect(await guest.nextEvent()).toBe(disk);
      await guest.reset('ForceOff');
    }
  });

  it('is accepted for the CD, and the guest gets a drive and boots an image from it', async () => {
    const guest = await lab.guest({ drive: false });
    const set = { target: 'Cd', enabled: 'Continuous' } as const;
    expect(await guest.setBoot(set)).toEqual(set);
    await guest.insert(image);
    await guest.reset('On');
    expect(await guest.nextEvent()).toBe(iso);
    await guest.reset('ForceOff');
  });

  it('is accepted for the disk, and the guest then boots the CD', async () => {
    const guest = await lab.guest();
    await lab.virsh('detach-disk', guest.name, 'vda', '--config');
    await guest.insert(image);
    for (const enabled of ['Continuous', 'Once'] as const) {
      expect(await guest.setBoot({ target: 'Hdd', enabled })).toEqual({ target: 'Hdd', enabled });
      await guest.reset('On');
      expect(await guest.nextEvent()).toBe(iso);
      await guest.reset('ForceOff');
    }
  });
});
