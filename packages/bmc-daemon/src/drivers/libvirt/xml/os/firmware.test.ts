import { describe, expect, it } from '@jest/globals';
import { q35Xml, unusualXml } from '../../../../../test/fixtures/domain-xml.js';
import { DriverError } from '../../../driver-error.js';
import { withFirmware } from '../../../../../test/support/xml-edits.js';

const none = { loaderPath: null, nvramTemplate: null };
const mapped = { loaderPath: '/fw/CODE & more.fd', nvramTemplate: null };

const type = `<type arch='x86_64' machine='pc-q35-7.2'>hvm</type>`;
const selected = `
    <firmware>
      <feature enabled='no' name='secure-boot'/>
    </firmware>
    <loader stateless='no'/>`;

describe('setFirmware', () => {
  it('lets libvirt select UEFI firmware without Secure Boot; a change back to BIOS restores every byte', () => {
    const efi = withFirmware(q35Xml, 'efi', none);
    expect(efi).toBe(q35Xml.replace('<os>', `<os firmware='efi'>`).replace(type, type + selected));
    expect(withFirmware(efi, 'bios', none)).toBe(q35Xml);
    expect(withFirmware(withFirmware(unusualXml, 'efi', none), 'bios', none)).toBe(unusualXml);
  });

  it('maps a file as flash memory, with the template of the variables if it is given', () => {
    const loader = `\n    <loader readonly='yes' type='pflash'>/fw/CODE &amp; more.fd</loader>`;
    const efi = withFirmware(q35Xml, 'efi', mapped);
    expect(efi).toBe(q35Xml.replace(type, type + loader));
    expect(withFirmware(efi, 'bios', none)).toBe(q35Xml);
    expect(withFirmware(q35Xml, 'efi', { ...mapped, nvramTemplate: `/fw/it's.fd` })).toBe(
      q35Xml.replace(type, `${type}${loader}\n    <nvram template='/fw/it&apos;s.fd'/>`),
    );
  });

  it('loads a BIOS file as ROM', () => {
    const bios = withFirmware(q35Xml, 'bios', { loaderPath: '/fw/seabios.bin', nvramTemplate: null });
    expect(bios).toBe(q35Xml.replace(type, `${type}\n    <loader type='rom'>/fw/seabios.bin</loader>`));
  });

  it('replaces firmware, features and variable store of another choice', () => {
    const other = q35Xml
      .replace('<os>', `<os firmware="efi">`)
      .replace(
        type,
        `${type}\n    <firmware>\n      <feature enabled='yes' name='secure-boot'/>\n    </firmware>\n    <loader secure='yes'/>\n    <nvram>/nvram/x.fd</nvram>`,
      );
    expect(withFirmware(other, 'bios', none)).toBe(q35Xml);
    expect(withFirmware(other, 'efi', mapped)).toBe(withFirmware(q35Xml, 'efi', mapped));
  });

  it('keeps the firmware of the user if it has the requested type', () => {
    const selectedByLibvirt = q35Xml.replace('<os>', `<os firmware='efi'>`);
    const own = withFirmware(q35Xml, 'efi', mapped).replace('</loader>', '</loader><nvram>/nvram/x.fd</nvram>');
    expect(withFirmware(selectedByLibvirt, 'efi', none)).toBe(selectedByLibvirt);
    expect(withFirmware(own, 'efi', none)).toBe(own);
    expect(withFirmware(own, 'efi', mapped)).toBe(own);
    expect(withFirmware(q35Xml, 'bios', none)).toBe(q35Xml);
  });

  it('rejects BIOS on an architecture without BIOS, unless a file is mapped', () => {
    const arm = `<domain><name>arm</name><os firmware='efi'><type arch='aarch64' machine='virt'>hvm</type></os></domain>`;
    expect(() => withFirmware(arm, 'bios', none)).toThrow(
      new DriverError('unsupported', 'setting the firmware of arm: aarch64 machines have no legacy firmware'),
    );
    expect(withFirmware(arm, 'bios', { loaderPath: '/u-boot.bin', nvramTemplate: null })).toBe(
      `<domain><name>arm</name><os><type arch='aarch64' machine='virt'>hvm</type><loader type='rom'>/u-boot.bin</loader></os></domain>`,
    );
  });

  it('rejects a definition without an operating system type', () => {
    expect(() => withFirmware('<domain><name>n</name></domain>', 'efi', none)).toThrow(
      'its definition has no <os><type>',
    );
  });
});
