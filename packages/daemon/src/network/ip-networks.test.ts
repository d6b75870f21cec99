import { describe, expect, it } from '@jest/globals';
import { networkMatcher, readNetwork } from './ip-networks.js';

describe('a network in a setting', () => {
  it.each([
    ['10.0.0.0/8', { address: '10.0.0.0', prefix: 8 }],
    ['0.0.0.0/0', { address: '0.0.0.0', prefix: 0 }],
    ['192.0.2.1', { address: '192.0.2.1', prefix: 32 }],
    ['2001:db8::/32', { address: '2001:db8::', prefix: 32 }],
    ['::1', { address: '::1', prefix: 128 }],
    ...['', '/', '10.0.0.0/', '10.0.0.0/33', '::/129', '10.0.0.0/8/8', '10.0.0.0/-1', '10/8', 'a.example'].map(
      (text) => [text, null] as const,
    ),
    ...['fe80::1%eth0', 'fe80::%eth0/64', '010.0.0.1', '[::1]', ' ::1'].map((text) => [text, null] as const),
  ])('is read from %j as %j (null: rejected)', (text, network) => {
    expect(readNetwork(text)).toEqual(network);
  });

  it('contains exactly the addresses of its range, also in capitals, mapped to IPv6 or with a zone', () => {
    const has = networkMatcher(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32', 'fe80::/10', 'no network']);
    for (const inside of ['10.255.0.1', '192.0.2.1', '2001:DB8::1', '::ffff:10.1.2.3', 'fe80::1%eth0'])
      expect([inside, has(inside)]).toEqual([inside, true]);
    for (const outside of ['11.0.0.1', '192.0.2.2', '2001:db9::1', '::ffff:11.0.0.1', '', 'no network', '10.0.0.0/8'])
      expect([outside, has(outside)]).toEqual([outside, false]);
    expect(networkMatcher([])('10.0.0.1')).toBe(false);
  });
});
