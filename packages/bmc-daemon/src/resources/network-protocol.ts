/** The protocols of a management controller, which are this service's own: one port, with or without TLS. */
import type { HostNetwork } from '../host-network.js';
import type { JsonObject } from '../redfish/resource.js';
import { defineResource } from './services.js';
import { enabled } from './status.js';

interface ProtocolEntity extends Pick<HostNetwork, 'hostName' | 'fqdn'> {
  readonly uuid: string;
  /** `https:`; every address has the same. */
  readonly scheme: string;
  readonly port: number;
}

/** Read-only: another port, or TLS, is a matter of the configuration file, for all machines at once. */
export const networkProtocol = defineResource({
  entity: 'ManagerNetworkProtocol',
  odataType: '#ManagerNetworkProtocol.v1_12_0.ManagerNetworkProtocol',
  uri: '/redfish/v1/Managers/{managerId}/NetworkProtocol',
  load: async ({ params, services }): Promise<ProtocolEntity> => {
    const { uuid } = await services.driver.getSystem(params.managerId);
    const { addresses } = services.controller;
    const { hostName, fqdn } = services.managerNetwork.of(uuid);
    const { protocol, port } = new URL(addresses[0] ?? 'http://localhost');
    // A URL leaves its protocol's usual port out.
    return { uuid, hostName, fqdn, scheme: protocol, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
  },
  canonicalParams: ({ uuid }) => ({ managerId: uuid }),
  render: ({ hostName, fqdn, scheme, port }): JsonObject => ({
    Id: 'NetworkProtocol',
    Name: 'Manager Network Protocol',
    HostName: hostName,
    FQDN: fqdn,
    HTTP: renderProtocol(scheme === 'http:', port),
    HTTPS: renderProtocol(scheme === 'https:', port),
    Status: enabled,
  }),
});

/** What speaks plain HTTP to the port of TLS is sent elsewhere, and not served: that counts as off. */
function renderProtocol(isServed: boolean, port: number): JsonObject {
  return { ProtocolEnabled: isServed, Port: isServed ? port : null };
}
