import { describe, expect, it } from '@jest/globals';
import { readDomain } from '../xml/domain.js';
import { emptyRecord } from '../xml/metadata/machine-record.js';
import { chooseAddresses, derivedWwn } from './addresses.js';
import type { KnownMachine } from './lab-host.js';
import type { Naming } from './machine-spec.js';

const naming: Naming = { name: 'node', count: 200, macs: null, macPrefix: null };

function choose(options: Partial<Naming> = {}, hostName = 'kvm1', others: readonly KnownMachine[] = []) {
  return chooseAddresses({ ...naming, ...options }, hostName, others, {
    names: ['node-1', 'node-129'],
    interfaces: 2,
  });
}

/** Returns a machine with the given addresses. */
function machineWith(uuid: string, mac: string): KnownMachine {
  const xml = `<domain><name>other</name><uuid>${uuid}</uuid><devices><interface type='user'><mac address='${mac}'/></interface></devices></domain>`;
  // The code under test reads only these members.
  const domain = { uuid, name: 'other' } as KnownMachine['machine']['domain'];
  const machine = { uuid, name: 'other', domain, persistent: true };
  return { machine, name: 'other', uuid, xml, domain: readDomain(xml), record: emptyRecord, created: null };
}

describe('chooseAddresses', () => {
  it('derives the same addresses each time, and different ones for each host, machine and interface', () => {
    expect(choose()).toEqual(choose());
    const all = [...choose().values(), ...choose({}, 'kvm2').values()];
    const macs = all.flatMap((each) => each.macs);
    expect(new Set(macs).size).toBe(8);
    for (const mac of macs) expect(mac).toMatch(/^52:54:00(:[0-9a-f]{2}){3}$/);
    expect(new Set(all.map(({ uuid }) => uuid)).size).toBe(4);
    expect(derivedWwn(all[0]?.uuid ?? '', 0)).toMatch(/^3[0-9a-f]{15}$/);
  });

  it('chooses other addresses if another machine has the derived ones', () => {
    const { uuid = '', macs: [mac = ''] = [] } = choose().get('node-1') ?? {};
    const other = choose({}, 'kvm1', [machineWith(uuid, mac)]).get('node-1');
    expect(other?.uuid).not.toBe(uuid);
    expect(other?.macs).not.toContain(mac);
  });

  it('chooses other addresses if a machine of another host has the derived UUID', () => {
    const { uuid = '', macs = [] } = choose().get('node-1') ?? {};
    const machines = { names: ['node-1', 'node-129'], interfaces: 2, otherUuids: new Set([uuid]) };
    const chosen = chooseAddresses(naming, 'kvm1', [], machines);
    expect(chosen.get('node-1')?.uuid).not.toBe(uuid);
    expect(chosen.get('node-1')?.macs.filter((mac) => macs.includes(mac))).toEqual([]);
    expect(chosen.get('node-129')).toEqual(choose().get('node-129'));
  });

  it("derives MAC addresses with a prefix from the machine's number, and rejects a prefix with too few addresses", () => {
    const prefix = choose({ macPrefix: '52:54:00:aa' });
    expect(prefix.get('node-1')?.macs).toEqual(['52:54:00:aa:00:01', '52:54:00:aa:00:02']);
    expect(prefix.get('node-129')?.macs).toEqual(['52:54:00:aa:01:01', '52:54:00:aa:01:02']);
    expect(() => choose({ macPrefix: '52:54:00:aa:00' })).toThrow('52:54:00:aa:00 has only 255 addresses');
  });

  it('rejects an address from the prefix of the user if another machine has it', () => {
    const other = machineWith('00000000-0000-4000-8000-000000000001', '52:54:00:aa:00:02');
    expect(() => choose({ macPrefix: '52:54:00:aa' }, 'kvm1', [other])).toThrow(
      'machine node-1: machine other has the MAC address 52:54:00:aa:00:02',
    );
  });
});
