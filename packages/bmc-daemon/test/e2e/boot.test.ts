import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
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

  describeEndToEnd(`booting with ${name}`, () => {
    jest.setTimeout(180_000);
    let lab: Lab;
    let guest: Guest;
    let image: string;

    beforeAll(async () => {
      // A boot loader does not see the power button: a graceful restart has to end as a hard one.
      lab = await Lab.start({ settings: ['EMULATOR_GRACEFUL_RESTART_WAIT_SECONDS = 1'] });
      image = await lab.images.publish('boot.iso', await guestImage({ kind: 'iso', system: 'grub', label: 'CD' }));
      guest = await lab.guest({ firmware });
    });
    afterAll(() => lab.stop());

    it.each([
      ['with the daemon watching', false],
      ['with no daemon in between', true],
    ])('takes the inserted ISO once and the disk when the guest restarts itself, %s (P1, B6)', async (_how, killed) => {
      const definition = await guest.definition();
      await guest.insert(image);
      const pending = { enabled: 'Once', target: 'Cd' };
      expect(await guest.setBoot({ target: 'Cd', enabled: 'Once' })).toEqual(pending);
      expect(await guest.boot()).toEqual(pending);
      await guest.reset('On');
      if (killed) await lab.killDaemon();
      expect(await guest.tells()).toBe(iso);
      await guest.type('reboot');
      expect(await guest.tells()).toBe(disk);
      if (killed) await lab.startDaemon();
      expect(await guest.boot()).toEqual(used);
      expect(await guest.powerState()).toBe('On');
      expect(await guest.drive()).toEqual({ inserted: true, image });
      await guest.reset('ForceOff');
      await guest.eject();
      // Neither the override nor the image has left a trace.
      expect(await guest.definition()).toBe(definition);
    });

    it('takes the ISO every time until the override is disabled, which gives the user his order back (P1, B6)', async () => {
      const definition = await guest.definition();
      await guest.insert(image);
      const withImage = await guest.definition();
      const set = { enabled: 'Continuous', target: 'Cd' };
      expect(await guest.setBoot({ target: 'Cd', enabled: 'Continuous' })).toEqual(set);
      await guest.reset('On');
      expect(await guest.tells()).toBe(iso);
      await guest.type('reboot');
      expect(await guest.tells()).toBe(iso);
      expect(await guest.boot()).toEqual(set);
      expect(await guest.setBoot({ enabled: 'Disabled' })).toEqual({ enabled: 'Disabled', target: 'Cd' });
      expect(await guest.definition()).toBe(withImage);
      await guest.type('reboot');
      expect(await guest.tells()).toBe(disk);
      await guest.reset('ForceOff');
      await guest.eject();
      expect(await guest.definition()).toBe(definition);
    });

    it('set to once on a running machine, takes the ISO at the next restart of whatever kind (P1, B5, B6)', async () => {
      const definition = await guest.definition();
      await guest.reset('On');
      expect(await guest.tells()).toBe(disk);
      await guest.insert(image);
      const restarts = {
        'by itself': () => guest.type('reboot'),
        ForceRestart: () => guest.reset('ForceRestart'),
        // Ends as a hard one. It is the same with both firmwares, and OVMF is slow.
        ...(firmware === 'bios' ? { GracefulRestart: () => guest.reset('GracefulRestart') } : {}),
      };
      for (const [how, restart] of Object.entries(restarts)) {
        await guest.setBoot({ target: 'Cd', enabled: 'Once' });
        await restart();
        expect([how, await guest.tells()]).toEqual([how, iso]);
        await becomes(() => guest.boot(), used);
        await guest.type('reboot');
        expect([how, await guest.tells()]).toEqual([how, disk]);
      }
      await guest.reset('ForceOff');
      await guest.eject();
      expect(await guest.definition()).toBe(definition);
    });
  });
}
