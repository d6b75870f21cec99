/** SimpleStorage: the disks of a machine by bus. Ironic's inspection reads it before Storage. */
import { chassisReference } from '../chassis/chassis-place.js';
import { readSystem, type SystemWith } from '../details.js';
import { machineCollection } from '../machine-collection.js';
import { reference } from '../reference.js';
import { defineResource } from '../services.js';
import { enabled, enabledWithParts, waiting } from '../status.js';
import { busName, diskBuses, findBus, type DiskBus } from './disk-bus.js';
import { storageUnits } from './storage-unit.js';

const simpleStorageCollection = machineCollection({
  memberType: 'SimpleStorage',
  name: 'Simple Storage Collection',
  uri: '/redfish/v1/Systems/{systemId}/SimpleStorage',
  details: ['disks'],
  ids: ({ disks }) => diskBuses(disks).map(({ id }) => id),
});

const simpleStorage = defineResource({
  entity: 'SimpleStorage',
  odataType: '#SimpleStorage.v1_3_2.SimpleStorage',
  uri: '/redfish/v1/Systems/{systemId}/SimpleStorage/{simpleStorageId}',
  load: async ({ params, services }): Promise<{ system: SystemWith<'disks'>; bus: DiskBus }> => {
    const system = await readSystem(params.systemId, 'SimpleStorage', services, 'disks');
    return { system, bus: findBus(system, params.simpleStorageId) };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ system, bus }, { services }) => ({
    Id: bus.id,
    Name: `${busName(bus.id)} Simple Storage`,
    Devices: bus.disks.map((disk) => ({
      Name: disk.target,
      // sushy rejects null, so an unknown capacity is absent.
      ...(disk.capacityBytes === null ? {} : { CapacityBytes: disk.capacityBytes }),
      Status: disk.pending ? waiting : enabled,
    })),
    Status: enabledWithParts,
    Links: {
      Chassis: chassisReference(system.uuid, services.settings),
      // The storages of EMULATOR_STORAGE replace those of the buses.
      ...(storageUnits(system, services).some(({ id }) => id === bus.id)
        ? { Storage: reference(`/redfish/v1/Systems/${system.uuid}/Storage/${bus.id}`) }
        : {}),
    },
  }),
});

/**
 * SimpleStorage of a system and its collection.
 * @see DSP2046, SimpleStorage
 */
export const simpleStorageResources = [simpleStorageCollection, simpleStorage];
