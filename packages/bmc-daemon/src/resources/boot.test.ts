import { describe, expect, it } from '@jest/globals';
import type { BootSnapshot } from '../drivers/driver.js';
import { sampleMachines } from '../drivers/fake/sample-machines.js';
import { bodyFaults } from '../redfish/body-faults.js';
import { messageText } from '../redfish/messages.js';
import { bootBody, bootChange, ignoredProperties, renderBoot } from './boot.js';

const [machine] = sampleMachines(1);
if (machine === undefined) throw new Error('a machine expected');
const withBoot = (change: Partial<BootSnapshot>) => ({ ...machine, boot: { ...machine.boot, ...change } });

describe('Boot', () => {
  it('shows the override and what may be asked for (B6)', () => {
    expect(renderBoot(machine.boot)).toEqual({
      BootSourceOverrideEnabled: 'Continuous',
      'BootSourceOverrideEnabled@Redfish.AllowableValues': ['Once', 'Continuous', 'Disabled'],
      BootSourceOverrideMode: 'UEFI',
      'BootSourceOverrideMode@Redfish.AllowableValues': ['UEFI', 'Legacy'],
      BootSourceOverrideTarget: 'Hdd',
      'BootSourceOverrideTarget@Redfish.AllowableValues': ['Pxe', 'Cd', 'Hdd'],
      UefiTargetBootSourceOverride: 'PciRoot(0x0)/Pci(0x2,0x2)/Pci(0x0,0x0)',
    });
  });

  it('offers further targets only where the machine has them, after the three (B6)', () => {
    const { boot } = withBoot({
      available: ['network', 'cdrom', 'hd', 'fd', 'usb'],
      enabled: 'disabled',
      target: 'none',
      firmware: 'bios',
    });
    expect(renderBoot(boot)).toMatchObject({
      BootSourceOverrideEnabled: 'Disabled',
      BootSourceOverrideMode: 'Legacy',
      BootSourceOverrideTarget: 'None',
      'BootSourceOverrideTarget@Redfish.AllowableValues': ['Pxe', 'Cd', 'Hdd', 'Floppy', 'Usb'],
    });
  });

  it('passes on what was asked for and nothing else (B6)', () => {
    const change = (body: object) => bootChange(bootBody(machine.boot).parse(body));
    expect(change({ BootSourceOverrideTarget: 'Cd' })).toEqual({ target: 'cdrom' });
    expect(change({ BootSourceOverrideEnabled: 'Disabled', BootSourceOverrideTarget: 'None' })).toEqual({
      enabled: 'disabled',
      target: 'none',
    });
    expect(change({ BootSourceOverrideMode: 'Legacy' })).toEqual({ firmware: 'bios' });
    expect(change({})).toEqual({});
  });

  it.each(['Usb', 'BiosSetup', 'cd', 'toString'])(
    'refuses the target %s and names the accepted ones, beside every other fault (B6, B13)',
    (target) => {
      const body = { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: 'Twice' };
      const faults = bodyFaults(bootBody(machine.boot).safeParse(body).error?.issues ?? [], body, {
        kind: 'resource',
        shown: () => undefined,
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
      expect(faults.map(messageText).join()).toContain('Pxe, Cd, Hdd, None');
    },
  );

  it('leaves target and enabled undone where the boot device is ignored, and not the mode (B7)', () => {
    const body = bootBody(machine.boot).parse({ BootSourceOverrideTarget: 'Cd', BootSourceOverrideMode: 'UEFI' });
    expect(ignoredProperties(body)).toEqual(['BootSourceOverrideTarget']);
    expect(ignoredProperties({ BootSourceOverrideMode: 'UEFI' })).toEqual([]);
  });

  it('has no other writable properties (B6)', () => {
    expect(bootBody(machine.boot).safeParse({ UefiTargetBootSourceOverride: 'x' }).success).toBe(false);
    expect(bootBody(machine.boot).safeParse({ BootSourceOverrideEnabled: 'Twice' }).success).toBe(false);
  });
});
