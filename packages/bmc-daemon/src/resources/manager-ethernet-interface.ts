/**
 * The ports of a management controller: the host's network interfaces that this service can be reached over. Names and addresses of
 * its own can be given to it (docs/guides/manager-network.md); the host's stay as they are.
 */
import type { ManagerAddress, ManagerInterface, ManagerView } from '../manager-network/manager-view.js';
import { NetworkChangeError } from '../manager-network/network-plan.js';
import { refuse } from '../redfish/errors.js';
import type { JsonObject } from '../redfish/resource.js';
import { subnetMask } from './ethernet-interface.js';
import { askedNetwork, describeFaults, networkBody } from './manager-network-change.js';
import { renderCollection } from './reference.js';
import { defineResource } from './services.js';
import { enabled } from './status.js';

const managerInterfaceCollection = defineResource({
  entity: 'EthernetInterfaceCollection',
  odataType: '#EthernetInterfaceCollection.EthernetInterfaceCollection',
  uri: '/redfish/v1/Managers/{managerId}/EthernetInterfaces',
  load: async ({ params, services }) => {
    const { uuid } = await services.driver.getSystem(params.managerId);
    return { uuid, names: services.managerNetwork.of(uuid).interfaces.map(({ name }) => name) };
  },
  canonicalParams: ({ uuid }) => ({ managerId: uuid }),
  render: ({ names }, { self }) =>
    renderCollection(
      'Manager Ethernet Interface Collection',
      names.map((name) => `${self}/${name}`),
    ),
});

interface PortEntity {
  readonly uuid: string;
  readonly network: ManagerView;
  readonly port: ManagerInterface;
}

const managerInterface = defineResource({
  entity: 'EthernetInterface',
  odataType: '#EthernetInterface.v1_12_4.EthernetInterface',
  uri: '/redfish/v1/Managers/{managerId}/EthernetInterfaces/{interfaceId}',
  load: async ({ params, services }): Promise<PortEntity> => {
    const { uuid } = await services.driver.getSystem(params.managerId);
    const network = services.managerNetwork.of(uuid);
    const port = network.interfaces.find(({ name }) => name === params.interfaceId);
    if (port === undefined) throw refuse('ResourceNotFound', 'EthernetInterface', params.interfaceId);
    return { uuid, network, port };
  },
  canonicalParams: ({ uuid, port }) => ({ managerId: uuid, interfaceId: port.name }),
  render: ({ network, port }): JsonObject => ({
    Id: port.name,
    Name: `Manager Ethernet Interface ${port.name}`,
    Description: `Interface ${port.name} of the host, which the management controllers of all its machines share`,
    MACAddress: port.mac,
    InterfaceEnabled: true,
    LinkStatus: port.linkUp ? 'LinkUp' : 'LinkDown',
    SpeedMbps: port.speedMbps,
    ...(port.mtu === null ? {} : { MTUSize: port.mtu }),
    HostName: network.hostName,
    FQDN: network.fqdn,
    NameServers: network.nameServers,
    // Of what is the host's the kernel does not tell what is static.
    StaticNameServers: network.ownNameServers,
    // 0 is no VLAN (802.1Q); null would say that there was an error.
    VLAN: { VLANEnable: port.vlan !== null, VLANId: port.vlan ?? 0 },
    IPv4Addresses: port.ipv4.map((address, index) => renderIpv4(address, index === 0 ? port.ipv4Gateway : undefined)),
    IPv4StaticAddresses: port.ownIpv4.map(({ address, prefix }) => ({
      Address: address,
      SubnetMask: subnetMask(prefix),
    })),
    IPv6Addresses: port.ipv6.map(renderIpv6),
    IPv6StaticAddresses: port.ownIpv6.map(({ address, prefix }) => ({ Address: address, PrefixLength: prefix })),
    IPv6DefaultGateway: port.ipv6Gateway,
    IPv6StaticDefaultGateways: [],
    Status: enabled,
  }),
  patch: {
    body: networkBody,
    loggedValues: ['HostName', 'FQDN'],
    apply: async ({ uuid, network, port }, body, { services }) => {
      const asked = askedNetwork(body, network, port);
      try {
        await services.managerNetwork.change(uuid, asked.change);
      } catch (error) {
        throw error instanceof NetworkChangeError ? describeFaults(error, asked) : error;
      }
      return undefined;
    },
  },
});

/** @param gateway of the first address alone, as DMTF has it. */
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
