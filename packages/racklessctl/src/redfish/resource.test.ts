import { describe, expect, it } from '@jest/globals';
import { linkAt, linksAt } from './resource.js';

describe('a link', () => {
  it.each([
    ['an object with @odata.id', { '@odata.id': '/redfish/v1/Systems' }],
    ['a text', '/redfish/v1/Systems'],
  ])('can be %s', (_, link) => {
    expect(linkAt({ link }, 'link')).toBe('/redfish/v1/Systems');
  });

  it.each([[''], [' '], [{ '@odata.id': '' }], [{}], [null], [7]])('is missing if it is %j', (link) => {
    expect([linkAt({ link }, 'link'), linksAt({ links: [link] }, 'links')]).toEqual([undefined, []]);
  });
});
