/** Where every client begins. Only what answers is linked. */
import { product, vendor } from '../version.js';
import { reference } from './reference.js';
import { defineResource } from './services.js';

const nothing = {};

/** Readable without credentials (DSP0266, security requirements of the service root). */
export const serviceRoot = defineResource({
  entity: 'ServiceRoot',
  odataType: '#ServiceRoot.v1_20_0.ServiceRoot',
  uri: '/redfish/v1',
  open: true,
  load: () => nothing,
  render: (_entity, { services }) => ({
    Id: 'RootService',
    Name: 'Root Service',
    RedfishVersion: '1.20.0',
    UUID: services.serviceUuid,
    Product: product,
    Vendor: vendor,
    Systems: reference('/redfish/v1/Systems'),
    Managers: reference('/redfish/v1/Managers'),
    Chassis: reference('/redfish/v1/Chassis'),
    Tasks: reference('/redfish/v1/TaskService'),
    SessionService: reference('/redfish/v1/SessionService'),
    AccountService: reference('/redfish/v1/AccountService'),
    // Required by the schema.
    Links: { Sessions: reference('/redfish/v1/SessionService/Sessions') },
  }),
});
