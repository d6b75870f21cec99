/** Contract, states and transitions: one test per row. */
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

  it('RF-52 ResetType On: a read after the call returns On', async () => {
    await expect(power()).resolves.toBe('Off');
    await spec().reset('On');
    await expect(power()).resolves.toBe('On');
  });

  it('RF-53 ResetType ForceOff: the machine is off', async () => {
    await spec().reset('On');
    await spec().reset('ForceOff');
    await expect(power()).resolves.toBe('Off');
  });

  it('RF-54 ResetType ForceRestart: the machine is on afterwards, and a boot override Once is disabled', async () => {
    await spec().reset('On');
    await spec().call('PATCH', systemPath(), {
      Boot: { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Cd' },
    });
    expect((await boot())['BootSourceOverrideEnabled']).toBe('Once');
    await spec().reset('ForceRestart');
    await expect(power()).resolves.toBe('On');
    expect((await boot())['BootSourceOverrideEnabled']).toBe('Disabled');
  });

  it('RF-55 ResetType ForceOn: the machine starts from its boot target, for example from the inserted ISO image', async () => {
    await spec().insert();
    await setTarget('Cd');
    await spec().reset('ForceOn');
    await expect(power()).resolves.toBe('On');
    await expect(spec().startedFrom()).resolves.toBe('cdrom');
  });

  it('RF-56 InsertMedia: Inserted is true', async () => {
    await expect(inserted()).resolves.toBe(false);
    await spec().insert();
    await expect(inserted()).resolves.toBe(true);
  });

  it('RF-57 EjectMedia: Inserted is false', async () => {
    await spec().insert();
    const path = `/redfish/v1/Managers/${spec().uuid}/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia`;
    expect((await spec().call('POST', path)).status).toBe(204);
    await expect(inserted()).resolves.toBe(false);
  });

  it('RF-58 PATCH from Hdd to Cd: the target is Cd, and the machine boots from it', async () => {
    expect((await boot())['BootSourceOverrideTarget']).toBe('Hdd');
    await setTarget('Cd');
    expect((await boot())['BootSourceOverrideTarget']).toBe('Cd');
    await spec().reset('On');
    await expect(spec().startedFrom()).resolves.toBe('cdrom');
  });

  it('RF-59 PATCH from Cd to Hdd: the target is Hdd, and the machine boots from it', async () => {
    await setTarget('Cd');
    await setTarget('Hdd');
    expect((await boot())['BootSourceOverrideTarget']).toBe('Hdd');
    await spec().reset('On');
    await expect(spec().startedFrom()).resolves.toBe('hd');
  });
});

describeSpec(
  'states and transitions with EMULATOR_IGNORE_BOOT_DEVICE',
  (spec) => {
    it('RF-60 EMULATOR_IGNORE_BOOT_DEVICE = True: A PATCH leaves the boot target unchanged', async () => {
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
