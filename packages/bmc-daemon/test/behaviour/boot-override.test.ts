/** The boot override as Ironic, Ansible and DMTF's checkers use it. */
import { expect, it } from '@jest/globals';
import { describeSpec, type Body } from '../spec/spec-daemon.js';

describeSpec('boot override', (spec) => {
  const path = (): string => `/redfish/v1/Systems/${spec().uuid}`;
  const patch = (boot: Body) => spec().call('PATCH', path(), { Boot: boot });
  const boot = async (): Promise<readonly unknown[]> => {
    const { BootSourceOverrideEnabled, BootSourceOverrideTarget } = spec().objectAt(await spec().get(path()), 'Boot');
    return [BootSourceOverrideEnabled, BootSourceOverrideTarget];
  };

  it('keeps Enabled when only the target is sent, as Ironic does', async () => {
    for (const enabled of ['Once', 'Continuous', 'Disabled']) {
      await patch({ BootSourceOverrideEnabled: enabled, BootSourceOverrideTarget: 'Pxe' });
      await patch({ BootSourceOverrideTarget: 'Cd' });
      await expect(boot()).resolves.toEqual([enabled, 'Cd']);
    }
  });

  it('keeps the target when only Enabled is sent', async () => {
    await patch({ BootSourceOverrideTarget: 'Cd' });
    for (const enabled of ['Disabled', 'Once', 'Continuous']) {
      expect((await patch({ BootSourceOverrideEnabled: enabled })).status).toBe(200);
      await expect(boot()).resolves.toEqual([enabled, 'Cd']);
    }
  });

  it('applies a one-time target to one boot, is Disabled afterwards, and the next boot is from disk', async () => {
    await patch({ BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Cd' });
    await expect(boot()).resolves.toEqual(['Once', 'Cd']);
    await spec().reset('On');
    await expect(spec().startedFrom()).resolves.toBe('cdrom');
    await expect(boot()).resolves.toEqual(['Disabled', 'None']);
    await spec().reset('ForceOff');
    await spec().reset('On');
    await expect(spec().startedFrom()).resolves.toBe('hd');
  });

  it('applies a continuous target to every boot', async () => {
    await patch({ BootSourceOverrideEnabled: 'Continuous', BootSourceOverrideTarget: 'Pxe' });
    for (let time = 0; time < 2; time += 1) {
      await spec().reset('On');
      await expect(spec().startedFrom()).resolves.toBe('network');
      await spec().reset('ForceOff');
    }
    await expect(boot()).resolves.toEqual(['Continuous', 'Pxe']);
  });

  it('restores the original boot order when it is disabled, with or without None', async () => {
    await patch({ BootSourceOverrideTarget: 'Cd' });
    expect((await patch({ BootSourceOverrideEnabled: 'Disabled' })).status).toBe(200);
    await spec().reset('On');
    await expect(spec().startedFrom()).resolves.toBe('hd');
    await spec().reset('ForceOff');
    await patch({ BootSourceOverrideEnabled: 'Continuous', BootSourceOverrideTarget: 'Cd' });
    const none = await patch({ BootSourceOverrideEnabled: 'Disabled', BootSourceOverrideTarget: 'None' });
    expect(none.status).toBe(200);
    await expect(boot()).resolves.toEqual(['Disabled', 'None']);
    await spec().reset('On');
    await expect(spec().startedFrom()).resolves.toBe('hd');
  });

  it('stays when only the mode is changed, as Ironic does before each deployment', async () => {
    await patch({ BootSourceOverrideTarget: 'Cd' });
    for (const mode of ['Legacy', 'UEFI']) {
      const answer = await patch({ BootSourceOverrideMode: mode });
      expect(answer.status).toBe(200);
      expect(spec().objectAt(await spec().get(path()), 'Boot')['BootSourceOverrideMode']).toBe(mode);
      await expect(boot()).resolves.toEqual(['Continuous', 'Cd']);
      await spec().reset('On');
      await expect(spec().startedFrom()).resolves.toBe('cdrom');
      await spec().reset('ForceOff');
    }
  });

  it('rejects a target without a device and reports all errors of a body at once', async () => {
    const before = await spec().get(path());
    const usb = await patch({ BootSourceOverrideTarget: 'Usb', BootSourceOverrideEnabled: 'Once' });
    expect([usb.status, spec().messageIds(usb)]).toEqual([400, ['PropertyValueNotInList']]);
    expect(JSON.stringify(usb.body)).toContain('Pxe, Cd, Hdd, UefiHttp, UefiTarget, UefiBootNext, None');
    const many = await spec().call('PATCH', path(), {
      Boot: { BootSourceOverrideEnabled: 'Twice', BootSourceOverrideMode: 'CSM' },
      IndicatorLED: 1,
      Name: 'other',
      Foo: 1,
    });
    expect(many.status).toBe(400);
    expect(spec().messageIds(many).toSorted()).toEqual([
      'PropertyNotWritable',
      'PropertyUnknown',
      'PropertyValueNotInList',
      'PropertyValueNotInList',
      'PropertyValueTypeError',
    ]);
    // One value is invalid, so the PATCH changes nothing.
    await spec().call('PATCH', path(), { IndicatorLED: 'Off', Boot: { BootSourceOverrideTarget: 'Usb' } });
    await expect(spec().get(path())).resolves.toEqual(before);
  });

  it('rejects a change with a stale ETag with 412, and accepts one with the current ETag', async () => {
    const stale = (await spec().call('GET', path())).headers.get('etag') ?? '';
    await patch({ BootSourceOverrideTarget: 'Cd' });
    const body = { Boot: { BootSourceOverrideTarget: 'Hdd' } };
    expect((await spec().call('PATCH', path(), body, { 'If-Match': stale })).status).toBe(412);
    await expect(boot()).resolves.toEqual(['Continuous', 'Cd']);
    const current = (await spec().call('GET', path())).headers.get('etag') ?? '';
    expect((await spec().call('PATCH', path(), body, { 'If-Match': current })).status).toBe(200);
    await expect(boot()).resolves.toEqual(['Continuous', 'Hdd']);
  });
});

describeSpec(
  'boot override with EMULATOR_IGNORE_BOOT_DEVICE',
  (spec) => {
    it('returns the unchanged resource with a message for each property, and logs one warning', async () => {
      const path = `/redfish/v1/Systems/${spec().uuid}`;
      const before = await spec().get(path);
      const warnings = (): number =>
        spec()
          .logged()
          .filter((line) => line.includes('warn')).length;
      const answer = await spec().call('PATCH', path, {
        Boot: { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Once' },
      });
      expect(answer.status).toBe(200);
      expect(spec().messageIds(answer)).toEqual(['PropertyNotUpdated', 'PropertyNotUpdated']);
      expect({ ...answer.body, '@Message.ExtendedInfo': undefined }).toEqual(before);
      expect(warnings()).toBe(1);
      await spec().reset('On');
      await expect(spec().startedFrom()).resolves.toBe('hd');
      const indicator = await spec().call('PATCH', path, { IndicatorLED: 'Off' });
      expect([indicator.body?.['IndicatorLED'], spec().messageIds(indicator)]).toEqual(['Off', []]);
      expect(warnings()).toBe(1);
    });

    it('rejects a target without a device', async () => {
      const answer = await spec().call('PATCH', `/redfish/v1/Systems/${spec().uuid}`, {
        Boot: { BootSourceOverrideTarget: 'Usb' },
      });
      expect([answer.status, spec().messageIds(answer)]).toEqual([400, ['PropertyValueNotInList']]);
    });
  },
  { ignoreBootDevice: true },
);
