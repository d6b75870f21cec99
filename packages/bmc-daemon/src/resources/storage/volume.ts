/**
 * Volumes of a storage: a volume without redundancy for each disk, and the volumes of
 * EMULATOR_VOLUMES. Ironic looks first among the volumes for its installation disk. A new volume is created in a
 * storage pool of the host and attached to the machine.
 */
import { z } from 'zod';
import { isDriverError } from '../../drivers/driver-error.js';
import type { NewVolume } from '../../drivers/volume-control.js';
import { RedfishError, redfishError } from '../../redfish/messages/errors.js';
import { message, sentence, withDetail } from '../../redfish/messages/messages.js';
import type { JsonObject, ResourceRequest, WriteResult } from '../../redfish/resource.js';
import { runLongOperation } from '../../redfish/tasks/long-operation.js';
import { reference, renderCollection } from '../reference.js';
import { defineResource, type Services } from '../services.js';
import { enabled, unavailable, waiting } from '../status.js';
import { provideConfigured } from './provided-volumes.js';
import { loadStorage, type StorageEntity, type VolumeUnit } from './storage-unit.js';

/** Size of a sector. Capacities are multiples of it. */
const SECTOR_BYTES = 512;
/**
 * Maximum capacity: the last multiple of a sector up to which JSON numbers represent every integer
 * exactly.
 */
const MAX_BYTES = 2 ** 53 - SECTOR_BYTES;

/** DMTF's values for a volume without redundancy, in the deprecated and in the current property. */
const plainTypes = { VolumeType: ['RawDevice', 'NonRedundant'], RAIDType: ['None'] } as const;

/** RAIDType for each deprecated VolumeType. */
const raidTypes: Readonly<Record<string, string>> = {
  RawDevice: 'None',
  NonRedundant: 'RAID0',
  Mirrored: 'RAID1',
  StripedWithParity: 'RAID5',
  SpannedMirrors: 'RAID10',
  SpannedStripesWithParity: 'RAID50',
};

const newVolume = z.strictObject({
  CapacityBytes: z.int().min(1).max(MAX_BYTES),
  Name: z.string().min(1).max(255).optional(),
  RAIDType: z.enum(plainTypes.RAIDType).optional(),
  VolumeType: z.enum(plainTypes.VolumeType).optional(),
  // Ironic sends false with every volume. The service cannot encrypt volumes, so it rejects true.
  Encrypted: z.literal(false).optional(),
  ProvisioningPolicy: z.enum(['Thin', 'Fixed']).optional(),
  '@Redfish.OperationApplyTime': z.enum(['Immediate']).optional(),
});

const volumeCollection = defineResource({
  entity: 'VolumeCollection',
  odataType: '#VolumeCollection.VolumeCollection',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Volumes',
  load: async (request): Promise<StorageEntity> => {
    const entity = await loadStorage(request);
    await provideConfigured(entity.system, entity.storage.volumes, request.services);
    return entity;
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ storage: { volumes } }, { self }): JsonObject => ({
    ...renderCollection(
      'Volume Collection',
      volumes.map(({ id }) => `${self}/${id}`),
    ),
    '@Redfish.OperationApplyTimeSupport': {
      '@odata.type': '#Settings.v1_4_0.OperationApplyTimeSupport',
      SupportedValues: ['Immediate'],
    },
  }),
  post: {
    body: newVolume,
    run: (entity, body, request) =>
      createVolume(
        entity,
        {
          bus: entity.storage.bus,
          name: body.Name ?? null,
          capacityBytes: Math.ceil(body.CapacityBytes / SECTOR_BYTES) * SECTOR_BYTES,
          provisioning: body.ProvisioningPolicy === 'Fixed' ? 'fixed' : 'thin',
          storage: entity.storage.configured?.Id ?? null,
        },
        request,
      ),
  },
});

/** The fields of a request that volume operations need. */
type VolumeRequest = Pick<ResourceRequest<Services, unknown>, 'services' | 'requester'>;

interface VolumeEntity extends StorageEntity {
  readonly volume: VolumeUnit;
  /** False for a configured volume that libvirt does not have. */
  readonly isProvided: boolean;
}

const volume = defineResource({
  entity: 'Volume',
  odataType: '#Volume.v1_10_2.Volume',
  uri: '/redfish/v1/Systems/{systemId}/Storage/{storageId}/Volumes/{volumeId}',
  load: async (request): Promise<VolumeEntity> => {
    const entity = await loadStorage(request);
    const { volumeId } = request.params;
    const found = entity.storage.volumes.find(({ id }) => id === volumeId);
    if (found === undefined) throw redfishError('ResourceNotFound', 'Volume', volumeId);
    return { ...entity, volume: found, isProvided: await provideConfigured(entity.system, [found], request.services) };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ system, storage, volume: { id, name, capacityBytes, disk, configured, driveIds }, isProvided }) => ({
    Id: id,
    Name: name,
    CapacityBytes: capacityBytes,
    // RAIDType None: the volume has no redundancy.
    RAIDType: raidTypes[configured?.VolumeType ?? 'RawDevice'] ?? null,
    ...(configured?.VolumeType === undefined ? {} : { VolumeType: configured.VolumeType }),
    Status: !isProvided ? unavailable : disk?.pending === true ? waiting : enabled,
    Links: {
      Drives: driveIds.map((drive) =>
        reference(`/redfish/v1/Systems/${system.uuid}/Storage/${storage.id}/Drives/${drive}`),
      ),
      'Drives@odata.count': driveIds.length,
    },
  }),
  delete: (entity, request) => deleteVolume(entity, request),
});

/**
 * Creates a volume. Returns its location, or a task if the host is slow.
 * @throws {RedfishError} if the driver creates no volumes. Also throws the errors of the driver before the
 *   request becomes a task.
 */
async function createVolume(
  { system, storage }: StorageEntity,
  wanted: NewVolume,
  { services: { driver, operations }, requester }: VolumeRequest,
): Promise<WriteResult | undefined> {
  const { volumes } = driver;
  const path = `/redfish/v1/Systems/${system.uuid}/Storage/${storage.id}/Volumes`;
  if (volumes === undefined) throw redfishError('OperationNotAllowed');
  let target: string | undefined;
  const result = await runLongOperation(
    {
      name: `Create a volume of ${system.name}`,
      method: 'POST',
      requester,
      cancellable: true,
      context: { path, body: { CapacityBytes: wanted.capacityBytes } },
      run: async ({ signal }) => {
        target = await volumes.createVolume(system.uuid, wanted, { signal });
        return [message('Created')];
      },
    },
    operations,
  );
  return target === undefined || result?.task !== undefined ? result : { created: { location: `${path}/${target}` } };
}

/**
 * Deletes a volume.
 * @throws {RedfishError} 409 for a configured volume, or if the driver cannot delete it. Also throws the other
 *   errors of the driver before the request becomes a task.
 */
async function deleteVolume(
  { system, storage, volume: { id, disk } }: VolumeEntity,
  { services: { driver, operations }, requester }: VolumeRequest,
): Promise<WriteResult | undefined> {
  const { volumes } = driver;
  if (disk === null) throw undeletableError('The volume comes from the configuration.');
  if (volumes === undefined) throw undeletableError('The hypervisor does not delete volumes over Redfish.');
  return await runLongOperation(
    {
      name: `Delete volume ${id} of ${system.name}`,
      method: 'DELETE',
      requester,
      context: { path: `/redfish/v1/Systems/${system.uuid}/Storage/${storage.id}/Volumes/${id}` },
      run: async () => {
        try {
          await volumes.removeVolume(system.uuid, id);
        } catch (error) {
          if (isDriverError(error, 'unsupported')) throw undeletableError(sentence(error.message), error);
          throw error;
        }
        return undefined;
      },
    },
    operations,
  );
}

/**
 * Returns a 409 error. The message's usual 405 does not fit, because DELETE works for other
 * volumes.
 */
function undeletableError(detail: string, cause?: unknown): RedfishError {
  return new RedfishError(409, [withDetail(message('ResourceCannotBeDeleted'), detail)], {}, cause);
}

/**
 * The volumes of a storage and their collection.
 * @see DSP2046, Volume; https://libvirt.org/formatstorage.html#storage-volume-xml
 */
export const volumeResources = [volumeCollection, volume];
