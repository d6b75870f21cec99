import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineFile } from './file-schema.js';
import { MachineFileError, readMachineFile, type MachineFile } from './machine-file.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'machine-file-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function read(text: string): MachineFile {
  const file = join(folder, 'lab.yaml');
  writeFileSync(file, text);
  return readMachineFile(file);
}

/** Returns the faults of a file, without the path of its folder; empty if the file is valid. */
function faultsOf(text: string): readonly string[] {
  try {
    read(text);
    return [];
  } catch (error) {
    if (!(error instanceof MachineFileError)) throw error;
    return error.faults.map((fault) => fault.replace(`${folder}/`, ''));
  }
}

describe('a machine file', () => {
  it('makes many machines from one entry, each with its own name, UUID and MAC address', () => {
    const { machines } = read('machines: [{name: "rack1-{n:4}", count: 10000, nics: 2}]');
    expect(machines).toHaveLength(10_000);
    expect(machines[0]?.name).toBe('rack1-0001');
    expect(machines.at(-1)?.name).toBe('rack1-10000');
    expect(new Set(machines.map(({ uuid }) => uuid)).size).toBe(10_000);
    expect(new Set(machines.flatMap(({ interfaces }) => interfaces.map(({ mac }) => mac))).size).toBe(20_000);
  });

  it('gives a name the same UUID and MAC addresses in every file', () => {
    const one = read('machines: [{name: "n-{n}", count: 3}]').machines[2];
    const other = read('machines: [{name: x}, {name: "n-{n}", first: 3, count: 5}]').machines[1];
    expect([other?.name, other?.uuid, other?.interfaces]).toEqual([one?.name, one?.uuid, one?.interfaces]);
    // RFC 9562, version 5: the name in a namespace of the daemon.
    expect(one?.uuid).toBe('cbd26871-f9b9-559e-a671-bc0f0a9f2703');
    expect(one?.interfaces[0]?.mac).toMatch(/^[0-9a-f][26ae](:[0-9a-f]{2}){5}$/);
  });

  it('sets hardware and state of the machines of an entry; an override replaces them for a single machine', () => {
    const { machines } = read(`
machines:
  - name: node-{n}
    first: 7
    count: 2
    cpus: 16
    memory_mib: 65536
    disks_gib: [480, 960]
    manufacturer: Example
    model: E1
    serial_number: SN-{n:3}
    power_state: On
    overrides:
      node-8: {power_state: Off, uuid: 27946B59-9E44-4FA7-8E91-F3527A1EF094, boot_mode: Legacy, disks_gib: []}
`);
    expect(machines).toMatchObject([
      {
        name: 'node-7',
        state: 'running',
        processors: { count: 16 },
        memoryKiB: 64 * 1024 ** 2,
        sysinfo: { manufacturer: 'Example', product: 'E1', serial: 'SN-007' },
        disks: [{ target: 'vda', capacityBytes: 480 * 1024 ** 3 }, { target: 'vdb' }, { device: 'cdrom' }],
        boot: { firmware: 'efi', order: ['disk:vda'] },
      },
      {
        uuid: '27946b59-9e44-4fa7-8e91-f3527a1ef094',
        state: 'shutoff',
        sysinfo: { serial: 'SN-008' },
        disks: [{ device: 'cdrom' }],
        boot: { firmware: 'bios', order: [] },
      },
    ]);
  });

  it('can have the list of EMULATOR_FAKE_SYSTEMS as its machines, also in JSON', () => {
    const systems = [
      {
        uuid: '27946b59-9e44-4fa7-8e91-f3527a1ef094',
        name: 'fake1',
        power_state: 'Off',
        external_notifier: true,
        nics: [{ mac: '00-5C-52-31-3A-9C', ip: '172.22.0.100' }],
      },
    ];
    const { machines, systems: parsed } = read(JSON.stringify({ machines: systems }));
    expect(machines[0]).toMatchObject({ name: 'fake1', interfaces: [{ mac: '00:5c:52:31:3a:9c' }] });
    expect(parsed).toMatchObject([{ external_notifier: true, nics: [{ ip: '172.22.0.100' }] }]);
  });

  it('gives machines the delays and failures of the file, of their entry and of their override', () => {
    const { plan, machines } = read(`
seed: 5
delays: {power_on: [20, 90], power_off: 5}
failures:
  - {effect: unavailable, operation: list, after: 60, for: 10}
  - {effect: error, operation: insert, share: 0.1}
machines:
  - name: node-{n}
    count: 2
    delays: {power_off: 1}
    failures: [{effect: hang, operation: read, calls: 3}]
    overrides:
      node-2: {failures: [{effect: vanish, after: 30, lasts: 60}]}
`);
    expect(plan).toMatchObject({ seed: 5, list: [{ place: 'failures[0]', afterMs: 60_000, forMs: 10_000 }] });
    const plans = machines.map(({ uuid }) => plan.machines.get(uuid));
    expect(plans.map((own) => own?.delays)).toEqual([
      { power_on: [20_000, 90_000], power_off: 1_000 },
      { power_on: [20_000, 90_000], power_off: 1_000 },
    ]);
    const places = plans.map((own) => own?.failures.map(({ place }) => place));
    expect(places).toEqual([
      ['machines[0].failures[0]', 'failures[1]'],
      ['machines[0].overrides.node-2.failures[0]', 'machines[0].failures[0]', 'failures[1]'],
    ]);
  });

  it('reports every wrong value with its line, entry and member', () => {
    const text = `seed: -1
delays: {power_on: [5, 2], foo: 3}
machines:
  - name: a-{n}
    count: x
    nics: [{mac: 1}]
  - name: b
    failures:
      - {effect: slow, operation: read}
      - {effect: error}
      - {effect: vanish, share: 0.2}
      - 5
      - {effect: error, operation: list}
  - count: 2
  - {name: a/b}
  - {name: "a\\nb"}
`;
    expect(faultsOf(text)).toEqual([
      'lab.yaml:1: seed must be an integer from 0 to 2147483648, not the number -1',
      'lab.yaml:2: delays.power_on must be seconds from 0 to 1000000, or [shortest, longest] with the shortest first, not a list',
      'lab.yaml:2: delays.foo is not a known member',
      'lab.yaml:5: machines[0].count must be an integer from 1 to 100000, not the string "x"',
      'lab.yaml:6: machines[0].nics[0].mac must be a MAC address in quotes, such as "52:54:00:00:00:01", not the number 1',
      "lab.yaml:9: machines[1].failures[0].effect needs the member 'lasts', the delay of the answer",
      "lab.yaml:10: machines[1].failures[1].effect needs an operation, such as 'any' for all operations of a machine",
      'lab.yaml:11: machines[1].failures[2].share applies to calls of an operation, so the failure needs an operation',
      'lab.yaml:12: machines[1].failures[3] must be a mapping, not the number 5',
      'lab.yaml:13: machines[1].failures[4].operation must be one of power_on, power_off, shutdown, reset, insert, ' +
        'eject, change, read, any, not the string "list"',
      'lab.yaml:14: machines[2].name is missing',
      'lab.yaml:15: machines[3].name must be a text of 1 to 255 characters, without slashes and control characters, ' +
        'not the string "a/b"',
      expect.stringMatching(/^lab\.yaml:16: machines\[4\]\.name must be a text of 1 to 255 characters, /),
    ]);
  });

  it('reports faults between entries, too many machines, and a file without a list of machines', () => {
    const text = `machines:
  - name: a
    count: 3
  - name: b-{n}
    count: 3
    overrides:
      b-7: {cpus: 3}
  - name: b-2
  - name: c
    uuid: 27946b59-9e44-4fa7-8e91-f3527a1ef094
  - name: d
    uuid: 27946B59-9e44-4fa7-8e91-f3527a1ef094
`;
    expect(faultsOf(text)).toEqual([
      'lab.yaml:2: machines[0].name must contain {n}, the number of the machine, because the entry has a count',
      'lab.yaml:7: machines[1].overrides.b-7 is not the name of a machine of this entry',
      'lab.yaml:8: machines[2] makes a second machine with the name b-2: machine b-2 already has it',
      'lab.yaml:11: machines[4] makes a second machine with the UUID 27946b59-9e44-4fa7-8e91-f3527a1ef094: machine c already has it',
    ]);
    expect(faultsOf('machines: [{name: "a{n}", count: 2}, {name: "b{n}", count: 99999}]')).toEqual([
      'lab.yaml:1: machines[1] exceeds the maximum of 100000 machines in a file',
    ]);
    expect(faultsOf('machines: 5')).toEqual(['lab.yaml:1: machines must be a list, not the number 5']);
    expect(faultsOf('')).toEqual(['lab.yaml: the file is empty']);
  });

  it('has only members that docs/reference/fake-machines.md describes', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../../../docs/reference/fake-machines.md'), 'utf8');
    const { failures, delays, machines } = machineFile.shape;
    const failure = failures.unwrap().element.shape;
    const members = [machineFile.shape, machines.element.shape, delays.unwrap().shape, failure].flatMap(Object.keys);
    expect(members.filter((member) => !page.includes(`\`${member}\``))).toEqual([]);
  });
});
