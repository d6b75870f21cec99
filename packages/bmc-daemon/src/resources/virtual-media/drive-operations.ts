/** Inserts and ejects the image of a drive, for the actions and for PATCH. */
import { storedUrl, type ImageRequest } from '../../media/image.js';
import type { MediaSnapshot } from '../../drivers/snapshot/media-snapshot.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import { withPointers, message, withDetail, type Message } from '../../redfish/messages/messages.js';
import type { Requester, WriteResult } from '../../redfish/resource.js';
import { runLongOperation, type LongOperation } from '../../redfish/tasks/long-operation.js';
import { mediaOf } from '../details.js';
import type { Services } from '../services.js';
import { trustOf, type MediaDriveEntity } from './configured-drive.js';
import { imageRequest, type ImageBody } from './insert-media.js';

/** The request behind an operation, for its task and its errors. */
interface Origin {
  readonly requester: Requester;
  readonly context: Pick<LongOperation['context'], 'action' | 'path'>;
  /**
   * Runs after the insert or the eject, within the same operation, and only if it succeeds. So a failed PATCH changes
   * no other property.
   */
  readonly finish?: () => Promise<void>;
}

/**
 * Replaces the image in a drive, for a PATCH of Image. Ejects the inserted image first, unless it is the same
 * image with the same write protection. The action InsertMedia does not eject.
 * @returns as {@link insertImage}.
 * @throws {RedfishError} as {@link insertImage}.
 * @throws {DriverError} as {@link insertImage}.
 */
export async function replaceImage(
  entity: MediaDriveEntity,
  body: ImageBody,
  services: Services,
  origin: Origin,
): Promise<WriteResult | undefined> {
  const { system, drive } = entity;
  const hasSameProtection = drive.device === 'cdrom' || drive.writeProtected === (body.WriteProtected ?? true);
  const isSame = drive.viaUri && drive.image === storedUrl(new URL(body.Image)) && hasSameProtection;
  return await insertImage(entity, body, services, origin, async () => {
    if (drive.inserted && !isSame) await mediaOf(services).eject(system.uuid, drive.device);
  });
}

/**
 * Inserts an image. Answers with a task if it takes long.
 * @param prepare runs before the insert, within the same operation.
 * @returns the task, or a message about the write protection; undefined: the image is in the drive as requested.
 * @throws {RedfishError} 400 if the drive or the image does not support the TransferMethod.
 * @throws {DriverError} of the driver, and what `prepare` throws, before the request becomes a task.
 */
export function insertImage(
  { system, id, drive }: MediaDriveEntity,
  body: ImageBody,
  services: Services,
  { requester, context, finish }: Origin,
  prepare: () => Promise<void> = () => Promise.resolve(),
): Promise<WriteResult | undefined> {
  const { driver, settings, operations } = services;
  const image = imageRequest(body, trustOf(drive, settings.vmediaVerifySsl));
  checkMethod(body, image, drive, context.action);
  return runLongOperation(
    {
      name: `Insert an image into ${id} of ${system.name}`,
      requester,
      cancellable: true,
      // The task stores this body, so it has no password, only the values that messages of the task
      // quote.
      context: { ...context, body: { Image: image.url.href, TransferMethod: body.TransferMethod } },
      run: async ({ progress: onProgress, signal }) => {
        await prepare();
        await mediaOf(services).insert(system.uuid, drive.device, image, { onProgress, signal });
        await finish?.();
        const { WriteProtected: requested } = body;
        if (requested === undefined) return undefined;
        // A CD is always write-protected. If that differs from the request, a 200 with a message
        // tells the client.
        const { media = [] } = await driver.getSystem(system.uuid);
        const protectedNow = media.find(({ device }) => device === drive.device)?.writeProtected;
        if (protectedNow === undefined || requested === protectedNow) return undefined;
        return [
          withPointers(message('PropertyValueModified', 'WriteProtected', String(protectedNow)), '#/WriteProtected'),
        ];
      },
    },
    operations,
  );
}

/**
 * Ejects the image, and cancels a running insert. Answers with a task if it takes long.
 * @throws {DriverError} of the driver, if it comes before the request becomes a task.
 */
export function ejectImage(
  { system, id, drive }: MediaDriveEntity,
  services: Services,
  { requester, context, finish }: Origin,
): Promise<WriteResult | undefined> {
  return runLongOperation(
    {
      name: `Eject ${id} of ${system.name}`,
      requester,
      context,
      run: async () => {
        await mediaOf(services).eject(system.uuid, drive.device);
        await finish?.();
        return undefined;
      },
    },
    services.operations,
  );
}

/**
 * Checks TransferMethod.
 * @throws {RedfishError} 400 if the drive or the image does not support it.
 */
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
    return withPointers(withDetail(subject, why), '#/TransferMethod');
  };
  if (!drive.transferMethods.includes('stream')) {
    throw new RedfishError(400, [fault('This drive supports Upload only.')]);
  }
  // Streaming would store the credentials in the definition of the machine.
  if (userName !== undefined || password !== undefined) {
    throw new RedfishError(400, [fault('An image with a user name and a password needs Upload.')]);
  }
}
