/** The body of a PATCH of VirtualMedia, which inserts or ejects an image as the actions do. */
import { z } from 'zod';
import { withPointers, message, withDetail, type Message } from '../../redfish/messages/messages.js';
import { imageUrl, imageOptions, protocolFault, type ImageFaults, type ImageBody } from './insert-media.js';

const faults: ImageFaults = {
  badFormat: (value, name) => message('PropertyValueFormatError', value, name),
  notInList: (value, name) => message('PropertyValueNotInList', value, name),
  conflict: (name) => message('PropertyValueConflict', name, 'Image'),
};

/**
 * Returns the schema of a PATCH for a drive. Properties of an image need an Image in the same body.
 * Without an Image, these properties must be null or have their current values, because some clients send back
 * everything that they read.
 * @param shown the drive as GET shows it.
 */
export const driveBody = (shown: Readonly<Record<string, unknown>>) =>
  z
    .strictObject({
      Image: z.union([z.literal(''), imageUrl(faults)]).nullish(),
      Inserted: z.boolean().optional(),
      ...imageOptions,
      VerifyCertificate: z.boolean().optional(),
    })
    .superRefine((body, context) => {
      for (const fault of conflicts(body, shown)) {
        context.addIssue({ code: 'custom', path: [String(fault.args[0])], params: { message: fault } });
      }
    });

/** A body that {@link driveBody} validated. */
type DriveBody = z.infer<ReturnType<typeof driveBody>>;

/**
 * Returns the contradictions within a body and, without an Image, the image properties whose values
 * differ from the current values.
 */
function conflicts(body: DriveBody, shown: Readonly<Record<string, unknown>>): readonly Message[] {
  const { Image: image, Inserted: inserted, TransferProtocolType: claimed } = body;
  if (typeof image === 'string' && image !== '') {
    const found: Message[] = [];
    if (inserted === false) {
      const why = 'Inserted cannot be false together with an Image: an image in a drive is always inserted.';
      found.push(withPointers(withDetail(faults.conflict('Inserted', 'false'), why), '#/Inserted', '#/Image'));
    }
    const fault = typeof claimed === 'string' ? protocolFault(image, claimed, faults) : undefined;
    return fault === undefined ? found : [...found, fault];
  }
  const missing = inserted === true && (image !== undefined || shown['Inserted'] !== true);
  const imageProperties = ['WriteProtected', 'TransferMethod', 'TransferProtocolType', 'UserName', 'Password'] as const;
  return [
    ...(missing ? [withPointers(message('PropertyMissing', 'Image'), '#/Inserted')] : []),
    ...imageProperties
      .filter((name) => body[name] !== undefined && body[name] !== null && body[name] !== shown[name])
      .map((name) =>
        withPointers(
          withDetail(faults.conflict(name, ''), `${name} can be set only together with Image.`),
          `#/${name}`,
        ),
      ),
  ];
}

/** The effect of a PATCH on the image in a drive; null for none. */
type DriveChange = { readonly kind: 'insert'; readonly body: ImageBody } | { readonly kind: 'eject' } | null;

/**
 * Returns the image change of a PATCH. A request to eject is an eject also for an empty drive, because
 * an insert may be running.
 */
export function driveChange(body: DriveBody): DriveChange {
  const { Image: image, Inserted: inserted, ...options } = body;
  if (image === null || image === '' || inserted === false) return { kind: 'eject' };
  return image === undefined ? null : { kind: 'insert', body: { ...options, Image: image } };
}
