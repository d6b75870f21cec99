import { expect, it } from '@jest/globals';
import { matches, type ServerFilter } from './server-filter.js';

const server = {
  name: 'web-10.example',
  tags: ['redfish', 'rack-1'],
  metadata: { role: 'node', empty: '' },
  flavor: { name: 'm1', vcpus: 1, ramMiB: 64, diskGiB: 1, ephemeralGiB: 0, swapMiB: 0, secureBoot: undefined },
};

it.each<[ServerFilter, boolean]>([
  [{}, true],
  [{ tags: ['redfish', 'rack-1'] }, true],
  [{ tags: ['redfish', 'rack-2'] }, false],
  [{ metadata: { role: 'node', empty: '' } }, true],
  [{ metadata: { role: 'other' } }, false],
  [{ metadata: { missing: '' } }, false],
  [{ metadata: { constructor: 'x' } }, false],
  [{ flavor: 'm1' }, true],
  [{ flavor: 'm' }, false],
  [{ name: 'web-10.example' }, true],
  [{ name: 'web-10' }, false],
  [{ name: 'web-*' }, true],
  [{ name: '*.example' }, true],
  [{ name: 'w*-*le' }, true],
  [{ name: '*' }, true],
  [{ name: 'web-10.example*example' }, false],
  [{ name: 'web*10*10*' }, false],
  [{ name: 'web-10xexample' }, false],
  [{ tags: ['redfish'], name: 'db-*' }, false],
])('the filter %j selects the server of this test: %j', (filter, expected) => {
  expect(matches(server, filter)).toBe(expected);
});

it('a filter with a pattern of a thousand stars decides within the time limit of a test', () => {
  expect(matches({ ...server, name: 'a'.repeat(255) }, { name: `${'a*'.repeat(1000)}b` })).toBe(false);
});
