import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseFirmware } from './firmware-choice.js';

let folder: string;
const file = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rackless-firmware-'));
  const names = ['OVMF_CODE_4M.fd', 'OVMF_VARS_4M.fd', 'OVMF_CODE_4M.secboot.fd', 'AAVMF_CODE.fd', 'bios.bin'];
  for (const name of names) await writeFile(file(name), '');
});
afterAll(() => rm(folder, { recursive: true }));

describe('chooseFirmware', () => {
  it('lets libvirt select firmware that the map does not name', async () => {
    const nothing = { loaderPath: null, nvramTemplate: null };
    for (const map of [{}, { efi: {} }, { efi: { x86_64: null } }]) {
      expect(await chooseFirmware(map, 'efi', 'x86_64')).toEqual(nothing);
    }
    expect(await chooseFirmware({ efi: { x86_64: file('OVMF_CODE_4M.fd') } }, 'bios', 'x86_64')).toEqual(nothing);
  });

  it.each([
    ['OVMF_CODE_4M.fd', 'OVMF_VARS_4M.fd'],
    ['OVMF_CODE_4M.secboot.fd', 'OVMF_VARS_4M.fd'],
    ['AAVMF_CODE.fd', null],
  ])('finds the template of %s, null if there is none (%s); a secboot file requires SMM', async (loader, store) => {
    expect(await chooseFirmware({ efi: { x86_64: file(loader) } }, 'efi', 'x86_64')).toEqual({
      loaderPath: file(loader),
      nvramTemplate: store === null ? null : file(store),
      ...(loader.includes('secboot') ? { requiresSmm: true } : {}),
    });
  });

  it('gives no template of variables to a BIOS image', async () => {
    expect(await chooseFirmware({ bios: { x86_64: file('bios.bin') } }, 'bios', 'x86_64')).toEqual({
      loaderPath: file('bios.bin'),
      nvramTemplate: null,
    });
  });

  it('rejects a missing file; the error names the architecture and the path', async () => {
    await expect(chooseFirmware({ bios: { aarch64: '/nowhere' } }, 'bios', 'aarch64')).rejects.toMatchObject({
      kind: 'invalid',
      field: 'firmware',
      message: 'setting the firmware to bios: the boot loader of aarch64, /nowhere, does not exist',
    });
  });
});
