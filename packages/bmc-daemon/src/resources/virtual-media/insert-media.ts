/** The body of InsertMedia: its schema, and the image request that it describes. */
import { z } from 'zod';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import type { ImageRequest } from '../../media/image.js';
import { withPointers, message, withDetail, type Message } from '../../redfish/messages/messages.js';
import { parseUrl } from '../parse-url.js';

/** Name of the action, for its URI and its messages. */
export const insertMediaAction = 'VirtualMedia.InsertMedia';

/**
 * Transfer methods: with `Upload`, the service stores the image on the host; with `Stream`, QEMU reads the
 * image from the image server.
 */
const transferMethods = ['Upload', 'Stream'] as const;
/** DMTF's TransferProtocolType values that the service supports. */
export const transferProtocols = ['HTTP', 'HTTPS'] as const;

/** Creates the messages for a wrong image. PATCH and actions use different messages. */
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

/** Returns the fault in the URL of an image, if any. */
function imageFault(image: string, { badFormat }: ImageFaults): Message | undefined {
  if (parseUrl(image) === undefined) return badFormat(maskUrl(image), 'Image');
  const protocol = protocolOf(image);
  if (transferProtocols.some((known) => known === protocol)) return undefined;
  return message('SourceDoesNotSupportProtocol', maskUrl(image), protocol);
}

/**
 * Returns the fault if TransferProtocolType contradicts the URL of the image; undefined for a URL with another
 * fault, which {@link imageUrl} reports.
 */
export function protocolFault(image: string, claimed: string, faults: ImageFaults): Message | undefined {
  if (imageFault(image, faults) !== undefined || claimed === protocolOf(image)) return undefined;
  const conflict = withDetail(
    faults.conflict('TransferProtocolType', claimed),
    `The protocol in the URL of the image is ${protocolOf(image)}.`,
  );
  return withPointers(conflict, '#/TransferProtocolType', '#/Image');
}

/** Returns the protocol of a URL, for example `HTTP`. */
function protocolOf(image: string): string {
  return new URL(image).protocol.slice(0, -1).toUpperCase();
}

/**
 * Maximum length of an image URL. Signed URLs of object stores have about 2,000 characters. A
 * longer URL would fill the machine's metadata and the events.
 */
export const MAX_URL_LENGTH = 4_096;
const MAX_CREDENTIAL_LENGTH = 1_000;

/** Returns the schema of an image URL. @param faults creates its error messages. */
export const imageUrl = (faults: ImageFaults) =>
  z
    .string()
    .max(MAX_URL_LENGTH, { abort: true })
    .superRefine((image, context) => {
      const fault = imageFault(image, faults);
      if (fault !== undefined) context.addIssue({ code: 'custom', params: { message: fault } });
    });

/**
 * Properties of an image other than its URL. Except for WriteProtected, null is the same as absent.
 */
export const imageOptions = {
  WriteProtected: z.boolean().optional(),
  TransferMethod: z.enum(transferMethods).nullish(),
  TransferProtocolType: z.enum(transferProtocols).nullish(),
  UserName: z.string().max(MAX_CREDENTIAL_LENGTH).nullish(),
  Password: z.string().max(MAX_CREDENTIAL_LENGTH).nullish(),
};

/**
 * Schema of the InsertMedia parameters. UserName and Password can be null, because some clients
 * send all parameters. Errors of values are zod issues, so one response reports all errors of a
 * body.
 */
export const insertMediaBody = z
  .strictObject({
    Image: imageUrl(actionFaults),
    // Every image in a drive is visible to the guest, so `Inserted: false` is not possible.
    Inserted: z
      .boolean()
      .refine((inserted) => inserted, {
        params: {
          message: withDetail(actionFaults.notInList('false', 'Inserted'), 'EjectMedia removes an image.'),
        },
      })
      .optional(),
    ...imageOptions,
    TransferMethod: z.enum(transferMethods).optional(),
    TransferProtocolType: z.enum(transferProtocols).optional(),
  })
  .superRefine(({ Image, TransferProtocolType: claimed }, context) => {
    const fault = claimed === undefined ? undefined : protocolFault(Image, claimed, actionFaults);
    if (fault === undefined) return;
    context.addIssue({ code: 'custom', path: ['TransferProtocolType'], params: { message: fault } });
  });

/** An image to insert with its options, from InsertMedia or a PATCH. */
export type ImageBody = { readonly Image: string; readonly Inserted?: boolean | undefined } & Readonly<
  z.infer<z.ZodObject<typeof imageOptions>>
>;

/** Trust settings for image servers. */
export interface ImageTrust {
  readonly verifyCertificate: boolean;
  /** Additional CA certificates in PEM. */
  readonly authorities: readonly string[];
}

/**
 * Returns the image request of a body. Removes credentials from the URL, so that they are never stored or
 * shown. UserName and Password override the credentials of the URL.
 * @param body its URL must be valid, as the schemas of InsertMedia and of PATCH check.
 */
export function imageRequest(body: ImageBody, { verifyCertificate, authorities }: ImageTrust): ImageRequest {
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
    // The URL parser accepts an invalid percent escape. It is literal text.
    return encoded;
  }
}
