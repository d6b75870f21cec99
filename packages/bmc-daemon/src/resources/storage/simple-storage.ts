/** SimpleStorage: the disks of a machine by bus. Ironic's inspection reads it first. */
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import { chassisReference } from '../chassis/chassis-place.js';
import { reference, renderCollection } from '../reference.js';
import { defineResource } from '../services.js';
import { enabled, enabledWithParts, waiting } from '../status.js';
import { busName, diskBuses, findBus, type DiskBus } from './disk-bus.js';

const simpleStorageCollection = defineResource({
  entity: 'SimpleStorageCollection',
  odataType: '#SimpleStorageCollection.SimpleStorageCollection',
  uri: '/redfish/v1/Systems/{systemId}/SimpleStorage',
  load: ({ params, services }) => services.driver.getSystem(params.systemId),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: ({ disks }, { self }) =>
    renderCollection(
      'Simple Storage Collection',
      diskBuses(disks).map(({ id }) => `${self}/${id}`),
    ),
});

const simpleStorage = defineResource({
  entity: 'SimpleStorage',
  odataType: '#SimpleStorage.v1_3_2.SimpleStorage',
  uri: '/redfish/v1/Systems/{systemId}/SimpleStorage/{simpleStorageId}',
  load: async ({ params, services }): Promise<{ system: SystemSnapshot; bus: DiskBus }> => {
    const system = await services.driver.getSystem(params.systemId);
    return { system, bus: findBus(system, params.simpleStorageId) };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ system, bus }, { services }) => ({
    Id: bus.id,
    Name: `${busName(bus.id)} Simple Storage`,
    Devices: bus.disks.map((disk) => ({
      Name: disk.target,
      // sushy rejects null.
      ...(disk.capacityBytes === null ? {} : { CapacityBytes: disk.capacityBytes }),
      Status: disk.pending ? waiting : enabled,
    })),
    Status: enabledWithParts,
    Links: {
      Chassis: chassisReference(system.uuid, services.settings),
      Storage: reference(`/redfish/v1/Systems/${system.uuid}/Storage/${bus.id}`),
    },
  }),
});

/** SimpleStorage of a system and its collection. */
export const simpleStorageResources = [simpleStorageCollection, simpleStorage];
