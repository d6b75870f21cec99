/** Changes of `Boot`: override, boot mode, boot order, and the image of an HTTP boot. */
import { DriverError, isDriverError } from '../../drivers/driver-error.js';
import type { BootChange } from '../../drivers/snapshot/boot-snapshot.js';
import type { MediaSnapshot } from '../../drivers/snapshot/media-snapshot.js';
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import type { CdChange, SystemChange } from '../../drivers/system-change.js';
import { mergeBootOverride } from '../../drivers/rules/boot-override.js';
import { storedUrl } from '../../media/image.js';
import { runLongOperation } from '../../redfish/tasks/long-operation.js';
import { withPointers, message, withDetail, type Message } from '../../redfish/messages/messages.js';
import type { ErrorContext } from '../../redfish/messages/driver-errors.js';
import type { ResourceRequest, WriteResult } from '../../redfish/resource.js';
import type { SystemWith } from '../details.js';
import { bootChange, ignoredProperties, type BootBody } from './boot.js';
import { imageRequest } from '../virtual-media/insert-media.js';
import { trustOf } from '../virtual-media/configured-drive.js';
import type { ResourceSettings, Services } from '../services.js';

/** A change of `Boot` for the driver, and messages to the client about ignored properties. */
interface WantedBoot {
  readonly change: Pick<SystemChange, 'boot' | 'bootOrder' | 'cd'>;
  readonly messages: readonly Message[];
}

/**
 * Returns the change for a body. The image of an HTTP boot is inserted into the machine's CD drive
 * and ejected when the URI is removed. With EMULATOR_IGNORE_BOOT_DEVICE, only the boot mode
 * changes.
 */
export function wantedBoot(system: SystemWith<'boot'>, body: BootBody, { settings, log }: Services): WantedBoot {
  const ignored = settings.ignoreBootDevice ? ignoredProperties(body) : [];
  const change = bootChange(body, system.boot);
  if (ignored.length > 0) {
    const { firmware } = change;
    log.warn('boot override ignored: EMULATOR_IGNORE_BOOT_DEVICE is True', { system: system.uuid, ignored });
    return {
      change: firmware === undefined ? {} : { boot: { firmware } },
      messages: ignored.map((name) => notUpdatedMessage(name, `#/Boot/${name}`)),
    };
  }
  const cd = wantedImage(system, body, { change, settings });
  return {
    change: {
      ...(Object.keys(change).length === 0 ? {} : { boot: change }),
      ...(body.BootOrder === undefined ? {} : { bootOrder: body.BootOrder }),
      ...(cd === undefined ? {} : { cd }),
    },
    messages: [],
  };
}

/**
 * Makes a change. A change of the CD drive can become a task, because it downloads an image or
 * waits for another insert.
 * @param context translates errors of the task.
 * @param messages the client gets them with the result: of this request, or of the task.
 * @throws {DriverError} of the driver, if it comes before the request becomes a task.
 */
export async function applyChange(
  system: SystemSnapshot,
  change: SystemChange,
  {
    services,
    requester,
    context,
    messages,
  }: Pick<ResourceRequest<Services, unknown>, 'services' | 'requester'> & {
    context: ErrorContext;
    messages: readonly Message[];
  },
): Promise<WriteResult | undefined> {
  const { driver, operations } = services;
  const result = messages.length === 0 ? undefined : messages;
  if (change.cd === undefined) {
    if (Object.keys(change).length > 0) await driver.change(system.uuid, change, { basis: system });
    return result && { messages: result };
  }
  return await runLongOperation(
    {
      name: `HTTP boot of ${system.name}`,
      requester,
      context,
      run: async ({ progress }) => {
        try {
          await driver.change(system.uuid, change, { onProgress: progress });
        } catch (error) {
          throw translateDriveError(error);
        }
        return result;
      },
    },
    operations,
  );
}

/**
 * Returns the change of the CD drive: inserts the image of the HTTP boot, or ejects the image of
 * the previous HTTP boot. Returns undefined if the drive keeps its image.
 */
function wantedImage(
  system: SystemWith<'boot'>,
  body: BootBody,
  { change, settings }: { readonly change: BootChange; readonly settings: ResourceSettings },
): CdChange | undefined {
  const after = mergeBootOverride(system.boot, change);
  const wanted = after.target === 'http' ? after.httpUri : undefined;
  const drive = cdDrive(system);
  const stale = isFrom(drive?.image, system.boot.httpUri) && !isFrom(drive?.image, after.httpUri);
  const replaces = stale ? (drive?.image ?? undefined) : undefined;
  if (wanted === undefined || (isFrom(drive?.image, wanted) && !stale)) {
    return stale ? { image: null, replaces } : undefined;
  }
  // The sent URI may contain credentials, which the stored URI lacks.
  const sent = typeof body.HttpBootUri === 'string' && body.HttpBootUri !== '' ? body.HttpBootUri : wanted;
  return { image: imageRequest({ Image: sent }, trustOf(drive, settings.vmediaVerifySsl)), replaces };
}

function cdDrive({ media }: SystemSnapshot): MediaSnapshot | undefined {
  return media?.find(({ device }: { readonly device: string }) => device === 'cdrom');
}

/** Returns whether the image in the drive comes from the URI of an HTTP boot. */
function isFrom(image: string | null | undefined, uri: string | undefined): boolean {
  return typeof image === 'string' && uri !== undefined && URL.canParse(uri) && image === storedUrl(new URL(uri));
}

/** Explains `mediaInUse` to clients that requested an HTTP boot and not an insert. */
function translateDriveError(error: unknown): unknown {
  if (!isDriverError(error, 'mediaInUse')) return error;
  const why = 'an HTTP boot uses the CD drive of the machine, which holds another image';
  return new DriverError('conflict', `preparing the HTTP boot: ${why}`, { cause: error });
}

/** Returns the message for a property that EMULATOR_IGNORE_BOOT_DEVICE leaves unchanged. */
export function notUpdatedMessage(name: string, pointer = `#/${name}`): Message {
  return withDetail(
    withPointers(message('PropertyNotUpdated', name), pointer),
    'EMULATOR_IGNORE_BOOT_DEVICE is set, so the firmware of the machine selects the boot device.',
  );
}
