/** Reads the request headers of the tus protocol, version 1.0. @see https://tus.io/protocols/resumable-upload */
import type { IncomingHttpHeaders } from 'node:http';
import { RedfishError, redfishError } from '../messages/errors.js';
import { message, withDetail } from '../messages/messages.js';

/** The version of the protocol. */
export const TUS_VERSION = '1.0.0';
/** Maximum length of a file name in characters. */
const MAX_NAME_LENGTH = 255;
/** Maximum length of Upload-Metadata in characters. */
const MAX_METADATA_LENGTH = 4_096;

/** The file that a client announces. */
export interface AnnouncedFile {
  readonly fileName: string;
  readonly sizeBytes: number;
  readonly writeProtected: boolean;
}

/**
 * Checks the version of the protocol.
 * @throws {RedfishError} 412, as tus requires.
 */
export function checkVersion(headers: IncomingHttpHeaders): void {
  if (headers['tus-resumable'] === TUS_VERSION) return;
  const fault = withDetail(message('HeaderInvalid', 'Tus-Resumable'), `The service supports version ${TUS_VERSION}.`);
  throw new RedfishError(412, [fault], { 'Tus-Version': TUS_VERSION });
}

/**
 * Returns the file that a POST announces.
 * @throws {RedfishError} 400 if a header is missing or invalid, or if the POST has a body.
 */
export function announcedFile(headers: IncomingHttpHeaders): AnnouncedFile {
  if (headers['upload-defer-length'] !== undefined)
    throw invalidHeaderError('Upload-Defer-Length', 'Send Upload-Length instead.');
  const sizeBytes = byteCount(headers, 'Upload-Length');
  if (sizeBytes === 0) throw invalidHeaderError('Upload-Length', 'An empty file is not an image.');
  const { length = '0' } = { length: headers['content-length'] };
  if (length !== '0' || headers['transfer-encoding'] !== undefined) {
    throw invalidHeaderError('Content-Length', 'Send the bytes of the file with PATCH.');
  }
  const metadata = metadataOf(headers['upload-metadata']);
  const fileName = metadata.get('filename') ?? '';
  if (fileName === '') throw invalidHeaderError('Upload-Metadata', 'It must contain filename.');
  if (
    fileName.length > MAX_NAME_LENGTH ||
    /[\p{Cc}\p{Cf}/\\\u{fffe}\u{ffff}]/u.test(fileName) ||
    /^\.+$/.test(fileName)
  ) {
    throw invalidHeaderError(
      'Upload-Metadata',
      `The filename must be a name without folders and control characters, at most ${MAX_NAME_LENGTH} characters.`,
    );
  }
  const writeProtected = metadata.get('writeprotected') ?? 'true';
  if (writeProtected !== 'true' && writeProtected !== 'false') {
    throw invalidHeaderError('Upload-Metadata', "The value of writeprotected must be 'true' or 'false'.");
  }
  return { fileName, sizeBytes, writeProtected: writeProtected === 'true' };
}

/**
 * Returns the value of a header whose value is a number of bytes.
 * @throws {RedfishError} 400 if the header is missing, or is not a number of at most 15 digits.
 */
export function byteCount(headers: IncomingHttpHeaders, name: 'Upload-Length' | 'Upload-Offset'): number {
  const value = headers[name.toLowerCase()];
  if (value === undefined) throw redfishError('HeaderMissing', name);
  if (typeof value !== 'string' || !/^\d{1,15}$/.test(value))
    throw invalidHeaderError(name, 'Its value must be a number of bytes.');
  return Number(value);
}

/**
 * Returns the pairs of Upload-Metadata: keys in lower case, and decoded values.
 * @throws {RedfishError} 400 if the header is too long or invalid.
 */
function metadataOf(header: string | string[] | undefined): ReadonlyMap<string, string> {
  const text = String(header ?? '');
  if (text.length > MAX_METADATA_LENGTH) throw invalidHeaderError('Upload-Metadata', 'It is too long.');
  return new Map(
    text.split(',').map((pair) => {
      const [key = '', value = '', ...others] = pair.trim().split(' ');
      if (others.length > 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value)) {
        throw invalidHeaderError('Upload-Metadata', 'Each pair must have a key, a space and a value in Base64.');
      }
      try {
        return [key.toLowerCase(), new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'base64'))];
      } catch (cause) {
        throw invalidHeaderError('Upload-Metadata', 'Its values must be UTF-8 in Base64.', cause);
      }
    }),
  );
}

function invalidHeaderError(header: string, why: string, cause?: unknown): RedfishError {
  return new RedfishError(400, [withDetail(message('HeaderInvalid', header), why)], {}, cause);
}
