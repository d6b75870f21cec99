/**
 * Tests Secure Boot, BIOS attributes, the boot order and HTTP boot as Ironic and Ansible use them,
 * with immediate and pending changes.
 */
import { describe, expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { sampleMachines } from '../../src/drivers/fake/sample-machines.js';
import { describeSpec, serveDriver, type Body } from '../spec/spec-daemon.js';

describeSpec('Secure Boot', (spec) => {
  const path = (): string => `/redfish/v1/Systems/${spec().uuid}/SecureBoot`;
  const enable = (enabled: unknown) => spec().call('PATCH', path(), { SecureBootEnable: enabled });
  const state = async (): Promise<readonly unknown[]> => {
    const { SecureBootEnable, SecureBootCurrentBoot, SecureBootMode } = await spec().get(path());
    return [SecureBootEnable, SecureBootCurrentBoot, SecureBootMode];
  };
  const resetKeys = (type: string) =>
    spec().call('POST', `${path()}/Actions/SecureBoot.ResetKeys`, { ResetKeysType: type });

  it('shows a change at once, and applies it at the next start of the machine', async () => {
    expect(await spec().get(`/redfish/v1/Systems/${spec().uuid}`)).toMatchObject({
      SecureBoot: { '@odata.id': path() },
    });
    expect(await state()).toEqual([false, null, 'SetupMode']);
    expect((await enable(true)).status).toBe(200);
    expect(await state()).toEqual([true, null, 'UserMode']);
    await spec().reset('On');
    expect(await state()).toEqual([true, 'Enabled', 'UserMode']);
    await enable(false);
    // The running firmware still enforces Secure Boot.
    expect(await state()).toEqual([false, 'Enabled', 'SetupMode']);
    await spec().reset('ForceRestart');
    expect(await state()).toEqual([false, 'Disabled', 'SetupMode']);
    await spec().reset('ForceOff');
    expect(await state()).toEqual([false, null, 'SetupMode']);
  });

  it('gets the default keys or no keys by ResetKeys, which rejects DeletePK', async () => {
    expect((await resetKeys('ResetAllKeysToDefault')).status).toBe(204);
    expect(await state()).toEqual([true, null, 'UserMode']);
    expect((await resetKeys('DeleteAllKeys')).status).toBe(204);
    expect(await state()).toEqual([false, null, 'SetupMode']);
    await spec().reset('On');
    expect(await state()).toEqual([false, 'Disabled', 'SetupMode']);
    // The service takes the keys from a template, with all keys or none, so it cannot remove only one key.
    const refused = await resetKeys('DeletePK');
    expect([refused.status, spec().messageIds(refused)]).toEqual([400, ['ActionParameterValueNotInList']]);
    expect(JSON.stringify(refused.body)).toContain('ResetAllKeysToDefault, DeleteAllKeys');
  });

  it("rejects the text 'true' for SecureBootEnable, and does not exist on a machine with legacy BIOS", async () => {
    const word = await enable('true');
    expect([word.status, spec().messageIds(word)]).toEqual([400, ['PropertyValueTypeError']]);
    const system = `/redfish/v1/Systems/${spec().uuid}`;
    await spec().call('PATCH', system, { Boot: { BootSourceOverrideMode: 'Legacy' } });
    expect(await spec().get(system)).not.toHaveProperty('SecureBoot');
    expect((await spec().call('GET', path())).status).toBe(404);
    await spec().call('PATCH', system, { Boot: { BootSourceOverrideMode: 'UEFI' } });
    expect(await state()).toEqual([false, null, 'SetupMode']);
  });
});

describeSpec('BIOS attributes', (spec) => {
  const path = (): string => `/redfish/v1/Systems/${spec().uuid}/Bios`;
  const setPending = (attributes: Body) => spec().call('PATCH', `${path()}/Settings`, { Attributes: attributes });
  const currentAttributes = async () => spec().objectAt(await spec().get(path()), 'Attributes');
  const pendingAttributes = async () => {
    const settings = await spec().get(`${path()}/Settings`);
    // The annotation is not in Attributes, because clients would read it as an attribute.
    expect(settings['@Redfish.WriteableProperties']).toEqual(['Attributes']);
    return spec().objectAt(settings, 'Attributes');
  };
  const first = {
    BootMode: 'Uefi',
    SecureBootStatus: 'Disabled',
    NumCores: 2,
    MemorySizeMiB: 2048,
    NicBoot1: 'Disabled',
    SerialNumber: null,
    ProcTurboMode: 'Enabled',
    EmbeddedSata: 'Raid',
    L2Cache: 'Unspecified',
    QuietBoot: true,
    SysPassword: null,
  };

  it('have the values of the machine; the registry describes all of them, and no others except MachineType', async () => {
    expect(await currentAttributes()).toEqual(first);
    expect(await pendingAttributes()).toEqual(first);
    expect(await spec().get(`/redfish/v1/Systems/${spec().uuid}/BIOS`)).toEqual(await spec().get(path()));
    const bios = await spec().get(path());
    expect(bios['@Redfish.Settings']).toEqual({
      '@odata.type': '#Settings.v1_4_0.Settings',
      SettingsObject: { '@odata.id': `${path()}/Settings` },
      'SupportedApplyTimes@Redfish.AllowableValues': ['OnReset'],
    });
    const registries = await spec().members('/redfish/v1/Registries');
    const own = registries.find(({ Registry }) => Registry === bios['AttributeRegistry']);
    const [location] = (own?.['Location'] ?? []) as readonly { Uri: string }[]; // every registry file has a Location
    const registry = await spec().get(location?.Uri ?? '');
    const { Attributes } = spec().objectAt(registry, 'RegistryEntries') as { Attributes?: readonly Body[] };
    // The registry describes the machines of all hypervisors. Only servers of OpenStack have
    // MachineType.
    const described = Attributes?.map(({ AttributeName }) => AttributeName);
    expect(described?.filter((name) => name !== 'MachineType')).toEqual(Object.keys(first));
  });

  it('are pending in Settings until the machine starts, and then apply', async () => {
    const change = {
      ...{ NumCores: 1, MemorySizeMiB: 1024, SecureBootStatus: 'Enabled', NicBoot1: 'NetworkBoot' },
      ...{ QuietBoot: false, ProcTurboMode: 'Disabled' },
    };
    expect((await setPending({ NumCores: 2 })).status).toBe(200);
    expect((await setPending(change)).status).toBe(200);
    expect(await currentAttributes()).toEqual(first);
    expect(await pendingAttributes()).toEqual({ ...first, ...change });
    await spec().reset('On');
    expect(await currentAttributes()).toEqual({ ...first, ...change });
    const system = await spec().get(`/redfish/v1/Systems/${spec().uuid}`);
    expect(system).toMatchObject({
      ProcessorSummary: { Count: 1 },
      MemorySummary: { TotalSystemMemoryGiB: 1 },
      Boot: { BootOrder: ['Hdd.vda', expect.stringMatching(/^Pxe\./)] },
    });
    expect(await spec().get(`/redfish/v1/Systems/${spec().uuid}/SecureBoot`)).toMatchObject({
      SecureBootEnable: true,
      SecureBootCurrentBoot: 'Enabled',
    });
  });

  it('change a running machine at its restart, and ResetBios reverts them at the next one', async () => {
    await spec().reset('On');
    await setPending({ NumCores: 1, L2Cache: '16 MB' });
    expect((await currentAttributes())['NumCores']).toBe(2);
    await spec().reset('ForceRestart');
    expect(await currentAttributes()).toEqual({ ...first, NumCores: 1, L2Cache: '16 MB' });
    expect((await spec().call('POST', `${path()}/Actions/Bios.ResetBios`)).status).toBe(204);
    expect((await currentAttributes())['NumCores']).toBe(1);
    expect(await pendingAttributes()).toEqual(first);
    await spec().reset('ForceRestart');
    expect(await currentAttributes()).toEqual(first);
  });

  it('are rejected if unknown, read-only, of the wrong type or out of range, and the error names each', async () => {
    const answer = await setPending({
      Foo: 1,
      SerialNumber: 'X',
      NumCores: '1',
      QuietBoot: 'true',
      BootMode: 'Efi',
      MemorySizeMiB: 4096,
    });
    expect(answer.status).toBe(400);
    const { '@Message.ExtendedInfo': faults } = spec().objectAt(answer.body ?? {}, 'error') as {
      '@Message.ExtendedInfo'?: readonly Body[];
    };
    const found = faults?.map(({ MessageId, RelatedProperties }) => [
      String(MessageId).replace(/^Base\.[\d.]+/, ''),
      ...(RelatedProperties as readonly string[]), // every fault of a setting has RelatedProperties
    ]);
    expect(found?.toSorted()).toEqual([
      ['PropertyNotWritable', '#/Attributes/SerialNumber'],
      ['PropertyUnknown', '#/Attributes/Foo'],
      ['PropertyValueNotInList', '#/Attributes/BootMode'],
      ['PropertyValueOutOfRange', '#/Attributes/MemorySizeMiB'],
      ['PropertyValueTypeError', '#/Attributes/NumCores'],
      ['PropertyValueTypeError', '#/Attributes/QuietBoot'],
    ]);
    expect(await pendingAttributes()).toEqual(first);
  });

  it('accept a password without showing it, and accept only the apply time OnReset', async () => {
    expect((await setPending({ SysPassword: 'secret' })).status).toBe(200);
    expect(JSON.stringify(await spec().get(`${path()}/Settings`))).not.toContain('secret');
    const patchWithApplyTime = (time: string) =>
      spec().call('PATCH', `${path()}/Settings`, {
        Attributes: { NumCores: 1 },
        '@Redfish.SettingsApplyTime': { '@odata.type': '#Settings.v1_0_0.PreferredApplyTime', ApplyTime: time },
      });
    expect((await patchWithApplyTime('Immediate')).status).toBe(400);
    expect((await patchWithApplyTime('OnReset')).status).toBe(200);
    expect((await pendingAttributes())['NumCores']).toBe(1);
  });

  it('drop a pending BootMode if BootSourceOverrideMode is set, and reject Secure Boot with pending Bios', async () => {
    await setPending({ BootMode: 'Bios' });
    expect((await pendingAttributes())['BootMode']).toBe('Bios');
    await spec().call('PATCH', `/redfish/v1/Systems/${spec().uuid}`, { Boot: { BootSourceOverrideMode: 'UEFI' } });
    expect((await pendingAttributes())['BootMode']).toBe('Uefi');
    // Secure Boot requires UEFI, so it conflicts with the pending boot mode.
    await setPending({ BootMode: 'Bios' });
    const refused = await setPending({ SecureBootStatus: 'Enabled' });
    expect([refused.status, spec().messageIds(refused)]).toEqual([409, ['PropertyValueExternalConflict']]);
    await spec().reset('On');
    expect((await currentAttributes())['BootMode']).toBe('Bios');
  });
});

describeSpec('boot options', (spec) => {
  const path = (): string => `/redfish/v1/Systems/${spec().uuid}`;
  const patch = (boot: Body) => spec().call('PATCH', path(), { Boot: boot });
  const boot = async () => spec().objectAt(await spec().get(path()), 'Boot');
  const nic = (): string => `Pxe.${spec().mac.replaceAll(':', '')}`;

  it('are the devices of the machine with alias and UEFI path', async () => {
    const options = await spec().members(`${path()}/BootOptions`);
    expect(
      options.map(({ BootOptionReference, Alias, BootOptionEnabled }) => [
        BootOptionReference,
        Alias,
        BootOptionEnabled,
      ]),
    ).toEqual([
      ['Hdd.vda', 'Hdd', true],
      ['Cd.sda', 'Cd', false],
      [nic(), 'Pxe', false],
    ]);
    for (const option of options) expect(option['UefiDevicePath']).toMatch(/^PciRoot\(0x0\)(\/\w+\([^()]*\))+$/);
    expect(options[2]?.['RelatedItem']).toEqual([{ '@odata.id': `${path()}/EthernetInterfaces/${spec().mac}` }]);
  });

  it('keep the order that a client sets, despite overrides in between', async () => {
    expect((await boot())['BootOrder']).toEqual(['Hdd.vda']);
    expect((await patch({ BootOrder: [nic(), 'Hdd.vda'] })).status).toBe(200);
    await patch({ BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Once' });
    await spec().reset('On');
    await expect(spec().startedFrom()).resolves.toBe('cdrom');
    expect((await boot())['BootOrder']).toEqual([nic(), 'Hdd.vda']);
    await spec().reset('ForceOff');
    await patch({ BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Continuous' });
    expect((await patch({ BootOrder: ['Hdd.vda', nic()] })).status).toBe(200);
    expect(await boot()).toMatchObject({ BootOrder: ['Hdd.vda', nic()], BootSourceOverrideTarget: 'Cd' });
    const disabled = await spec().call('PATCH', `${path()}/BootOptions/${nic()}`, { BootOptionEnabled: false });
    expect(disabled.body).toMatchObject({ BootOptionEnabled: false });
    expect((await boot())['BootOrder']).toEqual(['Hdd.vda']);
    const last = await spec().call('PATCH', `${path()}/BootOptions/Hdd.vda`, { BootOptionEnabled: false });
    expect([last.status, spec().messageIds(last)]).toEqual([400, ['PropertyValueIncorrect']]);
  });

  it('boot once as BootNext, and continuously by their UEFI path', async () => {
    expect((await patch({ BootSourceOverrideTarget: 'UefiBootNext', BootNext: 'Cd.sda' })).status).toBe(200);
    expect(await boot()).toMatchObject({
      BootSourceOverrideTarget: 'UefiBootNext',
      BootSourceOverrideEnabled: 'Once',
      BootNext: 'Cd.sda',
    });
    await spec().reset('On');
    expect(String(await spec().startedFrom())).toMatch(/^(cdrom|disk:sda)$/);
    expect(await boot()).toMatchObject({ BootSourceOverrideEnabled: 'Disabled', BootNext: null });
    await spec().reset('ForceOff');
    const [, cd] = await spec().members(`${path()}/BootOptions`);
    const target = { BootSourceOverrideTarget: 'UefiTarget', UefiTargetBootSourceOverride: cd?.['UefiDevicePath'] };
    expect((await patch({ ...target, BootSourceOverrideEnabled: 'Continuous' })).status).toBe(200);
    expect(await boot()).toMatchObject(target);
    for (let time = 0; time < 2; time += 1) {
      await spec().reset('On');
      expect(String(await spec().startedFrom())).toMatch(/^(cdrom|disk:sda)$/);
      await spec().reset('ForceOff');
    }
    await patch({ BootSourceOverrideEnabled: 'Disabled' });
    expect((await boot())['BootOrder']).toEqual(['Hdd.vda']);
  });
});

describeSpec('an HTTP boot', (spec) => {
  const path = (): string => `/redfish/v1/Systems/${spec().uuid}`;
  const patch = (boot: Body) => spec().call('PATCH', path(), { Boot: boot });
  const drive = async () => {
    const { Inserted, Image } = await spec().get(`/redfish/v1/Managers/${spec().uuid}/VirtualMedia/Cd`);
    return [Inserted, Image];
  };
  const boot = async () => {
    const { BootSourceOverrideTarget, HttpBootUri } = spec().objectAt(await spec().get(path()), 'Boot');
    return [BootSourceOverrideTarget, HttpBootUri];
  };

  it('boots the image at its URI and ejects it when the target changes', async () => {
    const uri = spec().imageUrl;
    const once = { BootSourceOverrideTarget: 'UefiHttp', BootSourceOverrideEnabled: 'Once' };
    expect((await patch({ ...once, HttpBootUri: uri })).status).toBe(200);
    expect(await boot()).toEqual(['UefiHttp', uri]);
    expect(await drive()).toEqual([true, uri]);
    await spec().reset('On');
    await expect(spec().startedFrom()).resolves.toBe('cdrom');
    // The running machine still reads the image that it booted.
    expect(await boot()).toEqual(['None', uri]);
    expect(await drive()).toEqual([true, uri]);
    await spec().reset('ForceOff');
    expect((await patch({ ...once, HttpBootUri: spec().image('other.iso') })).status).toBe(200);
    expect(await drive()).toEqual([true, spec().image('other.iso')]);
    expect((await patch({ BootSourceOverrideTarget: 'Hdd' })).status).toBe(200);
    expect(await boot()).toEqual(['Hdd', null]);
    expect(await drive()).toEqual([false, null]);
  });

  it('changes nothing if its image is unavailable, and boots from the network if it has no URI', async () => {
    const gone = await patch({ BootSourceOverrideTarget: 'UefiHttp', HttpBootUri: spec().image('gone.iso') });
    expect(gone.status).toBe(400);
    const [message] = spec().objectAt(gone.body ?? {}, 'error')['@Message.ExtendedInfo'] as readonly Body[];
    expect([message?.['MessageArgs'], message?.['RelatedProperties']]).toEqual([
      [spec().image('gone.iso')],
      ['#/Boot/HttpBootUri'],
    ]);
    expect(await boot()).toEqual(['Hdd', null]);
    expect(await drive()).toEqual([false, null]);
    await patch({ BootSourceOverrideTarget: 'UefiHttp', BootSourceOverrideEnabled: 'Continuous' });
    await spec().reset('On');
    await expect(spec().startedFrom()).resolves.toBe('network');
  });
});

describe('a machine with legacy BIOS', () => {
  it('shows no UEFI targets, no HttpBootUri and no BootNext', async () => {
    const machine = sampleMachines(3)[2];
    if (machine === undefined) throw new Error('three machines expected');
    const { get, stop } = await serveDriver(new FakeDriver({ machines: [machine] }));
    const { Boot } = (await get(`/redfish/v1/Systems/${machine.uuid}`)) as { Boot: Body };
    expect(Boot['BootSourceOverrideTarget@Redfish.AllowableValues']).toEqual(['Pxe', 'Cd', 'Hdd']);
    expect(Boot).not.toHaveProperty('HttpBootUri');
    expect(Boot).not.toHaveProperty('BootNext');
    expect(Boot['BootOrder']).toEqual(['Hdd.hda', 'Cd.hdc']);
    await stop();
  });
});
