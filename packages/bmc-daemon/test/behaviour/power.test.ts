/** Reset actions beyond the rows of the specification. */
import { expect, it } from '@jest/globals';
import { describeSpec } from '../spec/spec-daemon.js';

describeSpec('power', (spec) => {
  const path = (): string => `/redfish/v1/Systems/${spec().uuid}`;
  const reset = (type: string) => spec().call('POST', `${path()}/Actions/ComputerSystem.Reset`, { ResetType: type });
  const power = async (): Promise<unknown> => (await spec().get(path()))['PowerState'];

  it.each(['GracefulShutdown', 'GracefulRestart', 'Nmi'])(
    'refuses %s on a machine that is off with 409 and a message of its own, and leaves it off (B5)',
    async (type) => {
      const answer = await reset(type);
      expect(answer.status).toBe(409);
      expect(spec().messageIds(answer)).toEqual(['ChassisPowerStateOnRequired']);
      expect(JSON.stringify(answer.body)).toContain(spec().uuid);
      await expect(power()).resolves.toBe('Off');
    },
  );

  it('takes On and ForceOn on a machine that is on, and ForceOff on one that is off, for done (B5)', async () => {
    expect((await reset('ForceOff')).status).toBe(204);
    await expect(power()).resolves.toBe('Off');
    for (const type of ['On', 'On', 'ForceOn']) expect((await reset(type)).status).toBe(204);
    await expect(power()).resolves.toBe('On');
  });

  it('ends on after ForceRestart of a machine that is off (B5)', async () => {
    expect((await reset('ForceRestart')).status).toBe(204);
    await expect(power()).resolves.toBe('On');
  });

  it('passes GracefulShutdown and Nmi on to a machine that runs (B5)', async () => {
    await spec().reset('On');
    expect((await reset('Nmi')).status).toBe(204);
    expect((await reset('GracefulShutdown')).status).toBe(204);
  });

  it("refuses a reset type of DMTF's that is not offered, a wrong type and an unknown parameter (B5)", async () => {
    const post = (body: unknown) => spec().call('POST', `${path()}/Actions/ComputerSystem.Reset`, body);
    const suspend = await post({ ResetType: 'Suspend' });
    expect([suspend.status, spec().messageIds(suspend)]).toEqual([400, ['ActionParameterValueNotInList']]);
    const number = await post({ ResetType: 1 });
    expect([number.status, spec().messageIds(number)]).toEqual([400, ['ActionParameterValueTypeError']]);
    const both = await post({ ResetTyp: 'On' });
    expect(both.status).toBe(400);
    expect(spec().messageIds(both).toSorted()).toEqual(['ActionParameterMissing', 'ActionParameterUnknown']);
    await expect(power()).resolves.toBe('Off');
  });
});

describeSpec(
  'power with power-off disabled',
  (spec) => {
    it('refuses ForceOff and GracefulShutdown, and nothing else (B12)', async () => {
      const path = `/redfish/v1/Systems/${spec().uuid}/Actions/ComputerSystem.Reset`;
      await spec().reset('On');
      for (const ResetType of ['ForceOff', 'GracefulShutdown']) {
        const answer = await spec().call('POST', path, { ResetType });
        expect([answer.status, spec().messageIds(answer)]).toEqual([400, ['ActionParameterValueConflict']]);
      }
      await spec().reset('ForceRestart');
    });
  },
  { disablePowerOff: true },
);
