/** A chassis for every machine: a guest shares its host's with nobody that it could know of. */
import { vendor, version } from '../version.js';
import { inOrder } from './members.js';
import { reference, renderCollection } from './reference.js';
import { defineResource } from './services.js';
import { powerState, systemStatus } from './status.js';

const chassisCollection = defineResource({
  entity: 'ChassisCollection',
  odataType: '#ChassisCollection.ChassisCollection',
  uri: '/redfish/v1/Chassis',
  load: async ({ services }) => inOrder(await services.driver.listSystems(), 'ascending'),
  render: (machines, { self }) =>
    renderCollection(
      'Chassis Collection',
      machines.map(({ uuid }) => `${self}/${uuid}`),
    ),
});

const chassis = defineResource({
  entity: 'Chassis',
  odataType: '#Chassis.v1_28_0.Chassis',
  uri: '/redfish/v1/Chassis/{chassisId}',
  load: ({ params, services }) => services.driver.getSystem(params.chassisId),
  canonicalParams: ({ uuid }) => ({ chassisId: uuid }),
  render: ({ uuid, name, state, sysinfo }) => ({
    Id: uuid,
    UUID: uuid,
    Name: `${name} Chassis`,
    ChassisType: 'Other',
    Manufacturer: sysinfo.manufacturer ?? vendor,
    Model: sysinfo.product ?? `${vendor} ${version}`,
    SerialNumber: sysinfo.serial,
    SKU: sysinfo.sku,
    PowerState: powerState(state),
    Status: systemStatus(state),
    Links: {
      ComputerSystems: [reference(`/redfish/v1/Systems/${uuid}`)],
      'ComputerSystems@odata.count': 1,
      ManagedBy: [reference(`/redfish/v1/Managers/${uuid}`)],
      'ManagedBy@odata.count': 1,
    },
  }),
});

/** The collection of chassis and its members. */
export const chassisResources = [chassisCollection, chassis];
