import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFirmwareImages } from '../firmware-catalog.js';
import { localFiles } from '../host-files.js';
import { FirmwareChooser, type BootLoaderMap } from './firmware-choice.js';

let folder: string;
const file = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rackless-firmware-'));
  const names = ['OVMF_CODE_4M.fd', 'OVMF_VARS_4M.fd', 'OVMF_CODE_4M.secboot.fd', 'AAVMF_CODE.fd', 'bios.bin'];
  for (const name of names) await writeFile(file(name), '');
});
afterAll(() => rm(folder, { recursive: true }));

/** Returns a chooser for a host without descriptors. */
const chooser = (bootLoaderMap: BootLoaderMap, readImages: typeof readFirmwareImages = () => Promise.resolve([])) =>
  new FirmwareChooser({
    bootLoaderMap,
    templates: { enabled: null, disabled: null },
    hypervisor: { getDomainCapabilities: () => Promise.reject(new Error('no test needs capabilities')) },
    timeoutMs: 1000,
    files: localFiles,
    readImages,
  });

describe('the files of a boot mode', () => {
  it('lets libvirt select firmware that the map does not name', async () => {
    const nothing = { loaderPath: null, nvramTemplate: null };
    for (const map of [{}, { efi: {} }, { efi: { x86_64: null } }]) {
      expect(await chooser(map).bootModeFiles('efi', 'x86_64')).toEqual(nothing);
    }
    expect(await chooser({ efi: { x86_64: file('OVMF_CODE_4M.fd') } }).bootModeFiles('bios', 'x86_64')).toEqual(
      nothing,
    );
  });

  it.each([
    ['OVMF_CODE_4M.fd', 'OVMF_VARS_4M.fd'],
    ['OVMF_CODE_4M.secboot.fd', 'OVMF_VARS_4M.fd'],
    ['AAVMF_CODE.fd', null],
  ])('finds the template of %s, null if there is none (%s); a secboot file requires SMM', async (loader, store) => {
    expect(await chooser({ efi: { x86_64: file(loader) } }).bootModeFiles('efi', 'x86_64')).toEqual({
      loaderPath: file(loader),
      nvramTemplate: store === null ? null : file(store),
      ...(loader.includes('secboot') ? { requiresSmm: true } : {}),
    });
  });

  it("requires SMM if a descriptor says so, whatever the file's name", async () => {
    await writeFile(file('ovmf-smm-code.bin'), '');
    await writeFile(
      file('50-ovmf.json'),
      JSON.stringify({
        'interface-types': ['uefi'],
        mapping: { device: 'flash', executable: { filename: file('ovmf-smm-code.bin'), format: 'raw' } },
        targets: [{ architecture: 'x86_64', machines: ['pc-q35-*'] }],
        features: ['requires-smm', 'secure-boot'],
      }),
    );
    const host = chooser({ efi: { x86_64: file('ovmf-smm-code.bin') } }, () => readFirmwareImages([folder]));
    expect(await host.bootModeFiles('efi', 'x86_64')).toMatchObject({ requiresSmm: true });
  });

  it('gives no template of variables to a BIOS image', async () => {
    expect(await chooser({ bios: { x86_64: file('bios.bin') } }).bootModeFiles('bios', 'x86_64')).toEqual({
      loaderPath: file('bios.bin'),
      nvramTemplate: null,
    });
  });

  it('rejects a missing file; the error names the architecture and the path', async () => {
    await expect(chooser({ bios: { aarch64: '/nowhere' } }).bootModeFiles('bios', 'aarch64')).rejects.toMatchObject({
      kind: 'invalid',
      field: 'firmware',
      message: 'setting the firmware to bios: the boot loader of aarch64, /nowhere, does not exist',
    });
  });
});
