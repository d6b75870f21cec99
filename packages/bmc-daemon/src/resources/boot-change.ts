/** A change of `Boot`: override and mode, the machine's own order, and the image that an HTTP boot boots from. */
import { DriverError, type BootChange, type MediaSnapshot, type SystemSnapshot } from '../drivers/driver.js';
import type { CdChange, SystemChange } from '../drivers/system-change.js';
import { mergeBootOverride } from '../drivers/boot-override.js';
import { storedUrl } from '../media/image.js';
import { runLongOperation } from '../redfish/long-operation.js';
import { about, message, withDetail, type Message } from '../redfish/messages.js';
import type { ErrorContext } from '../redfish/driver-errors.js';
import type { ResourceRequest, WriteResult } from '../redfish/resource.js';
import { bootChange, ignoredProperties, type BootBody } from './boot.js';
import { imageRequest } from './insert-media.js';
import { trustOf } from './configured-drive.js';
import type { ResourceSettings, Services } from './services.js';

/** A change of `Boot` in the driver's words, and what the client reads of parts that are left undone. */
export interface WantedBoot {
  readonly change: Pick<SystemChange, 'boot' | 'bootOrder' | 'cd'>;
  readonly messages: readonly Message[];
}

/**
 * Returns the change that a body asks for. The image of an HTTP boot goes into the machine's CD drive and leaves it with the URI.
 */
export function wantedBoot(system: SystemSnapshot, body: BootBody, { settings, log }: Services): WantedBoot {
  const ignored = settings.ignoreBootDevice ? ignoredProperties(body) : [];
  const change = bootChange(body, system.boot);
  if (ignored.length > 0) {
    const { firmware } = change;
    log.warn('boot override left undone: EMULATOR_IGNORE_BOOT_DEVICE is True', { system: system.uuid, ignored });
    return {
      change: firmware === undefined ? {} : { boot: { firmware } },
      messages: ignored.map((name) => leftUndone(name, `#/Boot/${name}`)),
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
 * Makes a change. A change of the CD drive may take long and become a task: it downloads an image, or waits for an insert.
 * @param context what failures are translated with.
 */
export async function applyChange(
  system: SystemSnapshot,
  change: SystemChange,
  {
    services,
    requester,
    context,
  }: Pick<ResourceRequest<Services, unknown>, 'services' | 'requester'> & { context: ErrorContext },
): Promise<WriteResult | undefined> {
  const { driver, operations } = services;
  if (Object.keys(change).length === 0) return undefined;
  if (change.cd === undefined) {
    await driver.change(system.uuid, change);
    return undefined;
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
          throw ofDrive(error);
        }
        return undefined;
      },
    },
    operations,
  );
}

function wantedImage(
  system: SystemSnapshot,
  body: BootBody,
  { change, settings }: { readonly change: BootChange; readonly settings: ResourceSettings },
): CdChange | undefined {
  const after = mergeBootOverride(system.boot, change);
  const wanted = after.target === 'http' ? after.httpUri : undefined;
  const drive = cdDrive(system);
  const stale = isOf(drive?.image, system.boot.httpUri) && !isOf(drive?.image, after.httpUri);
  const replaces = stale ? (drive?.image ?? undefined) : undefined;
  if (wanted === undefined || (isOf(drive?.image, wanted) && !stale)) {
    return stale ? { image: null, replaces } : undefined;
  }
  // The URI as sent may have credentials in it, which are neither stored nor shown.
  const sent = typeof body.HttpBootUri === 'string' && body.HttpBootUri !== '' ? body.HttpBootUri : wanted;
  return { image: imageRequest({ Image: sent }, trustOf(drive, settings.vmediaVerifySsl)), replaces };
}

function cdDrive({ media }: SystemSnapshot): MediaSnapshot | undefined {
  return media.find(({ device }: { readonly device: string }) => device === 'cdrom');
}

/** Whether an image in the drive is that of the URI of an HTTP boot. */
function isOf(image: string | null | undefined, uri: string | undefined): boolean {
  return typeof image === 'string' && uri !== undefined && URL.canParse(uri) && image === storedUrl(new URL(uri));
}

/** The image is put into the drive, which may hold another: whoever asked for an HTTP boot has not thought of a drive. */
function ofDrive(error: unknown): unknown {
  if (!(error instanceof DriverError) || error.kind !== 'mediaInUse') return error;
  const why = 'an HTTP boot uses the CD drive of the machine, which holds another image';
  return new DriverError('conflict', `preparing the HTTP boot: ${why}`, { cause: error });
}

/** What a client reads of a property that EMULATOR_IGNORE_BOOT_DEVICE leaves as it is. */
export function leftUndone(name: string, pointer = `#/${name}`): Message {
  return withDetail(
    about(message('PropertyNotUpdated', name), pointer),
    'EMULATOR_IGNORE_BOOT_DEVICE is set: the firmware of the machine chooses.',
  );
}
