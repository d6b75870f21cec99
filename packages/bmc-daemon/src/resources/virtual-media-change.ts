/** The body of a PATCH of VirtualMedia: an image goes in or out by its properties, as it does by the actions. */
import { z } from 'zod';
import { about, message, withDetail, type Message } from '../redfish/messages.js';
import { imageUrl, imageWords, protocolFault, type ImageFaults, type ImageWords } from './insert-media.js';

const faults: ImageFaults = {
  badFormat: (value, name) => message('PropertyValueFormatError', value, name),
  notInList: (value, name) => message('PropertyValueNotInList', value, name),
  conflict: (name) => message('PropertyValueConflict', name, 'Image'),
};

/**
 * What a PATCH may say of a drive. An image's own properties go with an image: without one they are taken only where they say what
 * is so already, as a client says that sends what it has read.
 * @param shown the drive as GET sends it.
 */
export const driveBody = (shown: Readonly<Record<string, unknown>>) =>
  z
    .strictObject({
      Image: z.union([z.literal(''), imageUrl(faults)]).nullish(),
      Inserted: z.boolean().optional(),
      ...imageWords,
      VerifyCertificate: z.boolean().optional(),
    })
    .superRefine((body, context) => {
      for (const fault of conflicts(body, shown)) {
        context.addIssue({ code: 'custom', path: [String(fault.args[0])], params: { message: fault } });
      }
    });

/** What {@link driveBody} has let through. */
export type DriveBody = z.infer<ReturnType<typeof driveBody>>;

function conflicts(body: DriveBody, shown: Readonly<Record<string, unknown>>): readonly Message[] {
  const { Image: image, Inserted: inserted, TransferProtocolType: claimed } = body;
  if (typeof image === 'string' && image !== '') {
    const found: Message[] = [];
    if (inserted === false) {
      const why = 'A drive that holds an image shows it to the machine.';
      found.push(about(withDetail(faults.conflict('Inserted', 'false'), why), '#/Inserted', '#/Image'));
    }
    const fault = typeof claimed === 'string' ? protocolFault(image, claimed, faults) : undefined;
    return fault === undefined ? found : [...found, fault];
  }
  const missing = inserted === true && (image !== undefined || shown['Inserted'] !== true);
  const words = ['WriteProtected', 'TransferMethod', 'TransferProtocolType', 'UserName', 'Password'] as const;
  return [
    ...(missing ? [about(message('PropertyMissing', 'Image'), '#/Inserted')] : []),
    ...words
      .filter((name) => body[name] !== undefined && body[name] !== null && body[name] !== shown[name])
      .map((name) => about(withDetail(faults.conflict(name, ''), 'It is chosen together with an image.'), `#/${name}`)),
  ];
}

/** What a PATCH does to the image in a drive. */
export type DriveChange = { readonly kind: 'insert'; readonly body: ImageWords } | { readonly kind: 'eject' } | null;

/** @returns null where the image stays as it is. An empty drive is ejected too: its image may be on the way. */
export function driveChange(body: DriveBody): DriveChange {
  const { Image: image, Inserted: inserted, ...words } = body;
  if (image === null || image === '' || inserted === false) return { kind: 'eject' };
  return image === undefined ? null : { kind: 'insert', body: { ...words, Image: image } };
}
