/** The body of InsertMedia: what may be in it, and the image that it asks for. */
import { z } from 'zod';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import type { ImageRequest } from '../media/image.js';
import { about, message, withDetail, type Message } from '../redfish/messages.js';
import { parseUrl } from './parse-url.js';

export const insertMediaAction = 'VirtualMedia.InsertMedia';

/** How an image may come: `Upload` keeps it on the host while it is inserted, with `Stream` QEMU reads it from its server. */
export const transferMethods = ['Upload', 'Stream'] as const;
export const transferProtocols = ['HTTP', 'HTTPS'] as const;

/** What an image's faults are called in a body: a PATCH and an action have words of their own. */
export interface ImageFaults {
  readonly badFormat: (value: string, name: string) => Message;
  readonly notInList: (value: string, name: string) => Message;
  readonly conflict: (name: string, value: string) => Message;
}

const actionFaults: ImageFaults = {
  badFormat: (value, name) => message('ActionParameterValueFormatError', value, name, insertMediaAction),
  notInList: (value, name) => message('ActionParameterValueNotInList', value, name, insertMediaAction),
  conflict: (name, value) => message('ActionParameterValueConflict', name, value),
};

/** What is wrong with the URL of an image, if anything. */
export function imageFault(image: string, { badFormat }: ImageFaults): Message | undefined {
  if (parseUrl(image) === undefined) return badFormat(maskUrl(image), 'Image');
  const protocol = protocolOf(image);
  if (transferProtocols.some((known) => known === protocol)) return undefined;
  return message('SourceDoesNotSupportProtocol', maskUrl(image), protocol);
}

/** What contradicts the URL of an image, if it is said to come by another protocol. */
export function protocolFault(image: string, claimed: string, faults: ImageFaults): Message | undefined {
  if (imageFault(image, faults) !== undefined || claimed === protocolOf(image)) return undefined;
  const conflict = withDetail(
    faults.conflict('TransferProtocolType', claimed),
    `The URL of the image says ${protocolOf(image)}.`,
  );
  return about(conflict, '#/TransferProtocolType', '#/Image');
}

/** `HTTP` of `http://…`. */
function protocolOf(image: string): string {
  return new URL(image).protocol.slice(0, -1).toUpperCase();
}

/** Signed URLs of object stores have 2,000 characters. A longer URL would fill the machine's metadata and the events. */
export const LONGEST_URL = 4_096;
const LONGEST_CREDENTIAL = 1_000;

/** The URL of an image. @param faults of what it stands in. */
export const imageUrl = (faults: ImageFaults) =>
  z
    .string()
    .max(LONGEST_URL, { abort: true })
    .superRefine((image, context) => {
      const fault = imageFault(image, faults);
      if (fault !== undefined) context.addIssue({ code: 'custom', params: { message: fault } });
    });

/** What may be said of an image beside its URL; null says nothing. */
export const imageWords = {
  WriteProtected: z.boolean().optional(),
  TransferMethod: z.enum(transferMethods).nullish(),
  TransferProtocolType: z.enum(transferProtocols).nullish(),
  UserName: z.string().max(LONGEST_CREDENTIAL).nullish(),
  Password: z.string().max(LONGEST_CREDENTIAL).nullish(),
};

/**
 * DMTF's parameters. UserName and Password may be null: some clients send what they do not have. The faults of values travel in
 * the issues, so that every fault of a body is told at once.
 */
export const insertMediaBody = z
  .strictObject({
    Image: imageUrl(actionFaults),
    // A drive that holds an image without showing it to the guest does not exist here.
    Inserted: z
      .boolean()
      .refine((inserted) => inserted, {
        params: {
          message: withDetail(actionFaults.notInList('false', 'Inserted'), 'EjectMedia takes an image out.'),
        },
      })
      .optional(),
    ...imageWords,
    TransferMethod: z.enum(transferMethods).optional(),
    TransferProtocolType: z.enum(transferProtocols).optional(),
  })
  .superRefine(({ Image, TransferProtocolType: claimed }, context) => {
    const fault = claimed === undefined ? undefined : protocolFault(Image, claimed, actionFaults);
    if (fault === undefined) return;
    context.addIssue({ code: 'custom', path: ['TransferProtocolType'], params: { message: fault } });
  });

/** What is said of an image that is to go into a drive, by an action or by a PATCH. */
export type ImageWords = { readonly Image: string; readonly Inserted?: boolean | undefined } & Readonly<
  z.infer<z.ZodObject<typeof imageWords>>
>;

/** Whose certificates are taken for an image server's. */
export interface ImageTrust {
  readonly verifyCertificate: boolean;
  /** PEM. */
  readonly authorities: readonly string[];
}

/**
 * The image that a body asks for. Credentials in the URL are taken out of it, so that they are never shown or stored; UserName
 * and Password go before them.
 * @param body as {@link insertMediaBody}, or a PATCH's, has let it through.
 */
export function imageRequest(body: ImageWords, { verifyCertificate, authorities }: ImageTrust): ImageRequest {
  const url = new URL(body.Image);
  const userName = body.UserName ?? decodeCredential(url.username);
  const password = body.Password ?? decodeCredential(url.password);
  url.username = '';
  url.password = '';
  return {
    url,
    ...(userName === undefined ? {} : { userName }),
    ...(password === undefined ? {} : { password }),
    writeProtected: body.WriteProtected ?? true,
    verifyCertificate,
    ...(authorities.length === 0 ? {} : { authorities }),
    ...(body.TransferMethod === 'Stream' ? { stream: true } : {}),
  };
}

function decodeCredential(encoded: string): string | undefined {
  if (encoded === '') return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    // A stray `%` that the URL parser let through stands for itself.
    return encoded;
  }
}
