/**
 * The Ethernet interfaces of a manager: the host's interfaces at which the service listens. A
 * manager can get its own names and addresses (docs/guides/manager-network.md). A PATCH does not change
 * those of the host.
 */
import type { ManagerAddress, ManagerInterface, ManagerView } from '../manager-view.js';
import { NetworkChangeError } from '../network-plan.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { requestedNetwork, translateNetworkError, networkBody } from './manager-network-change.js';
import { renderCollection } from '../../resources/reference.js';
import { defineResource } from './services.js';
import { enabled } from '../../resources/status.js';
import { subnetMask } from '../../resources/systems/ethernet-interface.js';

const managerInterfaceCollection = defineResource({
  entity: 'EthernetInterfaceCollection',
  odataType: '#EthernetInterfaceCollection.EthernetInterfaceCollection',
  uri: '/redfish/v1/Managers/{managerId}/EthernetInterfaces',
  load: async ({ params, services }) => {
    const { uuid } = await services.driver.getSystem(params.managerId);
    return { uuid, names: services.managerNetwork.viewOf(uuid).interfaces.map(({ name }) => name) };
  },
  canonicalParams: ({ uuid }) => ({ managerId: uuid }),
  render: ({ names }, { self }) =>
    renderCollection(
      'Manager Ethernet Interface Collection',
      names.map((name) => `${self}/${name}`),
    ),
});

interface InterfaceEntity {
  readonly uuid: string;
  readonly network: ManagerView;
  readonly nic: ManagerInterface;
}

const managerInterface = defineResource({
  entity: 'EthernetInterface',
  odataType: '#EthernetInterface.v1_12_4.EthernetInterface',
  uri: '/redfish/v1/Managers/{managerId}/EthernetInterfaces/{interfaceId}',
  load: async ({ params, services }): Promise<InterfaceEntity> => {
    const { uuid } = await services.driver.getSystem(params.managerId);
    const network = services.managerNetwork.viewOf(uuid);
    const nic = network.interfaces.find(({ name }) => name === params.interfaceId);
    if (nic === undefined) throw redfishError('ResourceNotFound', 'EthernetInterface', params.interfaceId);
    return { uuid, network, nic };
  },
  canonicalParams: ({ uuid, nic }) => ({ managerId: uuid, interfaceId: nic.name }),
  render: ({ network, nic }): JsonObject => ({
    Id: nic.name,
    Name: `Manager Ethernet Interface ${nic.name}`,
    Description: `Interface ${nic.name} of the host, which the management controllers of all its machines share`,
    MACAddress: nic.mac,
    InterfaceEnabled: true,
    LinkStatus: nic.linkUp ? 'LinkUp' : 'LinkDown',
    SpeedMbps: nic.speedMbps,
    ...(nic.mtu === null ? {} : { MTUSize: nic.mtu }),
    HostName: network.hostName,
    FQDN: network.fqdn,
    NameServers: network.nameServers,
    // Contains only the servers that a client has set, because the list of the host does not show which
    // of its servers are static.
    StaticNameServers: network.ownNameServers,
    // 0 means no VLAN (802.1Q). Null would mean an error.
    VLAN: { VLANEnable: nic.vlan !== null, VLANId: nic.vlan ?? 0 },
    IPv4Addresses: nic.ipv4.map((address, index) => renderIpv4(address, index === 0 ? nic.ipv4Gateway : undefined)),
    IPv4StaticAddresses: nic.ownIpv4.map(({ address, prefix }) => ({
      Address: address,
      SubnetMask: subnetMask(prefix),
    })),
    IPv6Addresses: nic.ipv6.map(renderIpv6),
    IPv6StaticAddresses: nic.ownIpv6.map(({ address, prefix }) => ({ Address: address, PrefixLength: prefix })),
    IPv6DefaultGateway: nic.ipv6Gateway,
    IPv6StaticDefaultGateways: [],
    Status: enabled,
  }),
  patch: {
    body: networkBody,
    loggedValues: ['HostName', 'FQDN'],
    apply: async ({ uuid, network, nic }, body, { services }) => {
      const requested = requestedNetwork(body, network, nic);
      try {
        await services.managerNetwork.change(uuid, requested.change);
      } catch (error) {
        throw error instanceof NetworkChangeError ? translateNetworkError(error, requested) : error;
      }
      return undefined;
    },
  },
});

/**
 * Renders an address.
 * @param gateway null: the interface has none; undefined: this is not the first address. The schema allows the
 *   property only in the first address.
 */
function renderIpv4({ address, prefix, isOwn }: ManagerAddress, gateway: string | null | undefined): JsonObject {
  const isLinkLocal = address.startsWith('169.254.');
  return {
    Address: address,
    SubnetMask: subnetMask(prefix),
    AddressOrigin: isOwn ? 'Static' : isLinkLocal ? 'IPv4LinkLocal' : null,
    ...(gateway === undefined ? {} : { Gateway: gateway }),
  };
}

function renderIpv6({ address, prefix, isOwn }: ManagerAddress): JsonObject {
  const isLinkLocal = /^fe[89ab]/i.test(address);
  return {
    Address: address,
    PrefixLength: prefix,
    AddressOrigin: isOwn ? 'Static' : isLinkLocal ? 'LinkLocal' : null,
    AddressState: null,
  };
}

/** Ethernet interfaces under a manager. */
export const managerInterfaceResources = [managerInterfaceCollection, managerInterface];
