import { describe, expect, it } from '@jest/globals';
import { q35Xml } from '../../../../../test/fixtures/domain-xml.js';
import { firmwareCatalog, catalogOfFileNames, readFirmwareImages, type FirmwareImage } from '../../firmware-catalog.js';
import { readDomain } from '../domain.js';
import { secureBootState } from './secure-boot.js';
import { withSecureBoot } from '../../../../../test/support/xml-edits.js';

/**
 * Returns the definition of a q35 machine.
 * @param os more elements of `<os>`.
 * @param attributes attributes of `<os>`.
 * @param features the element `<features>`.
 */
const machine = (os: string, attributes = '', features = '<features><acpi/></features>'): string =>
  `<domain type='qemu'>
  <name>n</name>
  <os${attributes}>
    <type arch='x86_64' machine='pc-q35-7.2'>hvm</type>${os}
    <boot dev='hd'/>
  </os>
  ${features}
  <devices/>
</domain>`;

const image = (executable: string, template: string, features: readonly string[]): FirmwareImage => ({
  executable,
  template,
  features,
  targets: [{ architecture: 'x86_64', machines: ['pc-q35-*'] }],
});
const images = [
  image('/fw/enrolled.fd', '/fw/enrolled-vars.fd', ['secure-boot', 'enrolled-keys', 'requires-smm']),
  image('/fw/secure.fd', '/fw/plain-vars.fd', ['secure-boot', 'requires-smm']),
  image('/fw/plain.fd', '/fw/plain-vars.fd', []),
];
const noTemplates = { enabled: null, disabled: null };
const host = firmwareCatalog(images, noTemplates);

const state = (xml: string, catalog = host) => secureBootState(readDomain(xml).os, catalog);
const efi = ` firmware='efi'`;

describe('secureBootState', () => {
  it('depends on the features if libvirt selects the firmware', () => {
    const on = { enabled: true, enrolled: true };
    const off = { enabled: false, enrolled: false };
    expect(state(machine(`<firmware><feature enabled='yes' name='secure-boot'/></firmware>`, efi))).toEqual(on);
    expect(state(machine(`<firmware><feature enabled='no' name='secure-boot'/></firmware>`, efi))).toEqual(off);
    const setup = `<firmware><feature enabled='no' name='enrolled-keys'/><feature enabled='yes' name='secure-boot'/></firmware>`;
    expect(state(machine(setup, efi))).toEqual(off);
    // Without features, the default of the host applies. It may be unknown.
    expect(state(machine('', efi))).toEqual(on);
    expect(state(machine('', efi), catalogOfFileNames)).toEqual({ enabled: null, enrolled: null });
  });

  it('depends on the NVRAM template and the image if the definition has a template', () => {
    const machineWithFiles = (loader: string, template: string): string =>
      machine(`<loader type='pflash'>${loader}</loader><nvram template='${template}'/>`);
    expect(state(machineWithFiles('/fw/enrolled.fd', '/fw/enrolled-vars.fd'))).toEqual({
      enabled: true,
      enrolled: true,
    });
    expect(state(machineWithFiles('/fw/secure.fd', '/fw/plain-vars.fd'))).toEqual({ enabled: false, enrolled: false });
    // The template has keys, but the image (without SMM) does not enforce Secure Boot.
    expect(state(machineWithFiles('/fw/plain.fd', '/fw/enrolled-vars.fd'))).toEqual({ enabled: false, enrolled: true });
    // Without descriptors, the file names of distributions decide.
    const debian = machineWithFiles('/usr/share/OVMF/OVMF_CODE_4M.ms.fd', '/usr/share/OVMF/OVMF_VARS_4M.ms.fd');
    expect(state(debian, catalogOfFileNames)).toEqual({ enabled: true, enrolled: true });
    const fedora = machineWithFiles(
      '/usr/share/edk2/ovmf/OVMF_CODE.secboot.fd',
      '/usr/share/edk2/ovmf/OVMF_VARS.secboot.fd',
    );
    expect(state(fedora, catalogOfFileNames)).toEqual({ enabled: true, enrolled: true });
    expect(state(machineWithFiles('/x/CODE.fd', '/x/my-own.fd'), catalogOfFileNames)).toEqual({
      enabled: false,
      enrolled: null,
    });
    // The templates in the settings have precedence over file names.
    const settings = firmwareCatalog([], { enabled: '/x/my-own.fd', disabled: null });
    expect(state(machineWithFiles('/x/OVMF_CODE.secboot.fd', '/x/my-own.fd'), settings)).toEqual({
      enabled: true,
      enrolled: true,
    });
  });
});

describe('setSecureBoot', () => {
  it('lets libvirt select the firmware, and keeps the path of the variables', () => {
    const xml = machine(
      `\n    <loader readonly='yes' type='pflash'>/fw/plain.fd</loader>\n    <nvram template='/fw/plain-vars.fd'>/own/n.fd</nvram>`,
      '',
      `<features><smm state='off'/></features>`,
    );
    expect(withSecureBoot(xml, 'on', null)).toBe(
      machine(
        `
    <firmware>
      <feature enabled='yes' name='enrolled-keys'/>
      <feature enabled='yes' name='secure-boot'/>
    </firmware>
    <loader stateless='no'/>
    <nvram>/own/n.fd</nvram>`,
        efi,
        `<features><smm state='on'/></features>`,
      ),
    );
    expect(withSecureBoot(xml, 'off', null)).toContain(`<smm state='off'/>`);
    expect(withSecureBoot(xml, 'setup', null)).toContain(`<feature enabled='no' name='enrolled-keys'/>`);
  });

  it('sets image and variables, with SMM if the image requires it', () => {
    const files = { loaderPath: '/fw/a&b.fd', template: `/fw/it's.fd`, requiresSmm: true };
    const without = machine('', efi, '');
    expect(withSecureBoot(without, 'on', files)).toBe(
      machine(
        `
    <loader readonly='yes' secure='yes' type='pflash'>/fw/a&amp;b.fd</loader>
    <nvram template='/fw/it&apos;s.fd'/>`,
        '',
        '',
      ).replace('<devices/>\n', `<devices/>\n  <features>\n    <smm state='on'/>\n  </features>\n`),
    );
    const plain = withSecureBoot(without, 'off', { ...files, requiresSmm: false });
    expect(plain).not.toMatch(/smm|secure=/);
  });

  it('rejects a BIOS machine', () => {
    expect(() => withSecureBoot(q35Xml, 'on', null)).toThrow(
      'changing Secure Boot of node-1: it boots by legacy BIOS, not by UEFI',
    );
  });
});

describe('the descriptors of a host', () => {
  it("are read in libvirt's order; a missing folder has none", async () => {
    expect(await readFirmwareImages(['/nowhere'])).toEqual([]);
    const known = firmwareCatalog(await readFirmwareImages(), noTemplates);
    const os = {
      architecture: 'x86_64',
      machineType: 'pc-q35-7.2',
      firmwareFeatures: new Map([['secure-boot', false]]),
    };
    expect(known.selected(os)?.executable).toBe('/usr/share/OVMF/OVMF_CODE_4M.fd');
    expect(known.selected({ ...os, architecture: 'riscv64' })).toBeNull();
    expect(known.templateOfImage('/usr/share/OVMF/OVMF_CODE_4M.ms.fd', { keys: true })).toBe(
      '/usr/share/OVMF/OVMF_VARS_4M.ms.fd',
    );
    expect(known.templateOfImage('/usr/share/OVMF/OVMF_CODE_4M.fd', { keys: true })).toBeNull();
  });
});
