/** Volumes: each drive is one, whole and without redundancy. Ironic looks for the disk to install to here first. */
import type { DiskSnapshot } from '../drivers/driver.js';
import { busName, findDisk, loadStorage, type StorageEntity } from './disk-bus.js';
import { reference, renderCollection } from './reference.js';
import { defineResource } from './services.js';
import { enabled } from './status.js';

const volumeCollection = defineResource({
  entity: 'VolumeCollection',
  odataType: '#VolumeCollection.VolumeCollection',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Volumes',
  load: loadStorage,
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
  load: async (request): Promise<StorageEntity & { readonly disk: DiskSnapshot }> => {
    const entity = await loadStorage(request);
    return { ...entity, disk: findDisk(entity.bus, request.params.volumeId, 'Volume') };
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
