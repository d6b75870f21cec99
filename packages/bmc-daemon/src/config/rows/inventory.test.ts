import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadSettings, type LoadedSettings } from '../load.js';
import { renderEffectiveSettings } from '../effective.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-inventory-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const load = (text: string): LoadedSettings => {
  const file = join(folder, 'emulator.conf');
  writeFileSync(file, text);
  return loadSettings({ file });
};
/** Returns the faults of a text without the folder, such as `emulator.conf:3: …`. */
const faults = (text: string) => load(text).faults.map((fault) => fault.replace(`${folder}/`, ''));

const machine = 'da69abcc-dae0-4913-9a7b-d344043097c0';

/** The sample of sushy-tools' documentation, with `u''` texts, a UUID in upper case and an unknown member, `Mine`. */
const sample = `
SUSHY_EMULATOR_CHASSIS = [
    {u'Id': u'Chassis', u'Name': u'Chassis', u'UUID': u'48295861-2522-3561-6729-621118518810'}
]
SUSHY_EMULATOR_INDICATOR_LEDS = {u'48295861-2522-3561-6729-621118518810': u'Blinking'}
SUSHY_EMULATOR_STORAGE = {
    "DA69abcc-dae0-4913-9a7b-d344043097c0": [
        {
            "Id": "1",
            "Name": "Local Storage Controller",
            "StorageControllers": [{"MemberId": "0", "Name": "Contoso Integrated RAID", "SpeedGbps": 12}],
            "Drives": ["32ADF365C6C1B7BD"]
        }
    ]
}
SUSHY_EMULATOR_DRIVES = {
    ("DA69abcc-dae0-4913-9a7b-d344043097c0", "1"): [
        {"Id": "32ADF365C6C1B7BD", "Name": "Drive Sample", "CapacityBytes": 899527000000, "Protocol": "SAS", "Mine": 1}
    ]
}
SUSHY_EMULATOR_VOLUMES = {
    ('da69abcc-dae0-4913-9a7b-d344043097c0', '1'): [
        {
            "libvirtPoolName": "sushyPool",
            "libvirtVolName": "testVol",
            "Id": "1",
            "Name": "Sample Volume 1",
            "VolumeType": "Mirrored",
            "CapacityBytes": 23748
        }
    ]
}
`;

const wanted = {
  chassis: [{ Id: 'Chassis', Name: 'Chassis', UUID: '48295861-2522-3561-6729-621118518810' }],
  indicatorLeds: { '48295861-2522-3561-6729-621118518810': 'Blinking' },
  storage: {
    [machine]: [
      {
        Id: '1',
        Name: 'Local Storage Controller',
        StorageControllers: [{ MemberId: '0', Name: 'Contoso Integrated RAID', SpeedGbps: 12 }],
        Drives: ['32ADF365C6C1B7BD'],
      },
    ],
  },
  drives: {
    [`["${machine}","1"]`]: [
      { Id: '32ADF365C6C1B7BD', Name: 'Drive Sample', CapacityBytes: 899527000000, Protocol: 'SAS' },
    ],
  },
  volumes: {
    [`["${machine}","1"]`]: [
      {
        Id: '1',
        Name: 'Sample Volume 1',
        VolumeType: 'Mirrored',
        CapacityBytes: 23748,
        libvirtPoolName: 'sushyPool',
        libvirtVolName: 'testVol',
      },
    ],
  },
};

const chosen = ({ chassis, indicatorLeds, storage, drives, volumes }: LoadedSettings['settings']) => ({
  chassis,
  indicatorLeds,
  storage,
  drives,
  volumes,
});

describe("sushy-tools' inventory settings", () => {
  it('are read as documented, without unknown members', () => {
    const loaded = load(sample);
    expect([loaded.faults, loaded.warnings]).toEqual([[], []]);
    expect(chosen(loaded.settings)).toEqual(wanted);
  });

  it('are the same after the printed settings are loaded again', () => {
    expect(chosen(load(renderEffectiveSettings(load(sample))).settings)).toEqual(wanted);
  });

  it('are empty if they are absent', () => {
    expect(chosen(load('').settings)).toEqual({ chassis: [], indicatorLeds: {}, storage: {}, drives: {}, volumes: {} });
  });

  it.each([
    ['EMULATOR_CHASSIS = [\n  {"Id": "Rack"},\n]', /^emulator\.conf:2: EMULATOR_CHASSIS\[0\]\['UUID'\] must be /],
    [
      'EMULATOR_CHASSIS = [\n  {"Id": "a/b", "UUID": "48295861-2522-3561-6729-621118518810"},\n]',
      /^emulator\.conf:2: /,
    ],
    [
      `EMULATOR_CHASSIS = [{"Id": "1", "UUID": "${machine}"}, {"Id": "2", "UUID": "${machine}"}]`,
      /^emulator\.conf:1: EMULATOR_CHASSIS must be a list of chassis .* each with its own UUID/,
    ],
    [
      `EMULATOR_INDICATOR_LEDS = {\n  "${machine}":\n    "Dim"}`,
      /^emulator\.conf:3: .* must be one of 'Lit'.* not the string 'Dim'$/,
    ],
    ['EMULATOR_INDICATOR_LEDS = {"node-1": "Lit"}', /^emulator\.conf:1: EMULATOR_INDICATOR_LEDS has no key 'node-1'/],
    [`EMULATOR_DRIVES = {"${machine}": []}`, /^emulator\.conf:1: EMULATOR_DRIVES has no key/],
    [
      `EMULATOR_DRIVES = {\n  ("${machine}", "1"): [\n    {"Id": "D", "Protocol": "SCSI"}]}`,
      /^emulator\.conf:3: .*'SCSI'$/,
    ],
    [
      `EMULATOR_VOLUMES = {\n  ("${machine}", "1"): [\n    {"Id": "1", "CapacityBytes": "1G"}]}`,
      /^emulator\.conf:3: .*'1G'$/,
    ],
    [
      `EMULATOR_STORAGE = {"${machine}": [\n  {"Id": "1"},\n  {"Id": "1"}]}`,
      /^emulator\.conf:3: .*\[1\]\['Id'\] must be .* with its own Id, not the string '1'$/,
    ],
    [`EMULATOR_STORAGE = {"${machine}": [\n  {"Name": "RAID"}]}`, /^emulator\.conf:2: .*\['Id'\] must be/],
  ])('are rejected with the line and the part that has the fault: %j', (text, fault) => {
    expect(faults(text)).toEqual([expect.stringMatching(fault)]);
  });
});
