/**
 * Maps deprecated URIs to their successors. DMTF moved some resources; clients still use the old
 * URIs. Both URIs work, and annotate.ts selects the URI for links.
 */
import { encodeSegment } from '../redfish/rendering.js';
import type { ResourceSettings } from './services.js';

/**
 * Returns the id of a drive in its chassis. The id includes the storage, because drive ids are
 * unique within a storage only. In a shared chassis it also includes the machine.
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
 * Returns the successor of a URI that DMTF deprecated, or the URI itself.
 * @param uri canonical URI, which names machines by UUID.
 * @see DSP2046, the deprecated URIs of Drive and VirtualMedia
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
