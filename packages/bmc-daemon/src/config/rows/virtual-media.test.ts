import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadSettings, type LoadedSettings } from '../load.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-media-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const load = (text: string): LoadedSettings => {
  const file = join(folder, 'emulator.conf');
  writeFileSync(file, text);
  return loadSettings({ file });
};

describe('settings of virtual media', () => {
  it("are read: sushy-tools' map of devices, the IP family, and the allowed image hosts", () => {
    const { settings, faults } = load(`
SUSHY_EMULATOR_VMEDIA_DEVICES = {
    u'Cd': {u'Name': 'Virtual CD', u'MediaTypes': [u'CD', u'DVD']},
    u'Floppy': {u'Name': u'Virtual Removable Media', u'MediaTypes': [u'Floppy', u'USBStick']}
}
SUSHY_EMULATOR_VIRTUAL_MEDIA_IP_FAMILY = '6'
EMULATOR_VMEDIA_ALLOWED_HOSTS = ['images.example.org', '*.lab.example.org', '10.0.0.0/8', 'fd00::/8']
`);
    expect(faults).toEqual([]);
    expect(settings).toMatchObject({
      vmediaDevices: {
        Cd: { Name: 'Virtual CD', MediaTypes: ['CD', 'DVD'] },
        Floppy: { Name: 'Virtual Removable Media', MediaTypes: ['Floppy', 'USBStick'] },
      },
      virtualMediaIpFamily: '6',
      vmediaAllowedHosts: ['images.example.org', '*.lab.example.org', '10.0.0.0/8', 'fd00::/8'],
    });
  });

  it('reject a drive named __proto__, which would be lost, and accept one named constructor', () => {
    const drive = "{'Name': 'CD', 'MediaTypes': ['CD']}";
    const { faults } = load(`EMULATOR_VMEDIA_DEVICES = {\n'__proto__': ${drive}}`);
    expect(faults).toEqual([
      `${join(folder, 'emulator.conf')}:2: EMULATOR_VMEDIA_DEVICES: '__proto__' cannot be a key`,
    ]);
    const { settings } = load(`EMULATOR_VMEDIA_DEVICES = {'constructor': ${drive}}`);
    expect(Object.keys(settings.vmediaDevices)).toEqual(['constructor']);
  });

  it("do not take a member of Object's prototype for an environment variable", () => {
    const { settings, faults } = load("import os\nEMULATOR_VMEDIA_CA_FILE = os.environ.get('constructor')");
    expect([settings.vmediaCaFile, faults]).toEqual([null, []]);
  });

  it.each([
    `EMULATOR_VMEDIA_DEVICES = {'Cd': {'MediaTypes': ['Tape']}}`,
    `EMULATOR_VMEDIA_DEVICES = {'Cd': {'Name': 'x'}}`,
    `EMULATOR_VMEDIA_DEVICES = {'Cd': {'MediaTypes': ['CD']}, 'Dvd': {'MediaTypes': ['DVD']}}`,
    `EMULATOR_VMEDIA_DEVICES = {'a/b': {'MediaTypes': ['CD']}}`,
    `EMULATOR_VMEDIA_ALLOWED_HOSTS = ['10.0.0.0/40']`,
    `EMULATOR_VMEDIA_ALLOWED_HOSTS = 'images.example.org'`,
    `EMULATOR_VIRTUAL_MEDIA_IP_FAMILY = '5'`,
  ])('are rejected with their line number if they are invalid: %s', (text) => {
    const name = text.split(' ')[0] ?? '';
    const [fault, ...others] = load(`# first line\n${text}\n`).faults;
    expect(others).toEqual([]);
    expect(fault).toMatch(new RegExp(`emulator\\.conf:2: ${name}.* must be `));
  });
});
