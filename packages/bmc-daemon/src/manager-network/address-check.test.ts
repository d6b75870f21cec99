import { describe, expect, it } from '@jest/globals';
import { checkAddress } from './address-check.js';

const surroundings = {
  hostAddresses: [
    { device: 'eth0', address: '192.0.2.1', prefix: 24 },
    { device: 'eth1', address: '10.0.0.1', prefix: 16 },
    { device: 'eth0', address: '2001:db8::1', prefix: 64 },
  ],
  networks: [
    { address: '192.0.2.1', prefix: 24 },
    { address: '2001:db8::1', prefix: 64 },
  ],
  routes: [
    { device: 'eth0', address: '0.0.0.0', prefix: 0, gateway: '192.0.2.254', isConnected: false },
    { device: 'eth0', address: '192.0.2.0', prefix: 24, gateway: null, isConnected: true },
    { device: 'eth1', address: '10.0.0.0', prefix: 16, gateway: null, isConnected: true },
    { device: 'eth0', address: '172.16.0.0', prefix: 24, gateway: null, isConnected: true },
    { device: 'eth0', address: '172.17.0.0', prefix: 24, gateway: '192.0.2.253', isConnected: false },
  ],
};
const checkOf = (text: string, device = 'eth0') => {
  const [address = '', prefix] = text.split('/');
  const verdict = checkAddress({ device, address, prefix: Number(prefix) }, surroundings);
  return typeof verdict === 'number' ? verdict : `${verdict.part}: ${verdict.why}`;
};

describe('an address for a manager', () => {
  it('adds no network within a network of the host, and adds one elsewhere', () => {
    expect([checkOf('192.0.2.9/24'), checkOf('2001:db8::9/64')]).toEqual([32, 128]);
    expect([checkOf('198.51.100.9/24'), checkOf('2001:db8:7::9/64')]).toEqual([24, 64]);
    // This network exists on the interface only because of another manager's address, so the address adds it again.
    expect(checkOf('172.16.0.9/24')).toBe(24);
    expect(checkOf('127.0.0.2/8', 'lo')).toBe(8);
  });

  it.each([
    ['192.0.2.1/24', 'eth0', 'address: the host has it already, on eth0'],
    ['192.0.2.9/16', 'eth0', 'prefix: the network of eth0 with this address has the prefix length 24'],
    ['192.0.2.255/24', 'eth0', "address: it is the address of its network, or the network's broadcast address"],
    ['10.0.7.7/24', 'eth0', 'address: its network overlaps a route of the host, to 10.0.0.0/16 over eth1'],
    ['172.17.0.9/24', 'eth0', 'address: its network overlaps a route of the host, to 172.17.0.0/24 over eth0'],
    ['192.0.2.254/24', 'eth0', 'address: it is the address of a router of the host'],
    ['192.0.2.253/24', 'eth0', 'address: it is the address of a router of the host'],
    ['2001:db8::/64', 'eth0', "address: it is the address of its network, or the network's broadcast address"],
    ['10.9.7.7/8', 'eth0', 'address: its network overlaps a route of the host, to 10.0.0.0/16 over eth1'],
    ['198.51.100.9/7', 'eth0', 'prefix: a prefix length of 7 is not allowed'],
    ['127.0.0.2/8', 'eth0', 'address: it is a loopback address'],
    ['169.254.1.1/16', 'eth0', 'address: it is a link-local address'],
    ['239.0.0.1/8', 'eth0', 'address: it is a multicast or reserved address'],
    ['::1/128', 'eth0', 'address: it is the loopback address'],
    ['::/128', 'eth0', 'address: no host has such an address'],
    ['fe80::7/64', 'eth0', 'address: it is a link-local address'],
    ['::ffff:c000:207/128', 'eth0', 'address: it is an IPv4 address in another spelling'],
    ['192.0.2.9/24', 'lo', 'address: the loopback interface accepts only addresses of 127.0.0.0/8'],
    ['2001:db8::9/64', 'lo', 'address: the loopback interface accepts only addresses of 127.0.0.0/8'],
  ])('cannot be %s on %s: %s', (text, device, why) => {
    expect(checkOf(text, device)).toBe(why);
  });
});
