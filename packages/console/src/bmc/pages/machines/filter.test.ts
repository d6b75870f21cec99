import { describe, expect, it } from '@jest/globals';
import type { Machine } from '../../redfish/machines.js';
import { filterMachines, hostOf, noFilters, patternOf, queryOf, ranksOf, viewOf, type Filters } from './filter.js';

const machine = (Name: string, rest: Partial<Machine> = {}): Machine => ({
  '@odata.id': `/redfish/v1/Systems/${Name}`,
  Id: Name,
  Name,
  PowerState: 'Off',
  Status: { Health: 'OK' },
  ...rest,
});
const link = (uri: string) => ({ '@odata.id': uri });
const machines = [
  machine('node-10', {
    PowerState: 'On',
    Boot: { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Pxe' },
  }),
  machine('node-2', { Boot: { BootSourceOverrideEnabled: 'Disabled', BootSourceOverrideTarget: 'Pxe' } }),
  machine('web-1', {
    UUID: 'ABCD-1',
    AssetTag: 'Lent to Ada',
    Status: { Health: 'Critical' },
    Links: { Chassis: [link('/redfish/v1/Chassis/web-1'), link('/redfish/v1/Chassis/rack%201')] },
  }),
  machine('jump'),
];
const drives = new Map([
  ['node-2', [{ '@odata.id': '/d', Id: 'Cd', Name: 'Cd', Inserted: true, ImageName: 'Debian.iso' }]],
  ['web-1', [{ '@odata.id': '/d', Id: 'Cd', Name: 'Cd', Inserted: false }]],
]);
const found = (filters: Partial<Filters>) =>
  filterMachines(machines, { ...noFilters, ...filters }, drives).map(({ Name }) => Name);

describe('filterMachines', () => {
  it.each<[Partial<Filters>, readonly string[]]>([
    [{}, ['node-10', 'node-2', 'web-1', 'jump']],
    [{ search: 'NODE' }, ['node-10', 'node-2']],
    [{ search: 'node 10' }, ['node-10']],
    [{ search: 'abcd' }, ['web-1']],
    [{ search: 'rack' }, ['web-1']],
    [{ search: 'ada lent' }, ['web-1']],
    [{ search: 'debian' }, ['node-2']],
    [{ power: 'On' }, ['node-10']],
    [{ health: 'Critical' }, ['web-1']],
    [{ boot: 'any' }, ['node-10']],
    [{ boot: 'none' }, ['node-2', 'web-1', 'jump']],
    [{ boot: 'Pxe' }, ['node-10']],
    [{ media: 'inserted' }, ['node-2']],
    [{ media: 'empty' }, ['web-1']],
    [{ host: 'rack 1' }, ['web-1']],
    [{ group: 'node-*' }, ['node-10', 'node-2']],
    [{ group: 'node-*', power: 'Off' }, ['node-2']],
  ])('applies %j', (filters, names) => {
    expect(found(filters)).toEqual(names);
  });
});

describe('patternOf', () => {
  it.each([
    ['node-12', 'node-*'],
    ['rack1-node2', 'rack1-node*'],
    ['web01.lab', 'web*.lab'],
    ['jump', ''],
  ])('gives %s the pattern %s', (name, pattern) => {
    expect(patternOf(name)).toBe(pattern);
  });
});

it('ranksOf orders names alphabetically, and the numbers in them by their value', () => {
  const ranks = ranksOf(new Map(machines.map((each) => [each.Id, each])));
  expect([...ranks.keys()]).toEqual(['jump', 'node-2', 'node-10', 'web-1']);
});

it('hostOf does not take a shared chassis for a host', () => {
  expect(hostOf(machine('a', { Links: { Chassis: [link('/redfish/v1/Chassis/shared')] } }))).toBe('');
});

it('viewOf reads the view that queryOf has written into an address', () => {
  const view = {
    filters: { ...noFilters, search: 'a&b <c>', group: 'node-*', power: 'On' },
    sorting: { column: 'power', isAscending: false },
    isGrouped: true,
  };
  expect(viewOf(new URLSearchParams(queryOf(view)))).toEqual(view);
  expect(queryOf(viewOf(new URLSearchParams()))).toBe('');
});
