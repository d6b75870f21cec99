import { describe, expect, it } from '@jest/globals';
import type { ManagerInterface, ManagerView } from '../manager-view.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import { requestedNetwork, networkBody, type NetworkBody } from './manager-network-change.js';

const shared = { address: '192.0.2.1', prefix: 24, isOwn: false };
const first = { address: '192.0.2.8', prefix: 24 };
const second = { address: '192.0.2.9', prefix: 24 };

/**
 * Returns an interface with the host's IPv4 address, or with the addresses in `own` instead. Its own IPv6 address is
 * not active.
 */
function interfaceWith(own: readonly (typeof first)[]): ManagerInterface {
  return {
    name: 'eth0',
    mac: null,
    ipv4: own.length === 0 ? [shared] : own.map((one) => ({ ...one, isOwn: true })),
    ipv6: [],
    ownIpv4: own,
    ownIpv6: [{ address: '2001:db8::8', prefix: 64 }],
    ipv4Gateway: '192.0.2.254',
    ipv6Gateway: null,
    linkUp: true,
    speedMbps: null,
    mtu: null,
    vlan: null,
  };
}

const view = (ownNameServers: readonly string[]): Omit<ManagerView, 'interfaces'> => ({
  hostName: 'kvm1',
  fqdn: null,
  nameServers: ownNameServers.length === 0 ? ['192.0.2.53', '192.0.2.54'] : ownNameServers,
  ownNameServers,
});

const ask = (body: NetworkBody, own: readonly (typeof first)[] = [], servers: readonly string[] = []): unknown => {
  const nic = interfaceWith(own);
  try {
    return requestedNetwork(networkBody.parse(body), { ...view(servers), interfaces: [nic] }, nic).change;
  } catch (error) {
    if (!(error instanceof RedfishError)) throw error;
    return error.messages.map(({ key, related }) => [key, ...related].join(' '));
  }
};
const ipv4Change = (...ipv4: readonly (typeof first)[]) => ({ addresses: { device: 'eth0', ipv4 } });
const mask = '255.255.255.0';

describe("a PATCH of a manager's interface", () => {
  it('rejects invalid names, and names that clients parse as an address or as localhost', () => {
    const isAccepted = (body: NetworkBody): boolean => networkBody.safeParse(body).success;
    const bad = ['12345', '0x7f', '0x', 'localhost', 'LOCALHOST', '-a'];
    const good = ['1a', '0xyz', 'localhost1', 'xn--bcher-kva'];
    for (const [names, expected] of [[bad, false] as const, [good, true] as const]) {
      for (const name of names) {
        expect([name, isAccepted({ HostName: name }), isAccepted({ FQDN: `7.${name}` })]).toEqual([
          name,
          expected,
          expected,
        ]);
      }
    }
  });

  it.each<[string, NetworkBody, readonly (typeof first)[], unknown]>([
    [
      'replaces the shared address by an own address',
      { IPv4Addresses: [{ Address: '192.0.2.9', SubnetMask: mask }] },
      [],
      ipv4Change(second),
    ],
    [
      'adds an own address after {} for the shared one',
      { IPv4Addresses: [{}, { Address: '192.0.2.9', SubnetMask: mask }] },
      [],
      ipv4Change(second),
    ],
    [
      'changes nothing if it repeats the shared address',
      { IPv4Addresses: [{ Address: '192.0.2.1', SubnetMask: mask }] },
      [],
      {},
    ],
    ['changes nothing if it has {} for the shared address', { IPv4Addresses: [{}] }, [], {}],
    [
      'keeps an address with {}, and adds another',
      { IPv4StaticAddresses: [{}, { Address: '192.0.2.9', SubnetMask: mask }] },
      [first],
      ipv4Change(first, second),
    ],
    ['removes an address with null', { IPv4StaticAddresses: [null, {}] }, [first, second], ipv4Change(second)],
    [
      'removes the addresses that its shorter list does not have',
      { IPv4Addresses: [{}] },
      [first, second],
      ipv4Change(first),
    ],
    ['removes all addresses with an empty list', { IPv4Addresses: [] }, [first], ipv4Change()],
    [
      'ignores {} and null after the last present address',
      { IPv4StaticAddresses: [{}, {}, null] },
      [first],
      ipv4Change(first),
    ],
    [
      'changes only the mask',
      { IPv4Addresses: [{ SubnetMask: '255.255.0.0' }] },
      [first],
      ipv4Change({ ...first, prefix: 16 }),
    ],
    [
      'accepts the gateway of the host',
      { IPv4Addresses: [{ Address: '192.0.2.9', SubnetMask: mask, Gateway: '192.0.2.254', AddressOrigin: 'Static' }] },
      [],
      ipv4Change(second),
    ],
    [
      'accepts another spelling of an address',
      { IPv6StaticAddresses: [{}, { Address: '2001:DB8:0::9', PrefixLength: 64 }] },
      [],
      {
        addresses: {
          device: 'eth0',
          ipv6: [
            { address: '2001:db8::8', prefix: 64 },
            { address: '2001:db8::9', prefix: 64 },
          ],
        },
      },
    ],
  ])('%s', (_what, body, own, change) => {
    expect(ask(body, own)).toEqual(change);
  });

  it.each<[NetworkBody, readonly (typeof first)[], readonly string[]]>([
    [{ IPv4Addresses: [null] }, [], ['PropertyValueError #/IPv4Addresses/0']],
    [{ IPv4Addresses: [] }, [], ['PropertyValueError #/IPv4Addresses/0']],
    [{ IPv4Addresses: [{ SubnetMask: '255.0.0.0' }] }, [], ['PropertyValueError #/IPv4Addresses/0']],
    [{ IPv4StaticAddresses: [{ Address: '192.0.2.9' }] }, [], ['PropertyMissing #/IPv4StaticAddresses/0/SubnetMask']],
    [{ IPv4StaticAddresses: [{ SubnetMask: mask }] }, [], ['PropertyMissing #/IPv4StaticAddresses/0/Address']],
    [
      { IPv6StaticAddresses: [{ Address: '2001:db8::9' }] },
      [],
      ['PropertyMissing #/IPv6StaticAddresses/0/PrefixLength'],
    ],
    [
      { IPv4Addresses: [{ Address: '192.0.2.9', SubnetMask: mask, Gateway: '192.0.2.7' }] },
      [],
      ['PropertyValueIncorrect #/IPv4Addresses/0/Gateway'],
    ],
    [
      { IPv4Addresses: [{}], IPv4StaticAddresses: [], NameServers: ['::1'], StaticNameServers: [] },
      [first],
      [
        'PropertyValueConflict #/IPv4Addresses #/IPv4StaticAddresses',
        'PropertyValueConflict #/NameServers #/StaticNameServers',
      ],
    ],
  ])('rejects %j for a manager with %j: %j', (body, own, faults) => {
    expect(ask(body, own)).toEqual(faults);
  });

  it.each<[NetworkBody, readonly string[], readonly string[]]>([
    [{ NameServers: ['2001:DB8::53'] }, [], ['2001:db8::53']],
    // A client that repeats the host's name servers does not make them the manager's own, unless it
    // changes the list.
    [{ NameServers: ['192.0.2.53', {}] }, [], []],
    [{ NameServers: [{}, null] }, [], ['192.0.2.53']],
    [{ NameServers: [{}, '192.0.2.55'] }, ['192.0.2.60'], ['192.0.2.60', '192.0.2.55']],
    [{ StaticNameServers: [null] }, ['192.0.2.60'], []],
    [{ NameServers: [] }, ['192.0.2.60'], []],
  ])('applies %j: own name servers %j become %j', (body, own, nameServers) => {
    expect(ask(body, [], own)).toEqual({ nameServers });
  });

  it.each([
    ['HostName', ['web-1', 'W', '1a', 'a'.repeat(63)], ['', 'web.example', '-web', 'web_1', 'a'.repeat(64), 7]],
    ['FQDN', ['web.example.org', '1.example'], ['web', 'web.', 'web..org', '192.0.2.1', `${'a.'.repeat(127)}a`]],
  ])('accepts for %s the values %j, and rejects %j', (name, good, bad) => {
    for (const value of [...good, null])
      expect([value, networkBody.safeParse({ [name]: value }).success]).toEqual([value, true]);
    for (const value of bad) expect([value, networkBody.safeParse({ [name]: value }).success]).toEqual([value, false]);
  });

  it.each([
    { NameServers: ['0.0.0.0'] },
    { NameServers: ['dns.example.org'] },
    { NameServers: ['fe80::1%eth0'] },
    { IPv4Addresses: [{ Address: '192.0.2.300' }] },
    { IPv4Addresses: [{ SubnetMask: '255.0.255.0' }] },
    { IPv4Addresses: [{ AddressOrigin: 'DHCP' }] },
    { IPv4Addresses: [{ Address: '2001:db8::1' }] },
    { IPv6StaticAddresses: [{ PrefixLength: 129 }] },
    { IPv6Addresses: [] },
    { MACAddress: '52:54:00:00:00:01' },
  ])('rejects %j', (body) => {
    expect(networkBody.safeParse(body).success).toBe(false);
  });
});
