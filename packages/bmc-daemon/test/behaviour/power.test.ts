/** Reset actions, the power restore policy and the asset tag of a machine, beyond the rows of the contract. */
import { expect, it } from '@jest/globals';
import { describeSpec } from '../spec/spec-daemon.js';

describeSpec('a machine', (spec) => {
  const path = (): string => `/redfish/v1/Systems/${spec().uuid}`;
  const reset = (type: string) => spec().call('POST', `${path()}/Actions/ComputerSystem.Reset`, { ResetType: type });
  const power = async (): Promise<unknown> => (await spec().get(path()))['PowerState'];

  it.each(['GracefulShutdown', 'GracefulRestart', 'Nmi'])(
    'rejects %s while it is off, with 409 and a specific message',
    async (type) => {
      const answer = await reset(type);
      expect(answer.status).toBe(409);
      expect(spec().messageIds(answer)).toEqual(['ChassisPowerStateOnRequired']);
      expect(JSON.stringify(answer.body)).toContain(spec().uuid);
      await expect(power()).resolves.toBe('Off');
    },
  );

  it('accepts On and ForceOn while it runs, and ForceOff while it is off', async () => {
    expect((await reset('ForceOff')).status).toBe(204);
    await expect(power()).resolves.toBe('Off');
    for (const type of ['On', 'On', 'ForceOn']) expect((await reset(type)).status).toBe(204);
    await expect(power()).resolves.toBe('On');
  });

  it('is On after a ForceRestart from Off', async () => {
    expect((await reset('ForceRestart')).status).toBe(204);
    await expect(power()).resolves.toBe('On');
  });

  it('accepts GracefulShutdown and Nmi while it runs', async () => {
    await spec().reset('On');
    expect((await reset('Nmi')).status).toBe(204);
    expect((await reset('GracefulShutdown')).status).toBe(204);
  });

  it('is Paused after Pause and On after Resume, and rejects a shutdown while it is paused', async () => {
    await spec().reset('On');
    for (const type of ['Pause', 'Pause']) await spec().reset(type);
    await expect(power()).resolves.toBe('Paused');
    const asked = await reset('GracefulShutdown');
    expect([asked.status, spec().messageIds(asked)]).toEqual([409, ['ResourceInUse']]);
    for (const type of ['Resume', 'Resume']) await spec().reset(type);
    await expect(power()).resolves.toBe('On');
  });

  it('is On after a PowerCycle from Off, On or Paused', async () => {
    for (const before of ['ForceOff', 'On', 'Pause']) {
      await spec().reset(before);
      await spec().reset('PowerCycle');
      await expect(power()).resolves.toBe('On');
    }
  });

  it('is On after PushPowerButton from Off, and accepts PushPowerButton while it runs', async () => {
    await spec().reset('PushPowerButton');
    await expect(power()).resolves.toBe('On');
    expect((await reset('PushPowerButton')).status).toBe(204);
  });

  it('rejects Pause, Resume and Suspend while it is off', async () => {
    for (const type of ['Pause', 'Resume', 'Suspend']) {
      const answer = await reset(type);
      expect([answer.status, spec().messageIds(answer)]).toEqual([409, ['ChassisPowerStateOnRequired']]);
    }
    await expect(power()).resolves.toBe('Off');
  });

  it('stores PowerRestorePolicy and rejects LastState', async () => {
    const policy = async (): Promise<unknown> => (await spec().get(path()))['PowerRestorePolicy'];
    await expect(policy()).resolves.toBe('AlwaysOff');
    for (const wanted of ['AlwaysOn', 'AlwaysOff']) {
      const answer = await spec().call('PATCH', path(), { PowerRestorePolicy: wanted });
      expect([answer.status, answer.body?.['PowerRestorePolicy']]).toEqual([200, wanted]);
      await expect(policy()).resolves.toBe(wanted);
    }
    const last = await spec().call('PATCH', path(), { PowerRestorePolicy: 'LastState' });
    expect([last.status, spec().messageIds(last)]).toEqual([400, ['PropertyValueNotInList']]);
  });

  it('has the same AssetTag as its chassis, whichever of both gets the PATCH', async () => {
    const chassis = `/redfish/v1/Chassis/${spec().uuid}`;
    const tags = async () => Promise.all([path(), chassis].map(async (uri) => (await spec().get(uri))['AssetTag']));
    await expect(tags()).resolves.toEqual([null, null]);
    for (const [uri, tag] of [
      [path(), `rack <7> & "8"`],
      [chassis, 'rack 9'],
    ] as const) {
      expect((await spec().call('PATCH', uri, { AssetTag: tag })).status).toBe(200);
      await expect(tags()).resolves.toEqual([tag, tag]);
    }
    const lines = await spec().call('PATCH', path(), { AssetTag: 'one\ntwo' });
    expect([lines.status, spec().messageIds(lines)]).toEqual([400, ['PropertyValueFormatError']]);
    expect((await spec().call('PATCH', path(), { AssetTag: '' })).status).toBe(200);
    await expect(tags()).resolves.toEqual([null, null]);
  });

  it('rejects an unsupported reset type, a wrong JSON type and an unknown parameter', async () => {
    const post = (body: unknown) => spec().call('POST', `${path()}/Actions/ComputerSystem.Reset`, body);
    const full = await post({ ResetType: 'FullPowerCycle' });
    expect([full.status, spec().messageIds(full)]).toEqual([400, ['ActionParameterValueNotInList']]);
    const number = await post({ ResetType: 1 });
    expect([number.status, spec().messageIds(number)]).toEqual([400, ['ActionParameterValueTypeError']]);
    const both = await post({ ResetTyp: 'On' });
    expect(both.status).toBe(400);
    expect(spec().messageIds(both).toSorted()).toEqual(['ActionParameterMissing', 'ActionParameterUnknown']);
    await expect(power()).resolves.toBe('Off');
  });
});

describeSpec(
  'a machine with power-off disabled',
  (spec) => {
    it('rejects actions that switch it off, and accepts ForceRestart', async () => {
      const path = `/redfish/v1/Systems/${spec().uuid}/Actions/ComputerSystem.Reset`;
      await spec().reset('On');
      for (const ResetType of ['ForceOff', 'GracefulShutdown', 'PushPowerButton', 'Suspend']) {
        const answer = await spec().call('POST', path, { ResetType });
        expect([answer.status, spec().messageIds(answer)]).toEqual([400, ['ActionParameterValueConflict']]);
      }
      await spec().reset('ForceRestart');
    });
  },
  { disablePowerOff: true },
);
