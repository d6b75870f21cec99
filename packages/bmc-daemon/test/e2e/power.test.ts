import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { guestImage } from '../harness/guest-image.js';
import { fault, type ResetType } from './bmc.js';
import { becomes, Lab, type Guest } from './lab.js';
import { describeEndToEnd } from './prerequisites.js';

const boot = 'RACKLESS-DISK label=DISK platform=pc';
const linux = `${boot} linux`;

describeEndToEnd('a machine whose guest is only a boot loader', () => {
  let lab: Lab;
  let guest: Guest;

  beforeAll(async () => {
    lab = await Lab.start({ settings: ['EMULATOR_GRACEFUL_RESTART_WAIT_SECONDS = 1'] });
    guest = await lab.guest();
  });
  afterAll(() => lab.stop());

  const ensureState = async (state: 'On' | 'Off'): Promise<void> => {
    if ((await guest.powerState()) === state) return;
    await guest.reset(state === 'On' ? 'On' : 'ForceOff');
    if (state === 'On') expect(await guest.nextEvent()).toBe(boot);
  };

  it.each(['GracefulShutdown', 'GracefulRestart', 'Nmi'] satisfies ResetType[])(
    'rejects %s while it is off, with 409 and the message that it must be on',
    async (type) => {
      await ensureState('Off');
      const { status, body } = await guest.tryReset(type);
      expect([status, fault(body).key]).toEqual([409, 'ChassisPowerStateOnRequired']);
      expect([await guest.powerState(), await guest.state()]).toEqual(['Off', 'shut off']);
    },
  );

  it('accepts ForceOff while it is off', async () => {
    await ensureState('Off');
    expect((await guest.tryReset('ForceOff')).status).toBe(204);
    expect([await guest.powerState(), await guest.state()]).toEqual(['Off', 'shut off']);
  });

  it.each(['On', 'ForceOn', 'ForceRestart'] satisfies ResetType[])(
    'boots with %s, and stops with ForceOff',
    async (type) => {
      await ensureState('Off');
      await guest.reset(type);
      expect(await guest.powerState()).toBe('On');
      expect(await guest.nextEvent()).toBe(boot);
      await guest.reset('ForceOff');
      expect([await guest.powerState(), await guest.state()]).toEqual(['Off', 'shut off']);
    },
  );

  it.each(['On', 'ForceOn', 'GracefulShutdown'] satisfies ResetType[])(
    'continues unchanged after %s while it runs; its guest ignores the power button',
    async (type) => {
      await ensureState('On');
      const process = await guest.process();
      await guest.type('set rest=LESS-alive');
      expect((await guest.tryReset(type)).status).toBe(204);
      // Only a guest that was not restarted knows the variable.
      await guest.type('echo RACK$rest');
      expect(await guest.nextEvent()).toBe('RACKLESS-alive');
      expect([await guest.powerState(), await guest.process()]).toEqual(['On', process]);
    },
  );

  it('restarts with ForceRestart', async () => {
    await ensureState('On');
    expect((await guest.tryReset('ForceRestart')).status).toBe(204);
    expect(await guest.nextEvent()).toBe(boot);
    expect(await guest.powerState()).toBe('On');
  });

  it('restarts with GracefulRestart only after a timeout, because its guest ignores the request', async () => {
    await ensureState('On');
    expect((await guest.tryReset('GracefulRestart')).status).toBe(204);
    expect(await guest.nextEvent()).toBe(boot);
    expect(await guest.powerState()).toBe('On');
    expect(lab.daemon.messages('info')).toContain(`machine ${guest.name} did not restart in time: forcing a restart`);
  });

  it('continues with On after it was paused', async () => {
    await ensureState('On');
    await guest.type('set rest=LESS-resumed');
    await lab.virsh('suspend', guest.name);
    expect(await guest.powerState()).toBe('Paused');
    await guest.reset('On');
    expect(await guest.powerState()).toBe('On');
    await guest.type('echo RACK$rest');
    expect(await guest.nextEvent()).toBe('RACKLESS-resumed');
  });

  it.each([{}, { ResetType: 'PowerCycleTwice' }])(
    'rejects the reset %j while it is off, lists seven of the allowed types, and stays off',
    async (body) => {
      await ensureState('Off');
      const answer = await lab.bmc.send('POST', `${guest.path}/Actions/ComputerSystem.Reset`, body);
      expect(answer.status).toBe(400);
      for (const type of ['On', 'ForceOff', 'GracefulShutdown', 'GracefulRestart', 'ForceRestart', 'Nmi', 'ForceOn']) {
        expect(JSON.stringify(answer.body)).toContain(type);
      }
      expect(await guest.state()).toBe('shut off');
    },
  );
});

describeEndToEnd('a guest that runs Linux', () => {
  let lab: Lab;
  let guest: Guest;

  beforeAll(async () => {
    lab = await Lab.start();
    guest = await lab.guest({ system: 'linux' });
    await guest.reset('On');
    expect(await guest.boots()).toBe(linux);
  });
  afterAll(() => lab.stop());

  it('sees an insert and an eject, and also an eject while it locks the tray', async () => {
    const image = await lab.images.publish(
      'live.iso',
      await guestImage({ kind: 'iso', system: 'grub', label: 'LIVE' }),
    );
    const process = await guest.process();
    await guest.insert(image);
    await guest.waitFor('RACKLESS-MEDIA sr0 LIVE');
    expect(await guest.drive()).toEqual({ inserted: true, image });
    await guest.eject();
    await guest.waitFor('RACKLESS-MEDIA sr0 empty');
    expect(await guest.drive()).toEqual({ inserted: false, image: null });

    await guest.insert(image);
    await guest.waitFor('RACKLESS-MEDIA sr0 LIVE');
    // Linux locks the tray of a mounted drive.
    await guest.type('mkdir -p /mnt && mount -t iso9660 -o ro /dev/sr0 /mnt && echo RACK""LESS-mounted');
    await guest.waitFor('RACKLESS-mounted');
    await guest.eject();
    await guest.waitFor('RACKLESS-MEDIA sr0 empty');
    expect(await guest.drive()).toEqual({ inserted: false, image: null });
    expect(await guest.process()).toBe(process);
    await guest.type('umount /mnt');
  });

  it('sees a non-maskable interrupt and continues', async () => {
    expect((await guest.tryReset('Nmi')).status).toBe(204);
    await guest.waitFor('NMI received');
    expect(await guest.powerState()).toBe('On');
  });

  it('restarts in the same QEMU process when GracefulRestart presses its power button', async () => {
    const process = await guest.process();
    expect((await guest.tryReset('GracefulRestart')).status).toBe(204);
    await guest.waitFor('RACKLESS-POWERBUTTON');
    expect(await guest.boots()).toBe(linux);
    expect([await guest.powerState(), await guest.process()]).toEqual(['On', process]);
  });

  it('powers off when GracefulShutdown presses its power button', async () => {
    expect((await guest.tryReset('GracefulShutdown')).status).toBe(204);
    await guest.waitFor('RACKLESS-POWERBUTTON');
    await becomes(() => guest.powerState(), 'Off');
    expect(await guest.state()).toBe('shut off');
  });
});
