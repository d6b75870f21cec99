/**
 * Where DMTF has moved what the specification and its clients know at another address. Both addresses answer; which of them links
 * name is annotate.ts' to say.
 */
import { encodeSegment } from '../redfish/rendering.js';
import type { ResourceSettings } from './services.js';

/**
 * The id of a drive in the chassis that its machine stands in: several storages may have a drive of that id, and several machines
 * share a configured chassis.
 * @param systemUuid of the machine.
 */
export function chassisDriveId(
  systemUuid: string,
  storageId: string,
  driveId: string,
  { chassis }: Pick<ResourceSettings, 'chassis'>,
): string {
  return [...(chassis.length === 0 ? [] : [systemUuid]), storageId, driveId].join('-');
}

const drive = /^\/redfish\/v1\/Systems\/([^/]+)\/Storage\/([^/]+)\/Drives\/([^/]+)$/;
const managerMedia = /^\/redfish\/v1\/Managers\/([^/]+\/VirtualMedia(?:\/.+)?)$/;

/**
 * The address that has taken the place of one that DMTF calls deprecated, or the same.
 * @param uri canonical: a machine by its UUID.
 */
export function currentUri(uri: string, settings: Pick<ResourceSettings, 'chassis'>): string {
  const [, systemUuid, storageId, driveId] = drive.exec(uri) ?? [];
  if (systemUuid !== undefined && storageId !== undefined && driveId !== undefined) {
    const id = chassisDriveId(systemUuid, storageId, driveId, settings);
    return `/redfish/v1/Chassis/${encodeSegment(settings.chassis[0]?.UUID ?? systemUuid)}/Drives/${id}`;
  }
  const media = managerMedia.exec(uri)?.[1];
  return media === undefined ? uri : `/redfish/v1/Systems/${media}`;
}
