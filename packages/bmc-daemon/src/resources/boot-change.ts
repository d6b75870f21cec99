/** A change of `Boot`, carried out: override and mode, the machine's own order, and the image that an HTTP boot boots from. */
import { DriverError, type MediaSnapshot, type SystemSnapshot } from '../drivers/driver.js';
import { mergeBootOverride } from '../drivers/boot-override.js';
import { storedUrl } from '../media/image.js';
import { runLongOperation } from '../redfish/long-operation.js';
import { about, message, withDetail, type Message } from '../redfish/messages.js';
import type { WriteResult } from '../redfish/resource.js';
import { bootChange, bootProperties, ignoredProperties, type BootBody } from './boot.js';
import { firmwareControl } from './firmware.js';
import { imageRequest } from './insert-media.js';
import { trustOf } from './media-drive.js';
import type { Services } from './services.js';

/**
 * Carries a change out. With a URI of an HTTP boot the image there is put into the machine's CD drive first, which may take long and
 * become a task; where it can not be had, nothing is changed.
 */
export async function applyBoot(
  system: SystemSnapshot,
  body: BootBody,
  services: Services,
): Promise<WriteResult | undefined> {
  const ignored = services.settings.ignoreBootDevice ? ignoredProperties(body) : [];
  if (ignored.length > 0) return await leaveUndone(system, body, ignored, services);
  const change = bootChange(body, system.boot);
  const after = mergeBootOverride(system.boot, change);
  const wanted = after.target === 'http' ? after.httpUri : undefined;
  const { driver } = services;
  const rest = async (): Promise<void> => {
    if (Object.keys(change).length > 0) await driver.setBoot(system.uuid, change);
    if (body.BootOrder !== undefined) await firmwareControl({ driver }).setBootOrder(system.uuid, body.BootOrder);
  };
  const drive = cdDrive(system);
  const stale = isOf(drive?.image, system.boot.httpUri) && !isOf(drive?.image, after.httpUri);
  if (wanted === undefined || (isOf(drive?.image, wanted) && !stale)) {
    if (stale) await driver.ejectMedia(system.uuid, 'cdrom');
    await rest();
    return undefined;
  }
  // What was sent may have credentials in it, which are neither stored nor shown.
  const sent = typeof body.HttpBootUri === 'string' && body.HttpBootUri !== '' ? body.HttpBootUri : wanted;
  const image = imageRequest({ Image: sent }, trustOf(drive, services.settings.vmediaVerifySsl));
  return await runLongOperation(
    {
      name: `HTTP boot of ${system.name}`,
      context: {
        body: { Boot: { HttpBootUri: wanted } },
        properties: bootProperties,
        path: `/redfish/v1/Systems/${system.uuid}`,
      },
      run: async () => {
        if (stale) await driver.ejectMedia(system.uuid, 'cdrom');
        try {
          await driver.insertMedia(system.uuid, 'cdrom', image);
        } catch (error) {
          throw ofDrive(error);
        }
        await rest();
        return undefined;
      },
    },
    services.operations,
  );
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

async function leaveUndone(
  { uuid, boot }: SystemSnapshot,
  body: BootBody,
  ignored: readonly string[],
  { driver, log }: Services,
): Promise<WriteResult> {
  const { firmware } = bootChange(body, boot);
  if (firmware !== undefined) await driver.setBoot(uuid, { firmware });
  log.warn('boot override left undone: EMULATOR_IGNORE_BOOT_DEVICE is True', { system: uuid, ignored });
  return { messages: ignored.map((name) => leftUndone(name, `#/Boot/${name}`)) };
}

/** What a client reads of a property that EMULATOR_IGNORE_BOOT_DEVICE leaves as it is. */
export function leftUndone(name: string, pointer = `#/${name}`): Message {
  return withDetail(
    about(message('PropertyNotUpdated', name), pointer),
    'EMULATOR_IGNORE_BOOT_DEVICE is set: the firmware of the machine chooses.',
  );
}
