import { describe, expect, it } from '@jest/globals';
import type { BootSnapshot } from '../../drivers/snapshot/boot-snapshot.js';
import { sampleMachines } from '../../drivers/fake/sample-machines.js';
import { bodyFaults } from '../../redfish/body/body-faults.js';
import type { JsonObject } from '../../redfish/json.js';
import { messageText } from '../../redfish/messages/messages.js';
import { bootBody, bootChange, ignoredProperties, renderBoot } from './boot.js';

const [machine] = sampleMachines(1);
if (machine === undefined) throw new Error('a machine expected');
const withBoot = (change: Partial<BootSnapshot>) => ({ ...machine, boot: { ...machine.boot, ...change } });

describe('Boot', () => {
  it('shows the override and its allowable values', () => {
    expect(renderBoot(machine, '/redfish/v1/Systems/1')).toEqual({
      BootSourceOverrideEnabled: 'Continuous',
      'BootSourceOverrideEnabled@Redfish.AllowableValues': ['Once', 'Continuous', 'Disabled'],
      BootSourceOverrideMode: 'UEFI',
      'BootSourceOverrideMode@Redfish.AllowableValues': ['UEFI', 'Legacy'],
      BootSourceOverrideTarget: 'Hdd',
      'BootSourceOverrideTarget@Redfish.AllowableValues': [
        'Pxe',
        'Cd',
        'Hdd',
        'UefiHttp',
        'UefiTarget',
        'UefiBootNext',
      ],
      UefiTargetBootSourceOverride: 'PciRoot(0x0)/Pci(0x2,0x2)/Pci(0x0,0x0)',
      HttpBootUri: null,
      BootNext: null,
      BootOptions: { '@odata.id': '/redfish/v1/Systems/1/BootOptions' },
      BootOrder: ['Hdd.vda'],
    });
  });

  it('lists further targets after Pxe, Cd and Hdd, if the machine has the devices', () => {
    const bios = withBoot({
      available: ['network', 'cdrom', 'hd', 'fd', 'usb'],
      enabled: 'disabled',
      target: 'none',
      firmware: 'bios',
    });
    expect(renderBoot(bios, '/redfish/v1/Systems/1')).toMatchObject({
      BootSourceOverrideEnabled: 'Disabled',
      BootSourceOverrideMode: 'Legacy',
      BootSourceOverrideTarget: 'None',
      'BootSourceOverrideTarget@Redfish.AllowableValues': ['Pxe', 'Cd', 'Hdd', 'Floppy', 'Usb'],
    });
  });

  it('lists Legacy mode only for architectures with a legacy BIOS', () => {
    const arm = { ...machine, architecture: 'aarch64' };
    expect(renderBoot(arm, '/1')['BootSourceOverrideMode@Redfish.AllowableValues']).toEqual(['UEFI']);
    expect(bootBody(arm).safeParse({ BootSourceOverrideMode: 'Legacy' }).success).toBe(false);
  });

  it('is changed only in the properties that a PATCH contains', () => {
    const change = (body: object) => bootChange(bootBody(machine).parse(body), machine.boot);
    expect(change({ BootSourceOverrideTarget: 'Cd' })).toEqual({ target: 'cdrom' });
    expect(change({ BootSourceOverrideEnabled: 'Disabled', BootSourceOverrideTarget: 'None' })).toEqual({
      enabled: 'disabled',
      target: 'none',
    });
    expect(change({ BootSourceOverrideMode: 'Legacy' })).toEqual({ firmware: 'bios' });
    expect(change({})).toEqual({});
  });

  it.each(['Usb', 'BiosSetup', 'cd', 'toString'])(
    'rejects the target %s, lists the valid targets, and reports other errors too',
    (target) => {
      const body = { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: 'Twice' };
      const faults = bodyFaults(bootBody(machine).safeParse(body).error?.issues ?? [], body, {
        kind: 'resource',
        rendered: () => undefined,
      });
      expect(faults.map(({ key, args, related }) => ({ key, args, related }))).toEqual([
        {
          key: 'PropertyValueNotInList',
          args: [target, 'BootSourceOverrideTarget'],
          related: ['#/BootSourceOverrideTarget'],
        },
        {
          key: 'PropertyValueNotInList',
          args: ['Twice', 'BootSourceOverrideEnabled'],
          related: ['#/BootSourceOverrideEnabled'],
        },
      ]);
      expect(faults.map(messageText).join()).toContain('Pxe, Cd, Hdd, UefiHttp, UefiTarget, UefiBootNext, None');
    },
  );

  it('ignores target, HTTP URI and boot order with EMULATOR_IGNORE_BOOT_DEVICE, but not the boot mode', () => {
    const body = bootBody(machine).parse({ BootSourceOverrideTarget: 'Cd', BootSourceOverrideMode: 'UEFI' });
    expect(ignoredProperties(body)).toEqual(['BootSourceOverrideTarget']);
    expect(ignoredProperties({ BootSourceOverrideMode: 'UEFI' })).toEqual([]);
    const further = bootBody(machine).parse({ BootOrder: ['Hdd.vda'], HttpBootUri: null });
    expect(ignoredProperties(further)).toEqual(['HttpBootUri', 'BootOrder']);
  });

  it('accepts UEFI paths and boot options of the machine, and rejects others and contradictory properties', () => {
    const path = 'PciRoot(0x0)/Pci(0x1F,0x2)/Sata(0x0,0xFFFF,0x0)';
    const change = (body: object) => bootChange(bootBody(machine).parse(body), machine.boot);
    expect(change({ BootSourceOverrideTarget: 'UefiTarget', UefiTargetBootSourceOverride: path })).toEqual({
      target: 'path',
      option: 'disk:sda',
    });
    // If the change has no path, the path that the resource shows applies.
    expect(change({ BootSourceOverrideTarget: 'UefiTarget' })).toEqual({ target: 'path', option: 'disk:vda' });
    // UEFI's BootNext applies to one boot only, so the override is enabled once.
    expect(change({ BootSourceOverrideTarget: 'UefiBootNext', BootNext: 'cd.SDA' })).toEqual({
      target: 'next',
      enabled: 'once',
      option: 'disk:sda',
    });
    const refused = (body: object) =>
      bodyFaults(bootBody(machine).safeParse(body).error?.issues ?? [], body as JsonObject, {
        kind: 'resource',
        rendered: () => undefined,
      }).map(({ key, args }) => [key, ...args]);
    expect(refused({ BootSourceOverrideTarget: 'UefiBootNext', BootNext: 'Boot0001' })).toEqual([
      ['PropertyValueNotInList', 'Boot0001', 'BootNext'],
    ]);
    expect(refused({ BootSourceOverrideTarget: 'UefiBootNext' })).toEqual([['PropertyMissing', 'BootNext']]);
    expect(refused({ BootNext: 'Cd.sda' })).toEqual([
      ['PropertyValueConflict', 'BootNext', 'BootSourceOverrideTarget'],
    ]);
    expect(
      refused({
        BootSourceOverrideTarget: 'UefiBootNext',
        BootNext: 'Cd.sda',
        BootSourceOverrideEnabled: 'Continuous',
      }),
    ).toEqual([['PropertyValueConflict', 'BootSourceOverrideEnabled', 'BootSourceOverrideTarget']]);
    expect(refused({ UefiTargetBootSourceOverride: path })).toEqual([
      ['PropertyValueConflict', 'UefiTargetBootSourceOverride', 'BootSourceOverrideTarget'],
    ]);
    expect(refused({ BootSourceOverrideTarget: 'UefiTarget', BootSourceOverrideMode: 'Legacy' })).toEqual([
      ['PropertyValueConflict', 'BootSourceOverrideTarget', 'BootSourceOverrideMode'],
    ]);
    expect(refused({ HttpBootUri: 'http://images.test/x.iso', BootSourceOverrideMode: 'Legacy' })).toEqual([
      ['PropertyValueConflict', 'HttpBootUri', 'BootSourceOverrideMode'],
    ]);
    expect(refused({ BootOrder: ['Hdd.vda', 'Hdd.vda'] })).toEqual([['PropertyValueError', 'BootOrder']]);
    expect(refused({ BootOrder: ['Hdd.vdb'] })).toEqual([['PropertyValueNotInList', 'Hdd.vdb', 'BootOrder/0']]);
    expect(refused({ BootOrder: [] })).toEqual([['ArraySizeTooShort', 'BootOrder', 1]]);
  });

  it('stores the URI of an HTTP boot without its user and password', () => {
    const body = { BootSourceOverrideTarget: 'UefiHttp', HttpBootUri: 'https://u:secret@images.test/x.iso?token=t' };
    expect(bootChange(bootBody(machine).parse(body), machine.boot)).toEqual({
      target: 'http',
      httpUri: 'https://images.test/x.iso?token=t',
    });
    for (const none of ['', null]) {
      expect(bootChange(bootBody(machine).parse({ HttpBootUri: none }), machine.boot)).toEqual({ httpUri: null });
    }
    expect(bootBody(machine).safeParse({ HttpBootUri: 'ftp://images.test/x.iso' }).success).toBe(false);
  });

  it('rejects unknown properties and unknown values', () => {
    expect(bootBody(machine).safeParse({ UefiTargetBootSourceOverride: 'x' }).success).toBe(false);
    expect(bootBody(machine).safeParse({ TrustedModuleRequiredToBoot: 'Required' }).success).toBe(false);
    expect(bootBody(machine).safeParse({ BootSourceOverrideEnabled: 'Twice' }).success).toBe(false);
  });
});
