/** Volumes: each drive is one, whole and without redundancy. Ironic looks for the disk to install to here first. */
import type { DiskSnapshot, SystemSnapshot } from '../drivers/driver.js';
import { busName, findBus, findDisk, type DiskBus } from './disk-bus.js';
import { reference, renderCollection } from './reference.js';
import { defineResource } from './services.js';
import { enabled } from './status.js';

const volumeCollection = defineResource({
  entity: 'VolumeCollection',
  odataType: '#VolumeCollection.VolumeCollection',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Volumes',
  load: async ({ params, services }): Promise<{ system: SystemSnapshot; bus: DiskBus }> => {
    const system = await services.driver.getSystem(params.systemId);
    return { system, bus: findBus(system, params.storageId, 'Storage') };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ bus }, { self }) =>
    renderCollection(
      'Volume Collection',
      bus.disks.map(({ target }) => `${self}/${target}`),
    ),
});

const volume = defineResource({
  entity: 'Volume',
  odataType: '#Volume.v1_10_2.Volume',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Volumes/{volumeId}',
  load: async ({ params, services }): Promise<{ system: SystemSnapshot; bus: DiskBus; disk: DiskSnapshot }> => {
    const system = await services.driver.getSystem(params.systemId);
    const bus = findBus(system, params.storageId, 'Storage');
    return { system, bus, disk: findDisk(bus, params.volumeId, 'Volume') };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ system, bus, disk }) => ({
    Id: disk.target,
    Name: `${busName(bus.id)} Volume ${disk.target}`,
    CapacityBytes: disk.capacityBytes,
    // DMTF: no redundancy at the level of the device.
    RAIDType: 'None',
    Status: enabled,
    Links: {
      Drives: [reference(`/redfish/v1/Systems/${system.uuid}/Storage/${bus.id}/Drives/${disk.target}`)],
      'Drives@odata.count': 1,
    },
  }),
});

/** Volumes under a storage. */
export const volumeResources = [volumeCollection, volume];
