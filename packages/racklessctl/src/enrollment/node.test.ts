import { expect, it } from '@jest/globals';
import type { MachineFacts } from '../machines/facts.js';
import { enrollmentNames } from './node.js';
import { tinkerbell } from './tinkerbell.js';

const facts = (given: Partial<MachineFacts>): MachineFacts => ({
  ...{ context: undefined, name: 'System', id: '1', uuid: undefined, uri: '/1', power: undefined, health: undefined },
  ...{ state: undefined, manufacturer: undefined, model: undefined, serial: undefined, hostName: undefined },
  ...{ bios: undefined, cpus: undefined, memoryGib: undefined, architecture: undefined, bootMode: undefined },
  ...{
    secureBoot: undefined,
    virtualMedia: false,
    interfaces: [],
    bmc: 'https://192.0.2.1',
    managers: [],
    chassis: [],
  },
  ...given,
});

it.each<[string, readonly Partial<MachineFacts>[], readonly string[]]>([
  ["the machine's name", [{ name: 'web-1' }, { name: 'Web_2.example' }], ['web-1', 'web-2-example']],
  ['the context if the names are equal', [{ context: 'rack1-a' }, { context: 'rack1-b' }], ['rack1-a', 'rack1-b']],
  [
    'the host name if there is one, otherwise the context',
    [{ hostName: 'db1', context: 'a' }, { context: 'b' }],
    ['db1', 'b'],
  ],
  [
    'the chassis',
    [
      { name: 'db', chassis: ['kvm-1'] },
      { name: 'db', chassis: ['kvm-2'] },
    ],
    ['db-kvm-1', 'db-kvm-2'],
  ],
  ['the serial number', [{ serial: 'S1' }, { serial: 'S2' }], ['s1', 's2']],
  ['a number if nothing else is unique', [{}, {}, {}], ['system', 'system-2', 'system-3']],
  ['a default if name and id have no Latin letters', [{ name: '节点', id: '!' }], ['machine']],
])('a node gets its name from %s', (_, machines, names) => {
  expect(enrollmentNames(machines.map(facts))).toEqual(names);
});

it('no name is longer than 63 characters, and none appears twice', () => {
  const names = enrollmentNames([{ name: 'a'.repeat(80) }, { name: 'a'.repeat(80) }, { name: 'x-2' }].map(facts));
  expect(new Set(names).size).toBe(3);
  expect(names.filter((name) => name.length > 63)).toEqual([]);
});

it('a BMC with an IPv6 address keeps its brackets for Tinkerbell, because bmclib appends the port', () => {
  const node = { name: 'a', facts: facts({ bmc: 'https://[2001:db8::1]:8000' }), user: undefined, ca: undefined };
  const text = tinkerbell.render([{ ...node, insecure: false, auth: 'session', sharesName: false }], []);
  expect(text).toMatch(/host: ['"]\[2001:db8::1\]['"]\n/);
});
