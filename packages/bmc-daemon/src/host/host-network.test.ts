import { hostname, type networkInterfaces } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { readHostNetwork } from './host-network.js';

const entry = (family: 'IPv4' | 'IPv6', address: string, cidr: string, mac: string) =>
  family === 'IPv4'
    ? { family, address, cidr, mac, netmask: '', internal: false }
    : { family, address, cidr, mac, netmask: '', internal: false, scopeid: 0 };

const loopback = '00:00:00:00:00:00';
const interfaces: typeof networkInterfaces = () => ({
  lo: [entry('IPv4', '127.0.0.1', '127.0.0.1/8', loopback)],
  'br0.7': [
    entry('IPv4', '192.0.2.7', '192.0.2.7/26', '52:54:00:00:00:07'),
    entry('IPv4', '192.0.2.8', '192.0.2.8/26', '52:54:00:00:00:07'),
    entry('IPv6', '2001:db8::7', '2001:db8::7/64', '52:54:00:00:00:07'),
  ],
  // An address of a manager. Another service on this host has set it, or a service that was killed.
  'br0.7:bmc': [entry('IPv4', '192.0.2.9', '192.0.2.9/32', '52:54:00:00:00:07')],
  eth1: [entry('IPv4', '198.51.100.1', '198.51.100.1/24', '52:54:00:00:00:08')],
});

const files: Readonly<Record<string, string>> = {
  '/proc/net/route': [
    'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
    'br0.7\t000200C0\t00000000\t0001\t0\t0\t0\tC0FFFFFF\t0\t0\t0',
    'br0.7\t00000000\tFE0200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0',
  ].join('\n'),
  '/proc/net/ipv6_route':
    `${'0'.repeat(32)} 00 ${'0'.repeat(32)} 00 fe800000000000000000000000000001 ` +
    '00000400 00000001 00000000 00000003    br0.7',
  '/sys/class/net/br0.7/operstate': 'up',
  '/sys/class/net/br0.7/speed': '10000',
  '/sys/class/net/br0.7/mtu': '9000',
  '/sys/class/net/lo/speed': '-1',
  '/sys/class/net/lo/operstate': 'unknown',
  '/proc/net/vlan/br0.7': 'br0.7  VID: 7\t REORDER_HDR: 1',
  '/etc/resolv.conf': '# one\nnameserver 192.0.2.53\n nameserver fe80::53%eth0\nsearch example.org',
};
const read = (path: string): string | null => files[path] ?? null;

describe('the network of the host', () => {
  it('lists the interfaces on which the service listens, without addresses of managers, and without loopback if there are others', () => {
    const full = hostname();
    expect(
      readHostNetwork({
        listenUrls: ['127.0.0.1', '192.0.2.8', '192.0.2.9'].map((address) => `https://${address}:8000`),
        interfaces,
        read,
      }),
    ).toEqual({
      hostName: full.split('.')[0],
      fqdn: full.includes('.') ? full : null,
      interfaces: [
        {
          name: 'br0.7',
          mac: '52:54:00:00:00:07',
          ipv4: [
            { address: '192.0.2.7', prefix: 26 },
            { address: '192.0.2.8', prefix: 26 },
          ],
          ipv6: [{ address: '2001:db8::7', prefix: 64 }],
          ipv4Gateway: '192.0.2.254',
          ipv6Gateway: 'fe80::1',
          linkUp: true,
          speedMbps: 10_000,
          mtu: 9000,
          vlan: 7,
        },
      ],
      nameServers: ['192.0.2.53', 'fe80::53'],
    });
  });

  it('has null for values that the kernel does not report, and no interfaces if they cannot be read', () => {
    expect(readHostNetwork({ listenUrls: ['http://localhost:1'], interfaces, read }).interfaces).toEqual([
      {
        name: 'lo',
        mac: null,
        ipv4: [{ address: '127.0.0.1', prefix: 8 }],
        ipv6: [],
        ipv4Gateway: null,
        ipv6Gateway: null,
        linkUp: true,
        speedMbps: null,
        mtu: null,
        vlan: null,
      },
    ]);
    const forbidden = (): never => {
      throw new Error('uv_interface_addresses returned Unknown system error');
    };
    expect(readHostNetwork({ listenUrls: ['http://[::1]:1'], interfaces: forbidden, read }).interfaces).toEqual([]);
  });
});
