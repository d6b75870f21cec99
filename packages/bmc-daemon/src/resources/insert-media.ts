/** The body of InsertMedia: what may be in it, and the image that it asks for. */
import { z } from 'zod';
import { maskUrl } from '../mask-url.js';
import type { ImageRequest } from '../media/image.js';
import { RedfishError } from '../redfish/errors.js';
import { about, message, withDetail, type Message } from '../redfish/messages.js';

export const insertMediaAction = 'VirtualMedia.InsertMedia';

/** How an image may come: it is uploaded to the host in either case, and then streamed to the guest. */
export const transferMethods = ['Upload', 'Stream'] as const;
export const transferProtocols = ['HTTP', 'HTTPS'] as const;

/** DMTF's parameters. UserName and Password may be null: some clients send what they do not have. */
export const insertMediaBody = z.strictObject({
  Image: z.string(),
  Inserted: z.boolean().optional(),
  WriteProtected: z.boolean().optional(),
  TransferMethod: z.enum(transferMethods).optional(),
  TransferProtocolType: z.enum(transferProtocols).optional(),
  UserName: z.string().nullish(),
  Password: z.string().nullish(),
});

export type InsertMediaBody = z.infer<typeof insertMediaBody>;

/**
 * The image that the body asks for. Credentials in the URL are taken out of it, so that they are never shown or stored;
 * UserName and Password go before them.
 * @throws {RedfishError} 400 with every fault: no URL, a scheme other than http and https, a TransferProtocolType that
 *   contradicts it, or `Inserted: false`, since a drive that holds an image without showing it does not exist here.
 */
export function imageRequest(body: InsertMediaBody, options: { readonly verifyCertificate: boolean }): ImageRequest {
  const faults: Message[] = [];
  const url = URL.canParse(body.Image) ? new URL(body.Image) : null;
  const protocol = url?.protocol.slice(0, -1).toUpperCase();
  if (url === null) {
    faults.push(fault('ActionParameterValueFormatError', maskUrl(body.Image), 'Image'));
  } else if (protocol !== 'HTTP' && protocol !== 'HTTPS') {
    faults.push(about(message('SourceDoesNotSupportProtocol', maskUrl(url), protocol ?? ''), '#/Image'));
  } else if (body.TransferProtocolType !== undefined && body.TransferProtocolType !== protocol) {
    const contradiction = message('ActionParameterValueConflict', 'TransferProtocolType', body.TransferProtocolType);
    faults.push(
      withDetail(about(contradiction, '#/TransferProtocolType', '#/Image'), `The image's URL says ${protocol}.`),
    );
  }
  if (body.Inserted === false) {
    faults.push(
      withDetail(fault('ActionParameterValueNotInList', 'false', 'Inserted'), 'EjectMedia takes an image out.'),
    );
  }
  if (url === null || faults.length > 0) throw new RedfishError(400, faults);
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

function fault(
  key: 'ActionParameterValueFormatError' | 'ActionParameterValueNotInList',
  value: string,
  parameter: string,
): Message {
  return about(message(key, value, parameter, insertMediaAction), `#/${parameter}`);
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
