/** Virtual media drives, under the system and under its manager. */
import { z } from 'zod';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { isUploadUrl } from '../../media/image-upload.js';
import type { MediaSnapshot } from '../../drivers/snapshot/media-snapshot.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { oemTypes } from '../../redfish/documents/oem-schemas.js';
import { uploadUri } from '../../redfish/upload/upload-endpoints.js';
import { mediaOf } from '../details.js';
import { machineCollection } from '../machine-collection.js';
import { linkIfServed, reference } from '../reference.js';
import { defineResource, type Services } from '../services.js';
import { drivesOf, trustOf, type MediaDriveEntity } from './configured-drive.js';
import { ejectImage, insertImage, replaceImage } from './drive-operations.js';
import { insertMediaAction, insertMediaBody, transferProtocols } from './insert-media.js';
import { uploadImage } from './upload-image.js';
import { driveBody, driveChange } from './virtual-media-change.js';

const ejectMediaAction = 'VirtualMedia.EjectMedia';

const transferMethodNames = { upload: 'Upload', stream: 'Stream' } as const;

/**
 * Loads a virtual media drive.
 * @throws {RedfishError} 404 for an unknown drive.
 * @throws {DriverError} notFound, unavailable.
 */
export async function loadMediaDrive(
  { systemId, mediaId }: { readonly systemId: string; readonly mediaId: string },
  { driver, settings }: Services,
): Promise<MediaDriveEntity> {
  const system = await driver.getSystem(systemId);
  const drive = drivesOf(system, settings.vmediaDevices).find(({ id }) => id === mediaId);
  if (drive === undefined) throw redfishError('ResourceNotFound', 'VirtualMedia', mediaId);
  return drive;
}

/**
 * The URIs of virtual media. Older clients and Ironic use the manager's URI, newer clients the
 * system's. Playbooks failed when sushy-tools moved the resource, so this service has both. Manager
 * and system have the same id, so `systemId` fits both templates.
 */
type CollectionUri = '/redfish/v1/Managers/{systemId}/VirtualMedia' | '/redfish/v1/Systems/{systemId}/VirtualMedia';

const collectionAt = (uri: CollectionUri) =>
  machineCollection({
    memberType: 'VirtualMedia',
    name: 'Virtual Media Collection',
    uri,
    details: ['media'],
    ids: (system, { settings }) => drivesOf(system, settings.vmediaDevices).map(({ id }) => id),
  });

const driveAt = (uri: `${CollectionUri}/{mediaId}`) => {
  const pathOf = ({ system, id }: MediaDriveEntity): string =>
    uri.replace('{systemId}', system.uuid).replace('{mediaId}', id);
  return defineResource({
    entity: 'VirtualMedia',
    odataType: '#VirtualMedia.v1_6_5.VirtualMedia',
    uri,
    load: ({ params, services }) => loadMediaDrive(params, services),
    canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
    render: (entity, { services, isServed }) => ({
      ...renderDrive(entity, services.settings.vmediaVerifySsl),
      ...linkIfServed('Certificates', certificatesUri(entity), isServed),
      Oem: {
        Rackless: {
          '@odata.type': oemTypes.virtualMedia,
          UploadURI: uploadUri(pathOf(entity)),
          UploadProtocol: 'tus-1.0.0',
        },
      },
    }),
    upload: {
      place: ({ system, drive }: MediaDriveEntity) => `${system.uuid} ${drive.device}`,
      begin: (entity, file, { services, requester }) => uploadImage(entity, file, services, requester),
    },
    patch: {
      // `false` is a placeholder: the body check does not compare VerifyCertificate.
      body: (entity) => driveBody({ ...renderDrive(entity, false), Certificates: reference(certificatesUri(entity)) }),
      shape: () => 'all',
      async apply(entity, body, { services, requester }) {
        const { system, drive } = entity;
        const { VerifyCertificate: verifyCertificate } = body;
        const change = driveChange(body);
        if (change === null) {
          if (verifyCertificate !== undefined)
            await mediaOf(services).set(system.uuid, drive.device, (current) => ({ ...current, verifyCertificate }));
          return undefined;
        }
        const finish = async (): Promise<void> => {
          if (verifyCertificate === undefined) return;
          // Another client may have changed the value during a long insert. The newer value has precedence.
          await mediaOf(services).set(system.uuid, drive.device, (current) =>
            current.verifyCertificate === drive.verifyCertificate ? { ...current, verifyCertificate } : current,
          );
        };
        const origin = { requester, context: { path: pathOf(entity) }, finish };
        if (change.kind === 'eject') return await ejectImage(entity, services, origin);
        const requestedDrive = verifyCertificate === undefined ? drive : { ...drive, verifyCertificate };
        return await replaceImage({ ...entity, drive: requestedDrive }, change.body, services, origin);
      },
    },
    actions: {
      '#VirtualMedia.InsertMedia': {
        body: insertMediaBody,
        parameters: ({ drive }): JsonObject => ({
          'Image@Redfish.AllowableValues': [],
          'Inserted@Redfish.AllowableValues': [],
          'WriteProtected@Redfish.AllowableValues': [],
          'TransferMethod@Redfish.AllowableValues': drive.transferMethods.map((method) => transferMethodNames[method]),
          'TransferProtocolType@Redfish.AllowableValues': transferProtocols,
          'UserName@Redfish.AllowableValues': [],
          'Password@Redfish.AllowableValues': [],
        }),
        summary: ({ Image }) => maskUrl(Image),
        run: (entity, body, { services, requester }) => {
          const path = `${pathOf(entity)}/Actions/${insertMediaAction}`;
          return insertImage(entity, body, services, { requester, context: { action: insertMediaAction, path } });
        },
      },
      '#VirtualMedia.EjectMedia': {
        body: z.strictObject({}),
        bodyOptional: true,
        run: (entity, _body, { services, requester }) => {
          const path = `${pathOf(entity)}/Actions/${ejectMediaAction}`;
          return ejectImage(entity, services, { requester, context: { action: ejectMediaAction, path } });
        },
      },
    },
  });
};

function renderDrive({ id, name, mediaTypes, drive }: MediaDriveEntity, verifyByDefault: boolean): JsonObject {
  return {
    Id: id,
    Name: name,
    MediaTypes: mediaTypes,
    Inserted: drive.inserted,
    // An uploaded image has no URI that a client could read or insert again.
    Image: isUploaded(drive) ? null : drive.image,
    ImageName: drive.imageName,
    ConnectedVia: connectedVia(drive),
    WriteProtected: drive.writeProtected,
    TransferMethod: drive.transferMethod === null ? null : transferMethodNames[drive.transferMethod],
    TransferProtocolType: drive.viaUri && drive.image !== null && !isUploaded(drive) ? protocolOf(drive.image) : null,
    // The credentials are write-only: the service does not store them after the download.
    UserName: null,
    Password: null,
    VerifyCertificate: trustOf(drive, verifyByDefault).verifyCertificate,
  };
}

/** Returns the URI of a drive's certificates. DMTF defines this collection under systems only. */
function certificatesUri({ system, id }: MediaDriveEntity): string {
  return `/redfish/v1/Systems/${system.uuid}/VirtualMedia/${id}/Certificates`;
}

/** Returns ConnectedVia. Applet means that a client uploaded the image, Oem that another tool inserted the image. */
function connectedVia(drive: MediaSnapshot): 'NotConnected' | 'URI' | 'Applet' | 'Oem' {
  if (!drive.inserted) return 'NotConnected';
  if (isUploaded(drive)) return 'Applet';
  return drive.viaUri ? 'URI' : 'Oem';
}

function isUploaded({ viaUri, image }: MediaSnapshot): boolean {
  return viaUri && image !== null && isUploadUrl(image);
}

function protocolOf(image: string): 'HTTP' | 'HTTPS' {
  return image.startsWith('https:') ? 'HTTPS' : 'HTTP';
}

/**
 * The virtual media of managers and of systems.
 * @see DSP2046, VirtualMedia
 */
export const virtualMediaResources = [
  collectionAt('/redfish/v1/Managers/{systemId}/VirtualMedia'),
  driveAt('/redfish/v1/Managers/{systemId}/VirtualMedia/{mediaId}'),
  collectionAt('/redfish/v1/Systems/{systemId}/VirtualMedia'),
  driveAt('/redfish/v1/Systems/{systemId}/VirtualMedia/{mediaId}'),
];
