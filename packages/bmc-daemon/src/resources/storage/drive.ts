/**
 * Drives: the disks of a machine, or the drives of EMULATOR_DRIVES. Each drive has two URIs: below its
 * storage (DMTF has deprecated this URI), and below the chassis.
 */
import { z } from 'zod';
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import { RedfishError, redfishError } from '../../redfish/messages/errors.js';
import { annotationOf, withPointers, message, withDetail } from '../../redfish/messages/messages.js';
import type { JsonObject } from '../../redfish/resource.js';
import { chassisReference, loadChassis, type ChassisEntity } from '../chassis/chassis-place.js';
import { indicatorBody, renderIndicator, wantedIndicator } from '../chassis/indicator.js';
import { chassisDriveId } from '../current-uri.js';
import { ifExists, readMachines } from '../read-machines.js';
import { reference, renderCollection } from '../reference.js';
import { defineResource, type Services } from '../services.js';
import { enabled, waiting } from '../status.js';
import { driveIndicator, loadStorage, storageUnits, type DriveUnit, type StorageEntity } from './storage-unit.js';

interface DriveEntity extends StorageEntity {
  readonly drive: DriveUnit;
}

/** A drive with its id in the chassis. */
interface ChassisDrive extends DriveEntity {
  readonly id: string;
}

const body = z.strictObject(indicatorBody);

/** The schema for the disks of a driver that stores no indicators. */
const emptyBody = z.strictObject({});

/**
 * Returns whether the schema of a PATCH has the indicator. The schema for a configured drive has it
 * too, so that `applyIndicator` can reject it with the reason.
 */
const hasIndicator = ({ drive }: DriveEntity, { driver }: Services): boolean =>
  driver.volumes !== undefined || drive.disk === null;

/** Returns the schema of a PATCH. */
function patchBody(entity: DriveEntity, services: Services): z.ZodType<z.infer<typeof body>> {
  return hasIndicator(entity, services) ? body : emptyBody;
}

const patchShape = (entity: DriveEntity, services: Services): string => String(hasIndicator(entity, services));

function renderDrive(id: string, { system, storage, drive }: DriveEntity, { settings, driver }: Services): JsonObject {
  const { name, capacityBytes, protocol, disk } = drive;
  const path = `/redfish/v1/Systems/${system.uuid}/Storage/${storage.id}`;
  const volumes = storage.volumes.filter(({ driveIds }) => driveIds.includes(drive.id));
  return {
    Id: id,
    Name: name,
    CapacityBytes: capacityBytes,
    // The service does not know the host's storage. The guest sees a disk without rotation.
    MediaType: 'SSD',
    Protocol: protocol,
    SerialNumber: disk?.serial ?? null,
    ...(disk === null || driver.volumes === undefined ? {} : renderIndicator(driveIndicator(disk))),
    Status: disk?.pending === true ? waiting : enabled,
    Links: {
      Chassis: chassisReference(system.uuid, settings),
      Storage: reference(path),
      Volumes: volumes.map((volume) => reference(`${path}/Volumes/${volume.id}`)),
      'Volumes@odata.count': volumes.length,
    },
  };
}

/**
 * Sets the indicator of a drive.
 * @throws {RedfishError} 400 for a configured drive.
 * @throws {DriverError} of the driver.
 */
async function applyIndicator(
  { system, drive: { id, disk } }: DriveEntity,
  wantedBody: z.infer<typeof body>,
  { driver: { volumes } }: Services,
): Promise<undefined> {
  if (disk === null) {
    const [name = ''] = Object.keys(wantedBody);
    const fault = withPointers(message('PropertyNotWritable', name), `#/${name}`);
    throw new RedfishError(400, [withDetail(fault, 'The drive comes from the configuration and is not a disk.')]);
  }
  const wanted = wantedIndicator(wantedBody, driveIndicator(disk));
  if (wanted !== undefined) await volumes?.setDriveIndicator(system.uuid, id, wanted);
}

/** A drive under its storage. `Storage.Drives` links to each drive; a storage has no collection of drives. */
export const drive = defineResource({
  entity: 'Drive',
  odataType: '#Drive.v1_22_0.Drive',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Drives/{driveId}',
  load: async (request): Promise<DriveEntity> => {
    const entity = await loadStorage(request);
    const { driveId } = request.params;
    const found = entity.storage.drives.find(({ id }) => id === driveId);
    if (found === undefined) throw redfishError('ResourceNotFound', 'Drive', driveId);
    return { ...entity, drive: found };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: (entity, { services }) => renderDrive(entity.drive.id, entity, services),
  patch: {
    body: (entity, services) => patchBody(entity, services),
    shape: (entity, services) => patchShape(entity, services),
    apply: (entity, wanted, { services }) => applyIndicator(entity, wanted, services),
  },
});

const driveCollection = defineResource({
  entity: 'DriveCollection',
  odataType: '#DriveCollection.DriveCollection',
  uri: '/redfish/v1/Chassis/{chassisId}/Drives',
  load: async ({ params, services }) => {
    const chassis = await loadChassis(params.chassisId, services, ['disks']);
    const uuids = chassis.machines.map(({ uuid }) => uuid);
    const { systems, unread } =
      chassis.system === null
        ? await readMachines(uuids, services, { part: 'the drives', shown: ['disks'] })
        : { systems: [chassis.system], unread: [] };
    return { chassis, unread, drives: systems.flatMap((system) => drivesOf(system, services)) };
  },
  canonicalParams: ({ chassis }) => ({ chassisId: chassis.uuid }),
  render: ({ drives, unread }, { self }) => ({
    ...renderCollection(
      'Drive Collection',
      drives.map(({ id }) => `${self}/${id}`),
    ),
    ...annotationOf(unread),
  }),
});

const chassisDrive = defineResource({
  entity: 'Drive',
  odataType: '#Drive.v1_22_0.Drive',
  uri: '/redfish/v1/Chassis/{chassisId}/Drives/{driveId}',
  load: async ({
    params: { chassisId, driveId },
    services,
  }): Promise<ChassisDrive & { readonly chassis: ChassisEntity }> => {
    const chassis = await loadChassis(chassisId, services, ['disks']);
    // In a shared chassis the id starts with the UUID of the machine, so only that machine is read.
    const machine = chassis.machines.find(({ uuid }) => driveId.startsWith(uuid));
    const system =
      chassis.system ??
      (machine === undefined ? undefined : await ifExists(services.driver.getSystem(machine.uuid, ['disks'])));
    const drives = system === undefined ? [] : drivesOf(system, services);
    const found = drives.find(({ id }) => id === driveId);
    if (found === undefined) throw redfishError('ResourceNotFound', 'Drive', driveId);
    return { ...found, chassis };
  },
  canonicalParams: ({ chassis }, params) => ({ ...params, chassisId: chassis.uuid }),
  render: (entity, { services }) => renderDrive(entity.id, entity, services),
  patch: {
    body: (entity, services) => patchBody(entity, services),
    shape: (entity, services) => patchShape(entity, services),
    apply: (entity, wanted, { services }) => applyIndicator(entity, wanted, services),
  },
});

/** Returns the drives of a machine with their ids in its chassis. */
function drivesOf(system: SystemSnapshot, services: Services): readonly ChassisDrive[] {
  return storageUnits(system, services).flatMap((storage) =>
    storage.drives.map((drive) => {
      const id = chassisDriveId(system.uuid, storage.id, drive.id, services.settings);
      return { id, system, storage, drive };
    }),
  );
}

/**
 * The drives in a chassis and their collection.
 * @see DSP2046, Drive; https://libvirt.org/formatdomain.html#hard-drives-floppy-disks-cdroms
 */
export const chassisDriveResources = [driveCollection, chassisDrive];
