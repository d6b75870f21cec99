/** The drives that images go into over Redfish, under the machine's manager and under the machine itself. */
import { z } from 'zod';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import type { MediaSnapshot } from '../drivers/driver.js';
import { storedUrl, type ImageRequest } from '../media/image.js';
import { RedfishError, refuse } from '../redfish/errors.js';
import { runLongOperation, type LongOperation } from '../redfish/long-operation.js';
import { about, message, withDetail, type Message } from '../redfish/messages.js';
import type { JsonObject, Requester, WriteResult } from '../redfish/resource.js';
import {
  imageRequest,
  insertMediaAction,
  insertMediaBody,
  transferProtocols,
  type ImageWords,
} from './insert-media.js';
import { drivesOf, trustOf, type MediaDriveEntity } from './configured-drive.js';
import { reference, renderCollection } from './reference.js';
import { defineResource, type Services } from './services.js';
import { driveBody, driveChange } from './virtual-media-change.js';

const ejectMediaAction = 'VirtualMedia.EjectMedia';

const methodOut = { upload: 'Upload', stream: 'Stream' } as const;

/** @throws {RedfishError} 404 where the machine has no such drive. */
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
 * Old clients and Ironic look under the manager, newer ones under the system; playbooks broke when sushy-tools moved it from
 * the one to the other, so both answer. The manager's id is the machine's, so one parameter serves both templates.
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
      // What is shown of the certificates' verification is not compared.
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

interface Asked {
  readonly requester: Requester;
  readonly context: Pick<LongOperation['context'], 'action' | 'path'>;
}

/** An image in the place of the one that is there: who sets a property does not have to clear it before. */
async function replace(
  entity: MediaDriveEntity,
  body: ImageWords,
  services: Services,
  asked: Asked,
): Promise<WriteResult | undefined> {
  const { system, drive } = entity;
  const protection = drive.device === 'cdrom' || drive.writeProtected === (body.WriteProtected ?? true);
  const isSame = drive.viaUri && drive.image === storedUrl(new URL(body.Image)) && protection;
  return await insert(entity, body, services, asked, async () => {
    if (drive.inserted && !isSame) await services.driver.ejectMedia(system.uuid, drive.device);
  });
}

function insert(
  { system, id, drive }: MediaDriveEntity,
  body: ImageWords,
  { driver, settings, operations }: Services,
  { requester, context }: Asked,
  prepare: () => Promise<void> = () => Promise.resolve(),
): Promise<WriteResult | undefined> {
  const image = imageRequest(body, trustOf(drive, settings.vmediaVerifySsl));
  checkMethod(body, image, drive, context.action);
  return runLongOperation(
    {
      name: `Insert an image into ${id} of ${system.name}`,
      requester,
      cancellable: true,
      // Of the body only what a message may quote: the task outlives the request, the password must not.
      context: { ...context, body: { Image: image.url.href, TransferMethod: body.TransferMethod } },
      run: async ({ progress: onProgress, signal }) => {
        await prepare();
        await driver.insertMedia(system.uuid, drive.device, image, { onProgress, signal });
        // Done, but not to the letter; the client hears it with a 200 in place of the 204.
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
  { requester, context }: Asked,
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

/** @throws {RedfishError} 400 for a way in which no image comes into this drive. */
function checkMethod(
  { TransferMethod: method }: ImageWords,
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
    throw new RedfishError(400, [fault('This drive takes images by Upload only.')]);
  }
  // The definition of the machine would have to keep them, wherever they came from.
  if (userName !== undefined || password !== undefined) {
    throw new RedfishError(400, [fault('An image that needs a user name and a password comes by Upload.')]);
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
    // For writing alone: they are forgotten with the download.
    UserName: null,
    Password: null,
    VerifyCertificate: trustOf(drive, verifyByDefault).verifyCertificate,
    // DMTF has a place for them under systems only.
    Certificates: reference(`/redfish/v1/Systems/${system.uuid}/VirtualMedia/${id}/Certificates`),
  };
}

/** Oem: an image that was put in by other means than this service. */
function connectedVia(drive: MediaSnapshot): 'NotConnected' | 'URI' | 'Oem' {
  if (!drive.inserted) return 'NotConnected';
  return drive.viaUri ? 'URI' : 'Oem';
}

function protocolOf(image: string): 'HTTP' | 'HTTPS' {
  return image.startsWith('https:') ? 'HTTPS' : 'HTTP';
}

/** Virtual media under managers and under systems. */
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
