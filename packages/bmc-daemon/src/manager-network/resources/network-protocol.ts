/** The network protocols of a manager: HTTP or HTTPS, SSH and SSDP of this service. */
import { z } from 'zod';
import type { HostNetwork } from '../../host/host-network.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import { message, sentence, withDetail } from '../../redfish/messages/messages.js';
import type { JsonObject } from '../../redfish/resource.js';
import { DiscoveryError, type DiscoverySettings } from '../../offers/discovery-control.js';
import { reference } from '../../resources/reference.js';
import { defineResource } from './services.js';
import { enabled } from '../../resources/status.js';

interface SsdpSettings extends DiscoverySettings {
  readonly port: number;
}

interface ProtocolEntity extends Pick<HostNetwork, 'hostName' | 'fqdn'> {
  readonly uuid: string;
  /** `http:` or `https:`. All addresses have the same scheme. */
  readonly scheme: string;
  readonly port: number;
  readonly hasCertificate: boolean;
  /** Null without the feature `discovery`. */
  readonly ssdp: SsdpSettings | null;
}

/**
 * The network protocols. A PATCH changes SSDP for all managers, because they are one service. Port
 * and TLS are in the configuration file.
 */
export const networkProtocol = defineResource({
  entity: 'ManagerNetworkProtocol',
  odataType: '#ManagerNetworkProtocol.v1_12_0.ManagerNetworkProtocol',
  uri: '/redfish/v1/Managers/{managerId}/NetworkProtocol',
  load: async ({ params, services }): Promise<ProtocolEntity> => {
    const { uuid } = await services.driver.getSystem(params.managerId);
    const { addresses } = services.controller;
    const { hostName, fqdn } = services.managerNetwork.viewOf(uuid);
    const { discovery } = services;
    const { protocol, port } = new URL(addresses[0] ?? 'http://localhost');
    // A URL omits the default port of its protocol.
    return {
      uuid,
      hostName,
      fqdn,
      scheme: protocol,
      port: Number(port || (protocol === 'https:' ? 443 : 80)),
      hasCertificate: services.serverCertificate !== null,
      ssdp: discovery === null ? null : { ...discovery.settings, port: discovery.port },
    };
  },
  canonicalParams: ({ uuid }) => ({ managerId: uuid }),
  render: ({ hostName, fqdn, scheme, port, hasCertificate, ssdp }, { self, services }): JsonObject => ({
    Id: 'NetworkProtocol',
    Name: 'Manager Network Protocol',
    HostName: hostName,
    FQDN: fqdn,
    HTTP: renderProtocol(scheme === 'http:', port),
    HTTPS: {
      ...renderProtocol(scheme === 'https:', port),
      ...(hasCertificate ? { Certificates: reference(`${self}/HTTPS/Certificates`) } : {}),
    },
    // SSH serves consoles only.
    SSH: renderProtocol(services.consoleSsh !== null, services.consoleSsh?.port ?? 0),
    ...(ssdp === null ? {} : { SSDP: renderSsdp(ssdp) }),
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
        await services.discovery?.change({
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

function renderSsdp({ enabled: isEnabled, port, notifyIntervalSeconds, notifyTtl }: SsdpSettings): JsonObject {
  return {
    ProtocolEnabled: isEnabled,
    Port: port,
    NotifyMulticastIntervalSeconds: notifyIntervalSeconds,
    NotifyTTL: notifyTtl,
    // The service sends no announcements over IPv6, but the Open Compute Project's profile requires the property.
    NotifyIPv6Scope: null,
  };
}

/**
 * Renders HTTP, HTTPS or SSH. A TLS port redirects plain HTTP requests, so HTTP counts as disabled
 * on a TLS port.
 */
function renderProtocol(isServed: boolean, port: number): JsonObject {
  return { ProtocolEnabled: isServed, Port: isServed ? port : null };
}
