/**
 * The service root, from which every client starts. It links to the services that this daemon
 * serves.
 */
import { protocolFeatures } from '../../redfish/query/features.js';
import { product, redfishVersion, vendor } from '../../version.js';
import { reference } from '../reference.js';
import { defineResource } from '../services.js';

/** The service root has no data that change, so its entity is always the same object, and its rendering is cached. */
const emptyEntity = {};

const sessions = '/redfish/v1/SessionService/Sessions';

/** URIs of the link properties, in the order of the response. */
const links = {
  Systems: '/redfish/v1/Systems',
  Managers: '/redfish/v1/Managers',
  Chassis: '/redfish/v1/Chassis',
  Tasks: '/redfish/v1/TaskService',
  SessionService: '/redfish/v1/SessionService',
  AccountService: '/redfish/v1/AccountService',
  EventService: '/redfish/v1/EventService',
  UpdateService: '/redfish/v1/UpdateService',
  CertificateService: '/redfish/v1/CertificateService',
  TelemetryService: '/redfish/v1/TelemetryService',
  Registries: '/redfish/v1/Registries',
  JsonSchemas: '/redfish/v1/JsonSchemas',
} as const;

/** The service root. Clients can read it without a login (DSP0266, security requirements). */
export const serviceRoot = defineResource({
  entity: 'ServiceRoot',
  odataType: '#ServiceRoot.v1_20_0.ServiceRoot',
  uri: '/redfish/v1',
  needsNoLogin: true,
  load: () => emptyEntity,
  render: (_entity, { services, isServed }) => ({
    Id: 'RootService',
    Name: 'Root Service',
    RedfishVersion: redfishVersion,
    UUID: services.serviceUuid,
    Product: product,
    Vendor: vendor,
    ProtocolFeaturesSupported: protocolFeatures,
    ...Object.fromEntries(
      Object.entries(links).flatMap(([name, uri]) => (isServed(uri) ? [[name, reference(uri)] as const] : [])),
    ),
    // The schema requires Sessions. A service without the feature `accounts` has no sessions.
    Links: isServed(sessions) ? { Sessions: reference(sessions) } : {},
  }),
});
