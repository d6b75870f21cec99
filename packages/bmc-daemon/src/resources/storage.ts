/** Storage by bus: one controller, its drives, and a volume on each drive. */
import { refuse } from '../redfish/errors.js';
import { chassisReference } from './chassis-place.js';
import { busName, busProtocol, diskBuses, loadStorage, type StorageEntity } from './disk-bus.js';
import { reference, renderCollection } from './reference.js';
import { defineResource } from './services.js';
import { enabled, enabledWithParts } from './status.js';

const storageCollection = defineResource({
  entity: 'StorageCollection',
  odataType: '#StorageCollection.StorageCollection',
  uri: '/redfish/v1/Systems/{systemId}/Storage',
  load: ({ params, services }) => services.driver.getSystem(params.systemId),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: ({ disks }, { self }) =>
    renderCollection(
      'Storage Collection',
      diskBuses(disks).map(({ id }) => `${self}/${id}`),
    ),
});

const storage = defineResource({
  entity: 'Storage',
  odataType: '#Storage.v1_21_0.Storage',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}',
  load: loadStorage,
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ system, bus }, { self, services }) => ({
    Id: bus.id,
    Name: `${busName(bus.id)} Storage`,
    Controllers: reference(`${self}/Controllers`),
    'Drives@odata.count': bus.disks.length,
    Drives: bus.disks.map(({ target }) => reference(`${self}/Drives/${target}`)),
    Volumes: reference(`${self}/Volumes`),
    Status: enabledWithParts,
    Links: {
      Enclosures: [chassisReference(system.uuid, services.settings)],
      'Enclosures@odata.count': 1,
      SimpleStorage: reference(`/redfish/v1/Systems/${system.uuid}/SimpleStorage/${bus.id}`),
    },
  }),
});

const storageControllerCollection = defineResource({
  entity: 'StorageControllerCollection',
  odataType: '#StorageControllerCollection.StorageControllerCollection',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Controllers',
  load: loadStorage,
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ bus }, { self }) => renderCollection('Storage Controller Collection', [`${self}/${bus.id}`]),
});

/** The one controller of a bus has the bus's name. libvirt may spread disks over several; the guest's driver is the same. */
const storageController = defineResource({
  entity: 'StorageController',
  odataType: '#StorageController.v1_11_0.StorageController',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Controllers/{controllerId}',
  load: async (request): Promise<StorageEntity> => {
    const entity = await loadStorage(request);
    const { controllerId } = request.params;
    if (controllerId !== entity.bus.id) throw refuse('ResourceNotFound', 'StorageController', controllerId);
    return entity;
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ bus }) => ({
    Id: bus.id,
    Name: `${busName(bus.id)} Controller`,
    SupportedDeviceProtocols: [busProtocol(bus.id)],
    Status: enabled,
  }),
});

/** Storage and its controllers under a system; drives and volumes have files of their own. */
export const storageResources = [storageCollection, storage, storageControllerCollection, storageController];
