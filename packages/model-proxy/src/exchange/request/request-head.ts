/** Checks the head of a request and makes the reader of its body. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import {
  requestTooLarge,
  unsupportedContentEncoding,
  unsupportedContentType,
  unsupportedTransferCoding,
} from '../../errors/body.js';
import { createJsonBody } from './json-body.js';
import { createMultipartBody } from './multipart-body.js';
import type { Endpoint } from '../../endpoints/endpoint.js';
import type { RequestBody } from './request-body.js';

/**
 * Makes the reader of the body that a request's head announces.
 * @param maxBytes `max_request_size_mb`.
 * @throws {ProxyError} 413: too large; 415: wrong content type or encoding; 400: form without
 *   boundary; 501: unknown transfer coding.
 */
export function announcedBody(request: IncomingMessage, endpoint: Endpoint, maxBytes: number): RequestBody {
  const { headers } = request;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw unsupportedContentEncoding(encoding);
  const length = headers['content-length'];
  if (length === undefined) checkTransferCoding(headers);
  else if (Number(length) > maxBytes) throw requestTooLarge(maxBytes, Number(length));
  const contentType = headers['content-type'];
  if (endpoint.requestBody === 'json') {
    if (contentType !== undefined && contentType !== 'application/json' && !isJson(contentType))
      throw unsupportedContentType(contentType, 'application/json');
    return createJsonBody();
  }
  if (contentType === undefined || mediaType(contentType) !== 'multipart/form-data')
    throw unsupportedContentType(contentType ?? '', 'multipart/form-data');
  return createMultipartBody(contentType, {
    announcedBytes: length === undefined ? null : Number(length),
    pause: () => request.pause(),
    resume: () => request.resume(),
  });
}

/**
 * Checks the transfer coding. Node's parser accepts other codings before `chunked`, and does not undo
 * them: the upstream would get compressed bytes that no header describes.
 * @throws {ProxyError} 501: the coding is not `chunked`.
 */
export function checkTransferCoding({ 'transfer-encoding': coding }: IncomingHttpHeaders): void {
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') throw unsupportedTransferCoding(coding);
}

/**
 * Returns whether a content type is accepted for JSON. Plain text is accepted, because scripts and
 * older clients send JSON as text, and LiteLLM accepts it. `application/x-www-form-urlencoded` is
 * rejected, although `curl -d` sends that type by default.
 */
function isJson(contentType: string): boolean {
  const type = mediaType(contentType);
  return type === 'application/json' || type.endsWith('+json') || type === 'text/json' || type === 'text/plain';
}

/** Returns the media type without parameters: `text/plain` for `Text/Plain; charset=utf-8`. */
export function mediaType(contentType: string): string {
  const typeEnd = contentType.indexOf(';');
  return (typeEnd === -1 ? contentType : contentType.slice(0, typeEnd)).trim().toLowerCase();
}
