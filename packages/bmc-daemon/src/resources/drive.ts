/** Drives of a storage: the disks of the machine, or what EMULATOR_DRIVES names. */
import { z } from 'zod';
import { RedfishError, refuse } from '../redfish/errors.js';
import { about, message, withDetail } from '../redfish/messages.js';
import { chassisReference } from './chassis-place.js';
import { indicatorBody, renderIndicator, wantedIndicator } from './indicator.js';
import { reference } from './reference.js';
import { defineResource } from './services.js';
import { enabled, waiting } from './status.js';
import { driveIndicator, loadStorage, type DriveUnit, type StorageEntity } from './storage-unit.js';

interface DriveEntity extends StorageEntity {
  readonly drive: DriveUnit;
}

/** A drive under its storage; `Storage.Drives` links to it, there is no collection of its own. */
export const drive = defineResource({
  entity: 'Drive',
  odataType: '#Drive.v1_22_0.Drive',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Drives/{driveId}',
  load: async (request): Promise<DriveEntity> => {
    const entity = await loadStorage(request);
    const { driveId } = request.params;
    const found = entity.storage.drives.find(({ id }) => id === driveId);
    if (found === undefined) throw refuse('ResourceNotFound', 'Drive', driveId);
    return { ...entity, drive: found };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ system, storage, drive: { id, name, capacityBytes, protocol, disk } }, { services }) => {
    const path = `/redfish/v1/Systems/${system.uuid}/Storage/${storage.id}`;
    const volumes = storage.volumes.filter(({ driveIds }) => driveIds.includes(id));
    return {
      Id: id,
      Name: name,
      CapacityBytes: capacityBytes,
      // What is under the image file is the host's business; for the guest there are no moving parts.
      MediaType: 'SSD',
      Protocol: protocol,
      SerialNumber: disk?.serial ?? null,
      ...(disk === null ? {} : renderIndicator(driveIndicator(disk))),
      Status: disk?.pending === true ? waiting : enabled,
      Links: {
        Chassis: chassisReference(system.uuid, services.settings),
        Storage: reference(path),
        Volumes: volumes.map((volume) => reference(`${path}/Volumes/${volume.id}`)),
        'Volumes@odata.count': volumes.length,
      },
    };
  },
  patch: {
    body: z.strictObject(indicatorBody),
    apply: async ({ system, drive: { id, disk } }, body, { services }) => {
      const { volumes } = services.driver;
      if (disk === null || volumes === undefined) {
        const [name = ''] = Object.keys(body);
        const fault = about(message('PropertyNotWritable', name), `#/${name}`);
        throw new RedfishError(400, [withDetail(fault, 'The drive is configured, and there is nothing behind it.')]);
      }
      const wanted = wantedIndicator(body, driveIndicator(disk));
      if (wanted !== undefined) await volumes.setDriveIndicator(system.uuid, id, wanted);
      return undefined;
    },
  },
});
