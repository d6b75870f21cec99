/** The body of a PATCH of VirtualMedia: an image goes in or out by its properties, as it does by the actions. */
import { z } from 'zod';
import { about, message, withDetail, type Message } from '../redfish/messages.js';
import {
  imageFault,
  protocolFault,
  transferMethods,
  transferProtocols,
  type ImageFaults,
  type InsertMediaBody,
} from './insert-media.js';
import type { DriveEntity } from './media-drive.js';

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
      Image: z
        .string()
        .superRefine((image, context) => {
          const fault = image === '' ? undefined : imageFault(image, faults);
          if (fault !== undefined) context.addIssue({ code: 'custom', params: { message: fault } });
        })
        .nullish(),
      Inserted: z.boolean().optional(),
      WriteProtected: z.boolean().optional(),
      TransferMethod: z.enum(transferMethods).nullish(),
      TransferProtocolType: z.enum(transferProtocols).nullish(),
      UserName: z.string().nullish(),
      Password: z.string().nullish(),
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
export type DriveChange =
  { readonly kind: 'insert'; readonly body: InsertMediaBody } | { readonly kind: 'eject' } | null;

/** Null: the image stays as it is. */
export function driveChange(body: DriveBody, { drive }: DriveEntity): DriveChange {
  const { Image: image, Inserted: inserted, WriteProtected, TransferMethod, TransferProtocolType } = body;
  if (image === null || image === '' || inserted === false) return drive.inserted ? { kind: 'eject' } : null;
  if (image === undefined) return null;
  return {
    kind: 'insert',
    body: {
      Image: image,
      ...(WriteProtected === undefined ? {} : { WriteProtected }),
      ...(TransferMethod === undefined || TransferMethod === null ? {} : { TransferMethod }),
      ...(TransferProtocolType === undefined || TransferProtocolType === null ? {} : { TransferProtocolType }),
      UserName: body.UserName,
      Password: body.Password,
    },
  };
}
