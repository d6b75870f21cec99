import { describe, expect, it } from '@jest/globals';
import { canonicalIp, clientNetwork, embeddedIpv4, isHostAddress, overlap, prefixOfMask } from './ip-network.js';

describe('addresses and networks', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['2001:DB8:0:0:0::1', '2001:db8::1'],
    ['::ffff:192.0.2.1', '::ffff:c000:201'],
    ['fe80::1%eth0', undefined],
    ['192.0.2.256', undefined],
    ['host', undefined],
  ])('have one spelling: %s becomes %s', (text, spelled) => {
    expect(canonicalIp(text)).toBe(spelled);
  });

  it.each([
    ['192.0.2.1/24', '192.0.2.200/32', true],
    ['192.0.2.1/25', '192.0.2.200/32', false],
    ['10.0.0.0/8', '10.200.0.1/24', true],
    ['0.0.0.0/0', '198.51.100.1/32', true],
    ['2001:db8::/32', '2001:db8:1::1/64', true],
    ['2001:db8::/64', '2001:db8:0:1::/64', false],
    ['::/0', '192.0.2.1/32', false],
  ])('may overlap: %s and %s: %s', (a, b, does) => {
    const parse = (text: string) => {
      const [address = '', prefix] = text.split('/');
      return { address, prefix: Number(prefix) };
    };
    expect([overlap(parse(a), parse(b)), overlap(parse(b), parse(a))]).toEqual([does, does]);
  });

  it('are valid for a host, except the first address of a network with more than two, and the IPv4 broadcast address', () => {
    const isHost = (address: string, prefix: number) => isHostAddress({ address, prefix });
    expect(['192.0.2.0', '192.0.2.1', '192.0.2.127', '192.0.2.128'].map((address) => isHost(address, 25))).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect([isHost('192.0.2.0', 31), isHost('192.0.2.0', 32), isHost('2001:db8::', 127)]).toEqual([true, true, true]);
    // 2001:db8:: is the address of all routers of its network. IPv6 has no broadcast addresses.
    expect([isHost('2001:db8::', 64), isHost('2001:db8::ffff:ffff:ffff:ffff', 64)]).toEqual([false, true]);
  });

  it.each([
    ['255.255.255.0', 24],
    ['255.255.255.255', 32],
    ['0.0.0.0', 0],
    ['255.0.255.0', undefined],
    ['255.255.255', undefined],
  ])('have a prefix length that follows from a mask: %s gives %s', (mask, bits) => {
    expect(prefixOfMask(mask)).toBe(bits);
  });
});

describe('the IPv4 addresses in an IPv6 address', () => {
  it.each([
    ['::ffff:192.0.2.33', '192.0.2.33'],
    ['::192.0.2.33', '192.0.2.33'],
    ['::ffff:0:192.0.2.33', '192.0.2.33'],
    // The examples of RFC 6052 §2.4, with the prefixes 64:ff9b::/96 and 64:ff9b:1::/48 in the place of theirs.
    ['64:ff9b::192.0.2.33', '192.0.2.33'],
    ['64:ff9b:1:c000:2:2100::', '192.0.2.33'],
    ['64:ff9b:1:c0:0:221::', '192.0.2.33'],
    ['64:ff9b:1:0:c0:2:2100::', '192.0.2.33'],
    ['64:ff9b:1::192.0.2.33', '192.0.2.33'],
    ['2002:c000:221::', '192.0.2.33'],
    // The example of RFC 4380 §4: client 192.0.2.45.
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', '192.0.2.45'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', '65.54.227.120'],
    ['2001:db8::5efe:192.0.2.33', '192.0.2.33'],
    ['fe80::200:5efe:192.0.2.33%eth0', '192.0.2.33'],
  ])('include, for %s, the address %s', (address, embedded) => {
    expect(embeddedIpv4(address)).toContain(embedded);
  });

  it.each(['2001:db8::1', '192.0.2.33', 'fd00::c000:221', 'x'])('do not exist in %s', (address) => {
    expect(embeddedIpv4(address)).toEqual([]);
  });
});

describe('addresses that count as one client', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1:2:3:4%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
  ])('have the same key: that of %s is %s', (address, network) => {
    expect(clientNetwork(address)).toBe(network);
  });
});
