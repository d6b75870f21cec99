import { describe, expect, it } from '@jest/globals';
import {
  withBootChange,
  withMetadata,
  withOwnOrder,
  withOwnOrderUnderOverride,
  withSecureBootAndRecord,
} from '../../../../test/support/xml-edits.js';
import { deviceKeys, effectiveBootOrder } from '../xml/os/boot-order.js';
import { readDomain } from '../xml/domain.js';
import type { FirmwareChoice } from '../xml/os/firmware.js';
import { emptyRecord } from '../xml/metadata/machine-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import { noSettings } from '../xml/metadata/settings-record.js';

const uefi = `<domain type='qemu'>
  <name>n</name>
  <os firmware='efi'>
    <type arch='x86_64' machine='pc-q35-7.2'>hvm</type>
    <firmware>
      <feature enabled='no' name='secure-boot'/>
    </firmware>
  </os>
  <devices>
    <disk type='file' device='disk'><target dev='vda' bus='virtio'/><boot order='1'/></disk>
    <disk type='file' device='cdrom'><target dev='sda' bus='sata'/></disk>
  </devices>
</domain>`;

const selected: FirmwareChoice = { loaderPath: null, nvramTemplate: null };
const mode = (xml: string, type: 'bios' | 'efi'): string =>
  withBootChange(xml, { firmware: { type, choice: selected } });
const secure = (xml: string, enabled: boolean): string => withSecureBootAndRecord(xml, enabled ? 'on' : 'off', null);
const mustBeRecreated = (xml: string): boolean => readMetadata(xml).resetNvram;

describe('the variables of UEFI', () => {
  it('are recreated if their keys change, but not if the change is reverted before a start', () => {
    const on = secure(uefi, true);
    expect(mustBeRecreated(on)).toBe(true);
    expect(mustBeRecreated(secure(on, false))).toBe(false);
    expect(readMetadata(secure(on, false)).settings).toBeNull();
    expect(mustBeRecreated(secure(secure(on, false), true))).toBe(true);
  });

  it('survive a change to BIOS; a return to UEFI before a start recreates them only if Secure Boot changed', () => {
    const bios = mode(uefi, 'bios');
    expect(mustBeRecreated(bios)).toBe(false);
    expect(mustBeRecreated(mode(bios, 'efi'))).toBe(false);
    expect(mode(mode(bios, 'bios'), 'efi')).toBe(mode(bios, 'efi'));
    // These variables contain the keys of Secure Boot, but the new UEFI mode has no Secure Boot.
    const secured = withMetadata(secure(uefi, true), emptyRecord);
    expect(mustBeRecreated(mode(mode(secured, 'bios'), 'efi'))).toBe(true);
    expect(mustBeRecreated(secure(mode(mode(secured, 'bios'), 'efi'), true))).toBe(false);
  });

  it('are recreated after a change from BIOS to UEFI if no record names their template', () => {
    const unrecorded = withMetadata(mode(uefi, 'bios'), emptyRecord);
    expect(mustBeRecreated(mode(unrecorded, 'efi'))).toBe(true);
    expect(mustBeRecreated(secure(mode(unrecorded, 'efi'), true))).toBe(true);
  });
});

describe('a change of the boot mode', () => {
  it('replaces a pending change of the boot mode, and keeps the other pending changes', () => {
    const pending = { firmware: 'bios', cpuCount: 1 } as const;
    const waiting = withMetadata(uefi, { ...emptyRecord, settings: { ...noSettings, pending } });
    expect(readMetadata(mode(waiting, 'efi')).settings?.pending).toEqual({ cpuCount: 1 });
  });
});

describe("a change of the machine's own boot order during an override", () => {
  it('applies after the override; without an override, an order with an unknown device is rejected', () => {
    const order = (xml: string) => deviceKeys(effectiveBootOrder(readDomain(xml)));
    const setOverride = (enabled: 'continuous' | 'disabled', xml: string): string =>
      withBootChange(xml, { enabled, target: 'cdrom', firmware: null });
    const overridden = setOverride('continuous', uefi);
    expect(order(overridden)).toEqual(['disk:sda', 'disk:vda']);
    const changed = withOwnOrderUnderOverride(overridden, ['disk:vda', 'disk:sda']);
    expect(order(changed)).toEqual(['disk:sda', 'disk:vda']);
    expect(order(setOverride('disabled', changed))).toEqual(['disk:vda', 'disk:sda']);
    expect(withOwnOrderUnderOverride(uefi, ['disk:vda'])).toBe(uefi);
    expect(() => withOwnOrder(uefi, ['disk:vdz'])).toThrow('setting the boot order of n: it has no device disk:vdz');
  });
});
