/** Virtual media drives, under the system and under its manager. */
import { z } from 'zod';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import type { MediaSnapshot } from '../../drivers/snapshot/media-snapshot.js';
import { storedUrl, type ImageRequest } from '../../media/image.js';
import { RedfishError, refuse } from '../../redfish/messages/errors.js';
import { runLongOperation, type LongOperation } from '../../redfish/tasks/long-operation.js';
import { about, message, withDetail, type Message } from '../../redfish/messages/messages.js';
import type { JsonObject, Requester, WriteResult } from '../../redfish/resource.js';
import { imageRequest, insertMediaAction, insertMediaBody, transferProtocols, type ImageBody } from './insert-media.js';
import { drivesOf, trustOf, type MediaDriveEntity } from './configured-drive.js';
import { reference, renderCollection } from '../reference.js';
import { defineResource, type Services } from '../services.js';
import { driveBody, driveChange } from './virtual-media-change.js';

const ejectMediaAction = 'VirtualMedia.EjectMedia';

const methodOut = { upload: 'Upload', stream: 'Stream' } as const;

/** Loads a virtual media drive. @throws {RedfishError} 404 for an unknown drive. @throws {DriverError} */
export async function loadMediaDrive(
  { systemId, mediaId }: { readonly systemId: string; readonly mediaId: string },
  { driver, settings }: Services,
): Promise<MediaDriveEntity> {
  const system = await driver.getSystem(systemId);
  const drive = drivesOf(system, settings.vmediaDevices).find(({ id }) => id === mediaId);
  if (drive === undefined) throw refuse('ResourceNotFound', 'VirtualMedia', mediaId);
  return drive;
}

/**
 * Returns the virtual media resources at a URI. Older clients and Ironic use the manager's URI, newer
 * clients the system's. Playbooks failed when sushy-tools moved the resource, so this service has both.
 * Manager and system have the same id, so `systemId` fits both templates.
 */
function virtualMediaAt(
  collectionUri: '/redfish/v1/Managers/{systemId}/VirtualMedia' | '/redfish/v1/Systems/{systemId}/VirtualMedia',
  uri:
    '/redfish/v1/Managers/{systemId}/VirtualMedia/{mediaId}' | '/redfish/v1/Systems/{systemId}/VirtualMedia/{mediaId}',
) {
  const pathOf = ({ system, id }: MediaDriveEntity): string =>
    uri.replace('{systemId}', system.uuid).replace('{mediaId}', id);

  const collection = defineResource({
    entity: 'VirtualMediaCollection',
    odataType: '#VirtualMediaCollection.VirtualMediaCollection',
    uri: collectionUri,
    load: ({ params, services }) => services.driver.getSystem(params.systemId),
    canonicalParams: ({ uuid }) => ({ systemId: uuid }),
    render: (system, { self, services }) =>
      renderCollection(
        'Virtual Media Collection',
        drivesOf(system, services.settings.vmediaDevices).map(({ id }) => `${self}/${id}`),
      ),
  });

  const member = defineResource({
    entity: 'VirtualMedia',
    odataType: '#VirtualMedia.v1_6_5.VirtualMedia',
    uri,
    load: ({ params, services }) => loadMediaDrive(params, services),
    canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
    render: (entity, { services }) => renderDrive(entity, services.settings.vmediaVerifySsl),
    patch: {
      // `false` is a placeholder: the body check does not compare VerifyCertificate.
      body: (entity) => driveBody(renderDrive(entity, false)),
      shape: () => 'all',
      async apply(entity, body, { services, requester }) {
        const { system, drive } = entity;
        const { VerifyCertificate: verifyCertificate } = body;
        if (verifyCertificate !== undefined) {
          await services.driver.setMedia(system.uuid, drive.device, (present) => ({ ...present, verifyCertificate }));
        }
        const change = driveChange(body);
        if (change === null) return undefined;
        const context = { path: pathOf(entity) };
        if (change.kind === 'eject') return await eject(entity, services, { requester, context });
        return await replace(
          await loadMediaDrive({ systemId: system.uuid, mediaId: entity.id }, services),
          change.body,
          services,
          {
            requester,
            context,
          },
        );
      },
    },
    actions: {
      '#VirtualMedia.InsertMedia': {
        body: insertMediaBody,
        parameters: ({ drive }): JsonObject => ({
          'Image@Redfish.AllowableValues': [],
          'Inserted@Redfish.AllowableValues': [],
          'WriteProtected@Redfish.AllowableValues': [],
          'TransferMethod@Redfish.AllowableValues': drive.transferMethods.map((method) => methodOut[method]),
          'TransferProtocolType@Redfish.AllowableValues': transferProtocols,
          'UserName@Redfish.AllowableValues': [],
          'Password@Redfish.AllowableValues': [],
        }),
        summary: ({ Image }) => maskUrl(Image),
        run: (entity, body, { services, requester }) => {
          const path = `${pathOf(entity)}/Actions/${insertMediaAction}`;
          return insert(entity, body, services, { requester, context: { action: insertMediaAction, path } });
        },
      },
      '#VirtualMedia.EjectMedia': {
        body: z.strictObject({}),
        bodyOptional: true,
        run: (entity, _body, { services, requester }) => {
          const path = `${pathOf(entity)}/Actions/${ejectMediaAction}`;
          return eject(entity, services, { requester, context: { action: ejectMediaAction, path } });
        },
      },
    },
  });
  return [collection, member];
}

interface Origin {
  readonly requester: Requester;
  readonly context: Pick<LongOperation['context'], 'action' | 'path'>;
}

/** Replaces the image in a drive. A PATCH of Image does not need an eject first, unlike InsertMedia. */
async function replace(
  entity: MediaDriveEntity,
  body: ImageBody,
  services: Services,
  origin: Origin,
): Promise<WriteResult | undefined> {
  const { system, drive } = entity;
  const protection = drive.device === 'cdrom' || drive.writeProtected === (body.WriteProtected ?? true);
  const isSame = drive.viaUri && drive.image === storedUrl(new URL(body.Image)) && protection;
  return await insert(entity, body, services, origin, async () => {
    if (drive.inserted && !isSame) await services.driver.ejectMedia(system.uuid, drive.device);
  });
}

function insert(
  { system, id, drive }: MediaDriveEntity,
  body: ImageBody,
  { driver, settings, operations }: Services,
  { requester, context }: Origin,
  prepare: () => Promise<void> = () => Promise.resolve(),
): Promise<WriteResult | undefined> {
  const image = imageRequest(body, trustOf(drive, settings.vmediaVerifySsl));
  checkMethod(body, image, drive, context.action);
  return runLongOperation(
    {
      name: `Insert an image into ${id} of ${system.name}`,
      requester,
      cancellable: true,
      // Only values that messages can quote: the task must not store the password.
      context: { ...context, body: { Image: image.url.href, TransferMethod: body.TransferMethod } },
      run: async ({ progress: onProgress, signal }) => {
        await prepare();
        await driver.insertMedia(system.uuid, drive.device, image, { onProgress, signal });
        // A CD is always write-protected. If that differs from the request, a 200 with a message tells the client.
        const { media } = await driver.getSystem(system.uuid);
        const protectedNow = media.find(({ device }) => device === drive.device)?.writeProtected;
        const { WriteProtected: asked } = body;
        if (asked === undefined || protectedNow === undefined || asked === protectedNow) return undefined;
        return [about(message('PropertyValueModified', 'WriteProtected', String(protectedNow)), '#/WriteProtected')];
      },
    },
    operations,
  );
}

function eject(
  { system, id, drive }: MediaDriveEntity,
  { driver, operations }: Services,
  { requester, context }: Origin,
): Promise<WriteResult | undefined> {
  return runLongOperation(
    {
      name: `Eject ${id} of ${system.name}`,
      requester,
      context,
      run: async () => {
        await driver.ejectMedia(system.uuid, drive.device);
        return undefined;
      },
    },
    operations,
  );
}

/** Checks TransferMethod. @throws {RedfishError} 400 if the drive or the image does not support it. */
function checkMethod(
  { TransferMethod: method }: ImageBody,
  { userName, password }: ImageRequest,
  drive: MediaSnapshot,
  action?: string,
): void {
  if (method !== 'Stream') return;
  const fault = (why: string): Message => {
    const subject =
      action === undefined
        ? message('PropertyValueNotInList', method, 'TransferMethod')
        : message('ActionParameterValueNotInList', method, 'TransferMethod', action);
    return about(withDetail(subject, why), '#/TransferMethod');
  };
  if (!drive.transferMethods.includes('stream')) {
    throw new RedfishError(400, [fault('This drive supports Upload only.')]);
  }
  // Streaming would store the credentials in the definition of the machine.
  if (userName !== undefined || password !== undefined) {
    throw new RedfishError(400, [fault('An image with a user name and a password needs Upload.')]);
  }
}

function renderDrive({ system, id, name, mediaTypes, drive }: MediaDriveEntity, verifyByDefault: boolean): JsonObject {
  return {
    Id: id,
    Name: name,
    MediaTypes: mediaTypes,
    Inserted: drive.inserted,
    Image: drive.image,
    ImageName: drive.imageName,
    ConnectedVia: connectedVia(drive),
    WriteProtected: drive.writeProtected,
    TransferMethod: drive.transferMethod === null ? null : methodOut[drive.transferMethod],
    TransferProtocolType: drive.viaUri && drive.image !== null ? protocolOf(drive.image) : null,
    // Write-only: the service does not store them after the download.
    UserName: null,
    Password: null,
    VerifyCertificate: trustOf(drive, verifyByDefault).verifyCertificate,
    // DMTF defines this collection under systems only.
    Certificates: reference(`/redfish/v1/Systems/${system.uuid}/VirtualMedia/${id}/Certificates`),
  };
}

/** Returns ConnectedVia. Oem means that another tool inserted the image. */
function connectedVia(drive: MediaSnapshot): 'NotConnected' | 'URI' | 'Oem' {
  if (!drive.inserted) return 'NotConnected';
  return drive.viaUri ? 'URI' : 'Oem';
}

function protocolOf(image: string): 'HTTP' | 'HTTPS' {
  return image.startsWith('https:') ? 'HTTPS' : 'HTTP';
}

/** The virtual media of managers and of systems. */
export const virtualMediaResources = [
  ...virtualMediaAt(
    '/redfish/v1/Managers/{systemId}/VirtualMedia',
    '/redfish/v1/Managers/{systemId}/VirtualMedia/{mediaId}',
  ),
  ...virtualMediaAt(
    '/redfish/v1/Systems/{systemId}/VirtualMedia',
    '/redfish/v1/Systems/{systemId}/VirtualMedia/{mediaId}',
  ),
];
