/** The body of InsertMedia: what may be in it, and the image that it asks for. */
import { z } from 'zod';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import type { ImageRequest } from '../media/image.js';
import { about, message, withDetail, type Message } from '../redfish/messages.js';

export const insertMediaAction = 'VirtualMedia.InsertMedia';

/** How an image may come: it is uploaded to the host in either case, and then streamed to the guest. */
export const transferMethods = ['Upload', 'Stream'] as const;
export const transferProtocols = ['HTTP', 'HTTPS'] as const;

type Fault = (value: string, parameter: string) => Message;
const badFormat: Fault = (value, parameter) =>
  message('ActionParameterValueFormatError', value, parameter, insertMediaAction);
const notInList: Fault = (value, parameter) =>
  message('ActionParameterValueNotInList', value, parameter, insertMediaAction);

/** What is wrong with the URL of an image, if anything. */
function imageFault(image: string): Message | undefined {
  if (!URL.canParse(image)) return badFormat(maskUrl(image), 'Image');
  const protocol = protocolOf(image);
  if (transferProtocols.some((known) => known === protocol)) return undefined;
  return message('SourceDoesNotSupportProtocol', maskUrl(image), protocol);
}

/** `HTTP` of `http://…`. */
function protocolOf(image: string): string {
  return new URL(image).protocol.slice(0, -1).toUpperCase();
}

/**
 * DMTF's parameters. UserName and Password may be null: some clients send what they do not have. The faults of values travel in
 * the issues, so that every fault of a body is told at once.
 */
export const insertMediaBody = z
  .strictObject({
    Image: z.string().superRefine((image, context) => {
      const fault = imageFault(image);
      if (fault !== undefined) context.addIssue({ code: 'custom', params: { message: fault } });
    }),
    // A drive that holds an image without showing it to the guest does not exist here.
    Inserted: z
      .boolean()
      .refine((inserted) => inserted, {
        params: { message: withDetail(notInList('false', 'Inserted'), 'EjectMedia takes an image out.') },
      })
      .optional(),
    WriteProtected: z.boolean().optional(),
    TransferMethod: z.enum(transferMethods).optional(),
    TransferProtocolType: z.enum(transferProtocols).optional(),
    UserName: z.string().nullish(),
    Password: z.string().nullish(),
  })
  .superRefine(({ Image, TransferProtocolType: claimed }, context) => {
    if (claimed === undefined || imageFault(Image) !== undefined) return;
    const protocol = protocolOf(Image);
    if (claimed === protocol) return;
    const conflict = message('ActionParameterValueConflict', 'TransferProtocolType', claimed);
    context.addIssue({
      code: 'custom',
      path: ['TransferProtocolType'],
      params: {
        message: about(
          withDetail(conflict, `The URL of the image says ${protocol}.`),
          '#/TransferProtocolType',
          '#/Image',
        ),
      },
    });
  });

export type InsertMediaBody = z.infer<typeof insertMediaBody>;

/**
 * The image that a body asks for. Credentials in the URL are taken out of it, so that they are never shown or stored; UserName
 * and Password go before them.
 * @param body as {@link insertMediaBody} has let it through.
 */
export function imageRequest(body: InsertMediaBody, options: { readonly verifyCertificate: boolean }): ImageRequest {
  const url = new URL(body.Image);
  const userName = body.UserName ?? decodeCredential(url.username);
  const password = body.Password ?? decodeCredential(url.password);
  url.username = '';
  url.password = '';
  return {
    url,
    ...(userName === undefined ? {} : { userName }),
    ...(password === undefined ? {} : { password }),
    // A CD can not be written to, whatever was asked for.
    writeProtected: true,
    verifyCertificate: options.verifyCertificate,
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
