import { describe, expect, it } from '@jest/globals';
import { serveResources } from '../../../test/support/served-resources.js';
import { FakeDriver } from '../../drivers/fake/fake-driver.js';
import { sampleMachines } from '../../drivers/fake/sample-machines.js';
import type { GuestNetwork, InterfaceFacts } from '../../drivers/guest-network.js';
import { subnetMask } from './ethernet-interface.js';

const [off, running] = sampleMachines(2);
if (off === undefined || running === undefined) throw new Error('two machines expected');

/** A driver that reports the given facts for the first interface of the running machine. */
class GuestNetworkDriver extends FakeDriver {
  override readonly guestNetwork: GuestNetwork;
  constructor(facts: InterfaceFacts) {
    super({ machines: sampleMachines(2) });
    this.guestNetwork = { facts: () => Promise.resolve(new Map([[running?.interfaces[0]?.mac ?? '', facts]])) };
  }
}

async function read(driver: FakeDriver, machine: typeof off, index = 0): Promise<Readonly<Record<string, unknown>>> {
  const served = await serveResources(driver);
  try {
    const mac = machine?.interfaces[index]?.mac ?? '';
    return await served.get(`/redfish/v1/Systems/${machine?.uuid ?? ''}/EthernetInterfaces/${mac}`);
  } finally {
    await served.close();
  }
}

const none: InterfaceFacts = { ipv4: [], ipv6: [], hostName: null, domainName: null, speedMbps: null };
const ofGuest = ({
  HostName,
  FQDN,
  SpeedMbps,
  IPv4Addresses,
  IPv6Addresses,
  NameServers,
}: Awaited<ReturnType<typeof read>>) => ({
  HostName,
  FQDN,
  SpeedMbps,
  IPv4Addresses,
  IPv6Addresses,
  NameServers,
});
const nothing = { HostName: null, FQDN: null, SpeedMbps: null, IPv4Addresses: [], IPv6Addresses: [], NameServers: [] };

describe('an Ethernet interface', () => {
  it('shows no data of the guest if the machine is off', async () => {
    const body = await read(new FakeDriver(), off);
    expect(body).toMatchObject({
      MACAddress: off.interfaces[0]?.mac,
      InterfaceEnabled: true,
      LinkStatus: 'LinkUp',
      Status: { State: 'Enabled', Health: 'OK' },
    });
    expect(ofGuest(body)).toEqual(nothing);
  });

  it('shows the addresses and the host name of the guest if the guest runs', async () => {
    const ipv4 = { address: '10.0.2.10', prefix: 8, origin: 'dhcp' };
    expect(ofGuest(await read(new FakeDriver(), running))).toEqual({
      ...nothing,
      HostName: 'node-2',
      FQDN: 'node-2.example.org',
      IPv4Addresses: [{ Address: ipv4.address, SubnetMask: '255.0.0.0', AddressOrigin: 'DHCP', Gateway: null }],
    });
  });

  it('is Enabled and OK even without a link, because Ironic ignores interfaces with another status', async () => {
    expect(await read(new FakeDriver(), running, 1)).toMatchObject({
      LinkStatus: 'LinkDown',
      Status: { State: 'Enabled', Health: 'OK' },
    });
  });

  it('shows known address origins, the speed of the link, and the parts of the host name', async () => {
    const facts: InterfaceFacts = {
      ...none,
      speedMbps: 1000,
      hostName: 'web.lab.test',
      domainName: 'other.test',
      ipv4: [
        { address: '192.0.2.1', prefix: 22, origin: null },
        { address: '169.254.7.7', prefix: 16, origin: null },
      ],
      ipv6: [
        { address: '2001:db8::1', prefix: 64, origin: 'dhcp' },
        { address: 'fe80::1', prefix: 64, origin: null },
        { address: '2001:db8::2', prefix: 64, origin: null },
      ],
    };
    const [v4, v6] = [{ Gateway: null }, { PrefixLength: 64, AddressState: null }];
    expect(ofGuest(await read(new GuestNetworkDriver(facts), running))).toEqual({
      HostName: 'web',
      FQDN: 'web.lab.test',
      SpeedMbps: 1000,
      NameServers: [],
      IPv4Addresses: [
        { ...v4, Address: '192.0.2.1', SubnetMask: '255.255.252.0', AddressOrigin: null },
        { ...v4, Address: '169.254.7.7', SubnetMask: '255.255.0.0', AddressOrigin: 'IPv4LinkLocal' },
      ],
      IPv6Addresses: [
        { ...v6, Address: '2001:db8::1', AddressOrigin: 'DHCPv6' },
        { ...v6, Address: 'fe80::1', AddressOrigin: 'LinkLocal' },
        { ...v6, Address: '2001:db8::2', AddressOrigin: null },
      ],
    });
    const plain = await read(new GuestNetworkDriver({ ...none, hostName: 'web' }), running);
    expect([plain['HostName'], plain['FQDN']]).toEqual(['web', null]);
  });
});

describe('a subnet mask', () => {
  it.each([
    [0, '0.0.0.0'],
    [8, '255.0.0.0'],
    [20, '255.255.240.0'],
    [25, '255.255.255.128'],
    [32, '255.255.255.255'],
  ])('follows from the prefix length %i: %s', (prefix, mask) => {
    expect(subnetMask(prefix)).toBe(mask);
  });
});
