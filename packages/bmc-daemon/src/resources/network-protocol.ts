/** The protocols of a management controller, which are this service's own: one port, with or without TLS, and how it is found. */
import { z } from 'zod';
import type { HostNetwork } from '../host-network.js';
import { RedfishError } from '../redfish/errors.js';
import { message, sentence, withDetail } from '../redfish/messages.js';
import type { JsonObject } from '../redfish/resource.js';
import { DiscoveryError, type DiscoverySettings } from '../ssdp/discovery.js';
import { httpsCertificatesUri } from './https-certificate.js';
import { reference } from './reference.js';
import { defineResource } from './services.js';
import { enabled } from './status.js';

interface ProtocolEntity extends Pick<HostNetwork, 'hostName' | 'fqdn'> {
  readonly uuid: string;
  /** `https:`; every address has the same. */
  readonly scheme: string;
  readonly port: number;
  readonly hasCertificate: boolean;
  readonly ssdp: DiscoverySettings & { readonly port: number };
}

/**
 * Another port, or TLS, is a matter of the configuration file. What can be changed here is changed for the managers of all machines:
 * there is one service behind them.
 */
export const networkProtocol = defineResource({
  entity: 'ManagerNetworkProtocol',
  odataType: '#ManagerNetworkProtocol.v1_12_0.ManagerNetworkProtocol',
  uri: '/redfish/v1/Managers/{managerId}/NetworkProtocol',
  load: async ({ params, services }): Promise<ProtocolEntity> => {
    const { uuid } = await services.driver.getSystem(params.managerId);
    const { addresses } = services.controller;
    const { hostName, fqdn } = services.managerNetwork.of(uuid);
    const { settings, port: ssdpPort } = services.discovery;
    const { protocol, port } = new URL(addresses[0] ?? 'http://localhost');
    // A URL leaves its protocol's usual port out.
    return {
      uuid,
      hostName,
      fqdn,
      scheme: protocol,
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
      hasCertificate: services.serverCertificate !== null,
      ssdp: { ...settings, port: ssdpPort },
    };
  },
  canonicalParams: ({ uuid }) => ({ managerId: uuid }),
  render: ({ uuid, hostName, fqdn, scheme, port, hasCertificate, ssdp }, { services }): JsonObject => ({
    Id: 'NetworkProtocol',
    Name: 'Manager Network Protocol',
    HostName: hostName,
    FQDN: fqdn,
    HTTP: renderProtocol(scheme === 'http:', port),
    HTTPS: {
      ...renderProtocol(scheme === 'https:', port),
      ...(hasCertificate ? { Certificates: reference(httpsCertificatesUri(uuid)) } : {}),
    },
    // For consoles, and nothing else.
    SSH: renderProtocol(services.consoleSsh !== null, services.consoleSsh?.port ?? 0),
    SSDP: {
      ProtocolEnabled: ssdp.enabled,
      Port: ssdp.port,
      NotifyMulticastIntervalSeconds: ssdp.notifyIntervalSeconds,
      NotifyTTL: ssdp.notifyTtl,
      // Nothing is announced over IPv6. OCP's profile asks for the property.
      NotifyIPv6Scope: null,
    },
    Status: enabled,
  }),
  patch: {
    body: z.strictObject({
      SSDP: z
        .strictObject({
          ProtocolEnabled: z.boolean().optional(),
          NotifyMulticastIntervalSeconds: z.int().min(0).max(86_400).optional(),
          NotifyTTL: z.int().min(1).max(255).optional(),
        })
        .optional(),
    }),
    loggedValues: ['SSDP.ProtocolEnabled', 'SSDP.NotifyMulticastIntervalSeconds', 'SSDP.NotifyTTL'],
    async apply(_entity, { SSDP: ssdp = {} }, { services }) {
      const { ProtocolEnabled: on, NotifyMulticastIntervalSeconds: interval, NotifyTTL: ttl } = ssdp;
      try {
        await services.discovery.change({
          ...(on === undefined ? {} : { enabled: on }),
          ...(interval === undefined ? {} : { notifyIntervalSeconds: interval }),
          ...(ttl === undefined ? {} : { notifyTtl: ttl }),
        });
      } catch (error) {
        if (!(error instanceof DiscoveryError)) throw error;
        throw new RedfishError(500, [withDetail(message('OperationFailed'), sentence(error.message))], {}, error);
      }
      return undefined;
    },
  },
});

/** What speaks plain HTTP to the port of TLS is sent elsewhere, and not served: that counts as off. */
function renderProtocol(isServed: boolean, port: number): JsonObject {
  return { ProtocolEnabled: isServed, Port: isServed ? port : null };
}
