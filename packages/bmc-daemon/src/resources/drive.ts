/** Disks of a machine as drives. */
import type { DiskSnapshot } from '../drivers/driver.js';
import { chassisReference } from './chassis-place.js';
import { busName, busProtocol, findDisk, loadStorage, type StorageEntity } from './disk-bus.js';
import { reference } from './reference.js';
import { defineResource } from './services.js';
import { enabled } from './status.js';

interface DriveEntity extends StorageEntity {
  readonly disk: DiskSnapshot;
}

/** A drive under its storage; `Storage.Drives` links to it, there is no collection of its own. */
export const drive = defineResource({
  entity: 'Drive',
  odataType: '#Drive.v1_22_0.Drive',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Drives/{driveId}',
  load: async (request): Promise<DriveEntity> => {
    const entity = await loadStorage(request);
    return { ...entity, disk: findDisk(entity.bus, request.params.driveId, 'Drive') };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ system, bus, disk }, { services }) => {
    const storage = `/redfish/v1/Systems/${system.uuid}/Storage/${bus.id}`;
    return {
      Id: disk.target,
      Name: `${busName(bus.id)} Drive ${disk.target}`,
      CapacityBytes: disk.capacityBytes,
      // What is under the image file is the host's business; for the guest there are no moving parts.
      MediaType: 'SSD',
      Protocol: busProtocol(bus.id),
      SerialNumber: disk.serial,
      Status: enabled,
      Links: {
        Chassis: chassisReference(system.uuid, services.settings),
        Storage: reference(storage),
        Volumes: [reference(`${storage}/Volumes/${disk.target}`)],
        'Volumes@odata.count': 1,
      },
    };
  },
});
