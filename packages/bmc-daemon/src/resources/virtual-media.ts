/** The drive that an ISO image goes into over Redfish, under the machine's manager and under the machine itself. */
import { z } from 'zod';
import type { MediaSnapshot, SystemSnapshot } from '../drivers/driver.js';
import { refuse } from '../redfish/errors.js';
import { runLongOperation } from '../redfish/long-operation.js';
import { about, message } from '../redfish/messages.js';
import type { JsonObject } from '../redfish/resource.js';
import {
  imageRequest,
  insertMediaAction,
  insertMediaBody,
  transferMethods,
  transferProtocols,
} from './insert-media.js';
import { renderCollection } from './reference.js';
import { defineResource } from './services.js';

const ejectMediaAction = 'VirtualMedia.EjectMedia';

/** Redfish's id of each drive. */
const idOfDevice = { cdrom: 'Cd' } as const satisfies Readonly<Record<MediaSnapshot['device'], string>>;

interface DriveEntity {
  readonly system: SystemSnapshot;
  readonly drive: MediaSnapshot;
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
  const actionPath = ({ system, drive }: DriveEntity, action: string): string =>
    `${uri.replace('{systemId}', system.uuid).replace('{mediaId}', idOfDevice[drive.device])}/Actions/${action}`;

  const collection = defineResource({
    entity: 'VirtualMediaCollection',
    odataType: '#VirtualMediaCollection.VirtualMediaCollection',
    uri: collectionUri,
    load: ({ params, services }) => services.driver.getSystem(params.systemId),
    canonicalParams: ({ uuid }) => ({ systemId: uuid }),
    render: ({ media }, { self }) =>
      renderCollection(
        'Virtual Media Collection',
        media.map(({ device }) => `${self}/${idOfDevice[device]}`),
      ),
  });

  const member = defineResource({
    entity: 'VirtualMedia',
    odataType: '#VirtualMedia.v1_6_5.VirtualMedia',
    uri,
    load: async ({ params, services }): Promise<DriveEntity> => {
      const system = await services.driver.getSystem(params.systemId);
      const drive = system.media.find(({ device }) => idOfDevice[device] === params.mediaId);
      if (drive === undefined) throw refuse('ResourceNotFound', 'VirtualMedia', params.mediaId);
      return { system, drive };
    },
    canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
    render: ({ drive }, { services }) => renderDrive(drive, services.settings.vmediaVerifySsl),
    actions: {
      '#VirtualMedia.InsertMedia': {
        body: insertMediaBody,
        parameters: (): JsonObject => ({
          'TransferMethod@Redfish.AllowableValues': transferMethods,
          'TransferProtocolType@Redfish.AllowableValues': transferProtocols,
        }),
        run: (entity, body, { services, requester }) => {
          const { system, drive } = entity;
          const image = imageRequest(body, { verifyCertificate: services.settings.vmediaVerifySsl });
          return runLongOperation(
            {
              name: `Insert an image into ${idOfDevice[drive.device]} of ${system.name}`,
              requester,
              cancellable: true,
              // Of the body only what a message may quote: the task outlives the request, the password must not.
              context: {
                action: insertMediaAction,
                body: { Image: image.url.href },
                path: actionPath(entity, insertMediaAction),
              },
              run: async ({ progress: onProgress, signal }) => {
                await services.driver.insertMedia(system.uuid, drive.device, image, { onProgress, signal });
                // Done, but not to the letter; the client hears it with a 200 in place of the 204.
                if (body.WriteProtected !== false) return undefined;
                return [about(message('PropertyValueModified', 'WriteProtected', 'true'), '#/WriteProtected')];
              },
            },
            services.operations,
          );
        },
      },
      '#VirtualMedia.EjectMedia': {
        body: z.strictObject({}),
        bodyOptional: true,
        run: (entity, _body, { services, requester }) => {
          const { system, drive } = entity;
          return runLongOperation(
            {
              name: `Eject ${idOfDevice[drive.device]} of ${system.name}`,
              requester,
              context: { action: ejectMediaAction, path: actionPath(entity, ejectMediaAction) },
              run: async () => {
                await services.driver.ejectMedia(system.uuid, drive.device);
                return undefined;
              },
            },
            services.operations,
          );
        },
      },
    },
  });
  return [collection, member];
}

function renderDrive(drive: MediaSnapshot, verifyCertificate: boolean): JsonObject {
  const id = idOfDevice[drive.device];
  return {
    Id: id,
    Name: `Virtual ${id}`,
    MediaTypes: ['CD', 'DVD'],
    Inserted: drive.inserted,
    Image: drive.image,
    ImageName: drive.imageName,
    ConnectedVia: connectedVia(drive),
    WriteProtected: drive.writeProtected,
    TransferMethod: drive.viaUri ? 'Upload' : null,
    TransferProtocolType: drive.viaUri && drive.image !== null ? protocolOf(drive.image) : null,
    VerifyCertificate: verifyCertificate,
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
