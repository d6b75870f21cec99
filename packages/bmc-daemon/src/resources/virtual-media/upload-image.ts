/** Inserts an uploaded image into a drive. */
import { ImageUpload } from '../../media/image-upload.js';
import { toRedfishError } from '../../redfish/messages/driver-errors.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import { message, withDetail } from '../../redfish/messages/messages.js';
import type { Requester } from '../../redfish/resource.js';
import { runLongOperation } from '../../redfish/tasks/long-operation.js';
import { taskUri } from '../../redfish/tasks/task-store.js';
import type { BegunUpload, NewUpload } from '../../redfish/upload/uploads.js';
import { mediaOf } from '../details.js';
import type { Services } from '../services.js';
import type { MediaDriveEntity } from './configured-drive.js';

/**
 * Begins the insert of an image whose bytes the client sends later. The insert is a task, which waits
 * for the bytes like for the bytes of an image server.
 * @throws {RedfishError} and {DriverError} of the insert, if it fails before it becomes a task. It becomes a task
 *   when the storage reads the first byte, or after the time of EMULATOR_TASK_AFTER_SECONDS.
 */
export async function uploadImage(
  { system, id, drive }: MediaDriveEntity,
  { id: uploadId, fileName, sizeBytes, writeProtected, path }: NewUpload,
  services: Services,
  requester: Requester,
): Promise<BegunUpload> {
  const { operations, settings } = services;
  const expiryMs = settings.vmediaUploadExpirySeconds * 1000;
  const content = new ImageUpload({ id: uploadId, fileName, sizeBytes, expiryMs });
  const image = { url: content.url, upload: content, writeProtected, verifyCertificate: true };
  const context = { path, action: 'VirtualMedia.InsertMedia', body: { Image: fileName } };
  let end: (failure: RedfishError | null) => void = () => undefined;
  const ended = new Promise<RedfishError | null>((resolve) => {
    end = resolve;
  });
  const result = await runLongOperation(
    {
      name: `Upload an image into ${id} of ${system.name}`,
      requester,
      cancellable: true,
      untilTask: content.begun,
      context,
      run: async ({ progress: onProgress, signal }) => {
        try {
          await mediaOf(services).insert(system.uuid, drive.device, image, { onProgress, signal });
          end(null);
        } catch (error) {
          // A request that sends bytes must not wait for the storage any longer.
          content.fail(error instanceof Error ? error : new Error(String(error)));
          end(signal.aborted ? cancelledError() : toRedfishError(error, context));
          throw error;
        }
        return undefined;
      },
    },
    operations,
  );
  const task = result?.task?.task ?? null;
  const cancel: BegunUpload['cancel'] = (by) => {
    if (task !== null) void operations.tasks.cancel(task.slice(taskUri('').length), by);
  };
  return { content, task, ended, waitMs: operations.waitMs, cancel };
}

function cancelledError(): RedfishError {
  return new RedfishError(410, [withDetail(message('OperationFailed'), 'A client cancelled the upload.')]);
}
