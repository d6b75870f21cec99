/**
 * Storage and its controllers. storage-unit.ts lists the storages; drive.ts renders the drives, and
 * volume.ts the volumes.
 */
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import { redfishError } from '../../redfish/messages/errors.js';
import { chassisReference } from '../chassis/chassis-place.js';
import { reference, renderCollection } from '../reference.js';
import { defineResource } from '../services.js';
import { enabled, enabledWithParts } from '../status.js';
import {
  hasStorage,
  loadStorage,
  storageUnits,
  type ControllerUnit,
  type StorageEntity,
  type StorageUnit,
} from './storage-unit.js';

const storageCollection = defineResource({
  entity: 'StorageCollection',
  odataType: '#StorageCollection.StorageCollection',
  uri: '/redfish/v1/Systems/{systemId}/Storage',
  load: async ({ params, services }): Promise<{ system: SystemSnapshot; units: readonly StorageUnit[] }> => {
    const system = await services.driver.getSystem(params.systemId, ['disks']);
    if (!hasStorage(system, services.settings)) {
      throw redfishError('ResourceMissingAtURI', `/redfish/v1/Systems/${params.systemId}/Storage`);
    }
    return { system, units: storageUnits(system, services) };
  },
  canonicalParams: ({ system }) => ({ systemId: system.uuid }),
  render: ({ units }, { self }) =>
    renderCollection(
      'Storage Collection',
      units.map(({ id }) => `${self}/${id}`),
    ),
});

const storage = defineResource({
  entity: 'Storage',
  odataType: '#Storage.v1_21_0.Storage',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}',
  load: loadStorage,
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ system, storage: { id, name, drives, configured } }, { self, services }) => ({
    Id: id,
    Name: name,
    Controllers: reference(`${self}/Controllers`),
    'Drives@odata.count': drives.length,
    Drives: drives.map((drive) => reference(`${self}/Drives/${drive.id}`)),
    Volumes: reference(`${self}/Volumes`),
    Status: enabledWithParts,
    Links: {
      Enclosures: [chassisReference(system.uuid, services.settings)],
      'Enclosures@odata.count': 1,
      // Only a bus with disks has a SimpleStorage. A configured storage has none.
      ...(configured !== null || drives.length === 0
        ? {}
        : { SimpleStorage: reference(`/redfish/v1/Systems/${system.uuid}/SimpleStorage/${id}`) }),
    },
  }),
});

const storageControllerCollection = defineResource({
  entity: 'StorageControllerCollection',
  odataType: '#StorageControllerCollection.StorageControllerCollection',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Controllers',
  load: loadStorage,
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ storage: { controllers } }, { self }) =>
    renderCollection(
      'Storage Controller Collection',
      controllers.map(({ id }) => `${self}/${id}`),
    ),
});

const storageController = defineResource({
  entity: 'StorageController',
  odataType: '#StorageController.v1_11_0.StorageController',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Controllers/{controllerId}',
  load: async (request): Promise<StorageEntity & { readonly controller: ControllerUnit }> => {
    const entity = await loadStorage(request);
    const { controllerId } = request.params;
    const controller = entity.storage.controllers.find(({ id }) => id === controllerId);
    if (controller === undefined) throw redfishError('ResourceNotFound', 'StorageController', controllerId);
    return { ...entity, controller };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ controller: { id, name, speedGbps, protocols } }) => ({
    Id: id,
    Name: name,
    ...(speedGbps === null ? {} : { SpeedGbps: speedGbps }),
    SupportedDeviceProtocols: protocols,
    // A volume is a disk image. The service does not know the RAID of the host.
    SupportedRAIDTypes: ['None'],
    Status: enabled,
  }),
});

/**
 * The storages of a system, their controllers, and the collections.
 * @see DSP2046, Storage, StorageController
 */
export const storageResources = [storageCollection, storage, storageControllerCollection, storageController];
