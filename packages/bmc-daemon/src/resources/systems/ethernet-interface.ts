/** The Ethernet interfaces of a machine. Their ids are MAC addresses. */
import type { InterfaceSnapshot } from '../../drivers/snapshot/hardware-snapshot.js';
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import type { GuestAddress, InterfaceFacts } from '../../drivers/guest-network.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { chassisReference } from '../chassis/chassis-place.js';
import { readSystem } from '../details.js';
import { machineCollection } from '../machine-collection.js';
import { defineResource } from '../services.js';
import { enabled } from '../status.js';

const ethernetInterfaceCollection = machineCollection({
  memberType: 'EthernetInterface',
  name: 'Ethernet Interface Collection',
  uri: '/redfish/v1/Systems/{systemId}/EthernetInterfaces',
  details: ['interfaces'],
  ids: ({ interfaces }) => interfaces.map(({ mac }) => mac),
});

interface InterfaceEntity {
  readonly system: SystemSnapshot;
  readonly nic: InterfaceSnapshot;
  /** Undefined: the driver has no data, for example because the machine is off. */
  readonly facts: InterfaceFacts | undefined;
}

const ethernetInterface = defineResource({
  entity: 'EthernetInterface',
  odataType: '#EthernetInterface.v1_12_4.EthernetInterface',
  uri: '/redfish/v1/Systems/{systemId}/EthernetInterfaces/{interfaceId}',
  load: async ({ params, services }): Promise<InterfaceEntity> => {
    const { driver } = services;
    const system = await readSystem(params.systemId, 'EthernetInterfaces', services, 'interfaces');
    const mac = params.interfaceId.toLowerCase();
    const nic = system.interfaces.find((candidate) => candidate.mac === mac);
    if (nic === undefined) throw redfishError('ResourceNotFound', 'EthernetInterface', params.interfaceId);
    return { system, nic, facts: (await driver.guestNetwork?.facts(system.uuid))?.get(mac) };
  },
  canonicalParams: ({ system, nic }) => ({ systemId: system.uuid, interfaceId: nic.mac }),
  render: ({ system, nic, facts }, { services }) => ({
    Id: nic.mac,
    Name: `Ethernet Interface ${nic.mac}`,
    ...(nic.source === null ? {} : { Description: `${nic.model ?? 'Interface'} on ${nic.type} ${nic.source}` }),
    MACAddress: nic.mac,
    PermanentMACAddress: nic.mac,
    InterfaceEnabled: true,
    LinkStatus: nic.linkUp ? 'LinkUp' : 'LinkDown',
    // Without data the speed is null: a virtual link has no fixed speed.
    SpeedMbps: facts?.speedMbps ?? null,
    ...renderNames(facts),
    NameServers: [],
    IPv4Addresses: (facts?.ipv4 ?? []).map(renderIpv4),
    IPv6Addresses: (facts?.ipv6 ?? []).map(renderIpv6),
    // The status is Enabled and OK even without a link, because Ironic's inspection ignores interfaces
    // with another status.
    Status: enabled,
    Links: { Chassis: chassisReference(system.uuid, services.settings) },
  }),
});

/** Renders the guest's host name, short and with its domain; null if unknown. */
function renderNames(facts: InterfaceFacts | undefined): JsonObject {
  const { hostName = null, domainName = null } = facts ?? {};
  if (hostName === null) return { HostName: null, FQDN: null };
  const full = hostName.includes('.') || domainName === null ? hostName : `${hostName}.${domainName}`;
  return { HostName: hostName.split('.')[0] ?? hostName, FQDN: full.includes('.') ? full : null };
}

function renderIpv4({ address, prefix, origin }: GuestAddress): JsonObject {
  return {
    Address: address,
    SubnetMask: subnetMask(prefix),
    AddressOrigin: origin === 'dhcp' ? 'DHCP' : address.startsWith('169.254.') ? 'IPv4LinkLocal' : null,
    // The service does not read the routes of the guest.
    Gateway: null,
  };
}

function renderIpv6({ address, prefix, origin }: GuestAddress): JsonObject {
  return {
    Address: address,
    PrefixLength: prefix,
    AddressOrigin: origin === 'dhcp' ? 'DHCPv6' : /^fe[89ab]/i.test(address) ? 'LinkLocal' : null,
    AddressState: null,
  };
}

/** Returns the subnet mask of a prefix length: `255.255.255.0` for 24. */
export function subnetMask(prefix: number): string {
  return [0, 8, 16, 24].map((from) => 256 - 2 ** (8 - Math.min(8, Math.max(0, prefix - from)))).join('.');
}

/**
 * Ethernet interfaces under a system.
 * @see DSP2046, EthernetInterface; https://libvirt.org/formatdomain.html#network-interfaces
 */
export const ethernetInterfaceResources = [ethernetInterfaceCollection, ethernetInterface];
