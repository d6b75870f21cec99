/** Section 3 of the specification: states and transitions, one test per row. */
import { expect, it } from '@jest/globals';
import { describeSpec } from './spec-daemon.js';

describeSpec('states and transitions', (spec) => {
  const systemPath = (): string => `/redfish/v1/Systems/${spec().uuid}`;
  const power = async (): Promise<unknown> => (await spec().get(systemPath()))['PowerState'];
  const boot = async () => spec().objectAt(await spec().get(systemPath()), 'Boot');
  const inserted = async (): Promise<unknown> =>
    (await spec().get(`/redfish/v1/Managers/${spec().uuid}/VirtualMedia/Cd/`))['Inserted'];
  const setTarget = async (target: string): Promise<void> => {
    const answer = await spec().call('PATCH', systemPath(), { Boot: { BootSourceOverrideTarget: target } });
    expect(answer.status).toBe(200);
    expect(spec().objectAt(answer.body ?? {}, 'Boot')['BootSourceOverrideTarget']).toBe(target);
  };

  it('§3 States and transitions | PowerState = Off, POST Reset with ResetType = On | On, read back after the call (B5)', async () => {
    await expect(power()).resolves.toBe('Off');
    await spec().reset('On');
    await expect(power()).resolves.toBe('On');
  });

  it('§3 States and transitions | PowerState = On, POST Reset with ResetType = ForceOff | powered off (B5)', async () => {
    await spec().reset('On');
    await spec().reset('ForceOff');
    await expect(power()).resolves.toBe('Off');
  });

  it('§3 States and transitions | PowerState = On, POST Reset with ResetType = ForceRestart | restarted: a one-time override is used up (B5)', async () => {
    await spec().reset('On');
    await spec().call('PATCH', systemPath(), {
      Boot: { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Cd' },
    });
    expect((await boot())['BootSourceOverrideEnabled']).toBe('Once');
    await spec().reset('ForceRestart');
    await expect(power()).resolves.toBe('On');
    expect((await boot())['BootSourceOverrideEnabled']).toBe('Disabled');
  });

  it('§3 States and transitions | PowerState = Off, POST Reset with ResetType = ForceOn | powered on from the current target, the inserted ISO (B5)', async () => {
    await spec().insert();
    await setTarget('Cd');
    await spec().reset('ForceOn');
    await expect(power()).resolves.toBe('On');
    await expect(spec().startedFrom()).resolves.toBe('cdrom');
  });

  it('§3 States and transitions | Inserted = false, POST InsertMedia with Image and Inserted = true | Inserted = true (B9)', async () => {
    await expect(inserted()).resolves.toBe(false);
    await spec().insert();
    await expect(inserted()).resolves.toBe(true);
  });

  it('§3 States and transitions | Inserted = true, POST EjectMedia | Inserted = false (B9)', async () => {
    await spec().insert();
    const path = `/redfish/v1/Managers/${spec().uuid}/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia`;
    expect((await spec().call('POST', path)).status).toBe(204);
    await expect(inserted()).resolves.toBe(false);
  });

  it('§3 States and transitions | Boot target Hdd, PATCH system with Boot.BootSourceOverrideTarget = Cd | Cd, and the machine boots from it (B6)', async () => {
    expect((await boot())['BootSourceOverrideTarget']).toBe('Hdd');
    await setTarget('Cd');
    expect((await boot())['BootSourceOverrideTarget']).toBe('Cd');
    await spec().reset('On');
    await expect(spec().startedFrom()).resolves.toBe('cdrom');
  });

  it('§3 States and transitions | Boot target Cd, PATCH system with Boot.BootSourceOverrideTarget = Hdd | Hdd, and the machine boots from it (B6)', async () => {
    await setTarget('Cd');
    await setTarget('Hdd');
    expect((await boot())['BootSourceOverrideTarget']).toBe('Hdd');
    await spec().reset('On');
    await expect(spec().startedFrom()).resolves.toBe('hd');
  });
});

describeSpec(
  'states and transitions with the boot device ignored',
  (spec) => {
    it('§3 States and transitions | Condition: EMULATOR_IGNORE_BOOT_DEVICE is false | when it is true, a PATCH leaves the target as it is (B7)', async () => {
      const path = `/redfish/v1/Systems/${spec().uuid}`;
      const before = spec().objectAt(await spec().get(path), 'Boot');
      const answer = await spec().call('PATCH', path, {
        Boot: { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Once' },
      });
      expect(answer.status).toBe(200);
      expect(spec().objectAt(answer.body ?? {}, 'Boot')).toEqual(before);
      expect(spec().messageIds(answer)).toEqual(['PropertyNotUpdated', 'PropertyNotUpdated']);
      expect(spec().objectAt(await spec().get(path), 'Boot')).toEqual(before);
    });
  },
  { ignoreBootDevice: true },
);
