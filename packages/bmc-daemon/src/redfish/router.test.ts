import { describe, expect, it } from '@jest/globals';
import { createRouter } from './router.js';

const router = createRouter([
  { template: '/redfish', target: 'versions' },
  { template: '/redfish/v1', target: 'root' },
  { template: '/redfish/v1/$metadata', target: 'metadata' },
  { template: '/redfish/v1/Systems', target: 'systems' },
  { template: '/redfish/v1/Systems/{systemId}', target: 'system' },
  { template: '/redfish/v1/Systems/{systemId}/Memory/{memoryId}', target: 'memory' },
  { template: '/redfish/v1/Systems/special/Bios', target: 'special bios' },
]);
const matchOf = (path: string) => {
  const match = router.match(path);
  return match && [match.target, match.params];
};

describe('a router', () => {
  it('finds, if a path has several targets, the one that the caller accepts, or the first if it accepts none', () => {
    const members = createRouter([
      { template: '/Accounts/Members', target: 'creates' },
      { template: '/Accounts/{id}', target: 'account' },
    ]);
    const targetAt = (path: string, suits?: (target: string) => boolean) => members.match(path, suits)?.target;
    for (let round = 0; round < 2; round += 1) {
      expect(targetAt('/Accounts/Members')).toBe('creates');
      expect(targetAt('/Accounts/Members', (target) => target === 'account')).toBe('account');
      expect(members.match('/Accounts/%4Dembers', (target) => target === 'account')?.params).toEqual({ id: 'Members' });
      expect(targetAt('/Accounts/Members', () => false)).toBe('creates');
      expect(targetAt('/Accounts/admin', (target) => target === 'creates')).toBe('account');
    }
  });

  it.each([
    ['/redfish', 'versions', {}],
    ['/redfish/', 'versions', {}],
    ['/redfish/v1', 'root', {}],
    ['/redfish/v1/', 'root', {}],
    ['/redfish/v1/%24metadata', 'metadata', {}],
    ['/redfish/v1/Systems/', 'systems', {}],
    ['/redfish/v1/Systems/web%201', 'system', { systemId: 'web 1' }],
    ['/redfish/v1/Systems/a%2Fb/', 'system', { systemId: 'a/b' }],
    ['/redfish/v1/Systems/__proto__', 'system', { systemId: '__proto__' }],
    ['/redfish/v1/Systems/a/Memory/DIMM0', 'memory', { systemId: 'a', memoryId: 'DIMM0' }],
    ['/redfish/v1/Systems/special/Bios', 'special bios', {}],
    ['/redfish/v1/Systems/special/Memory/b', 'memory', { systemId: 'special', memoryId: 'b' }],
    ['/redfish/v1/Systems/special', 'system', { systemId: 'special' }],
  ])('finds the target and the parameters of %s', (path, target, params) => {
    expect(matchOf(path)).toEqual([target, params]);
    expect(matchOf(path)).toEqual([target, params]);
  });

  it.each([
    '/',
    '/redfish/v2',
    '/redfish/v1//',
    '/redfish/v1//Systems',
    '/redfish/v1/Systems//',
    '/redfish/v1/systems',
    '/redfish/v1/Systems/a/Bios',
    '/redfish/v1/Systems/%zz',
    '/redfish/v1/Systems/%2e%2e/../x',
    'redfish',
    '',
  ])('finds nothing at %j', (path) => {
    expect(matchOf(path)).toBeUndefined();
  });

  it('rejects two routes for one path', () => {
    const routes = ['/a/{x}', '/a/{y}'].map((template) => ({ template, target: template }));
    expect(() => createRouter(routes)).toThrow('declaring /a/{y}: /a/{x} is the same path');
  });

  it('does not cache long paths, which any client may send', () => {
    const long = `/redfish/v1/Systems/${'x'.repeat(300)}`;
    expect(matchOf(long)).toEqual(['system', { systemId: 'x'.repeat(300) }]);
    expect(router.match(long)).not.toBe(router.match(long));
    expect(router.match('/redfish/v1/Systems/x')).toBe(router.match('/redfish/v1/Systems/x'));
  });

  it('still finds a path after requests for more paths than its cache can store', () => {
    for (let index = 0; index < 5000; index += 1) router.match(`/redfish/v1/Systems/${index}`);
    expect(matchOf('/redfish/v1/Systems/7')).toEqual(['system', { systemId: '7' }]);
  });
});
