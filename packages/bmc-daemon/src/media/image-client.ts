/**
 * The client for image servers: one GET or HEAD with redirects, and a specific message for
 * each failure. It streams bodies, and stores neither files nor passwords.
 */
import type { IncomingMessage } from 'node:http';
import type { ImageRequest } from './image.js';
import { authoritiesOf } from './image-authorities.js';
import { countedBody, tooLargeError } from './image-body.js';
import type { ImageDownload, ImageValidator } from './image-download.js';
import { ImageError } from './image-error.js';
import { abortAtDeadline, type TimeLimit } from './image-deadline.js';
import { exchange, readingText, secondsText } from './image-exchange.js';
import { anyHost, imageHosts, type HostRules } from './image-hosts.js';

/** Limits for all image servers. */
export interface ImageServerLimits {
  /** Time for name lookup, connection and TLS handshake together. */
  readonly connectTimeoutMs: number;
  /**
   * Total time from a request to the end of the headers of its last response, with lookups,
   * connections, redirects and 1xx responses.
   */
  readonly answerTimeoutMs: number;
  /** Maximum silence of the server, before and within the response. */
  readonly idleTimeoutMs: number;
  /** Total time from the first request to the last byte. */
  readonly downloadTimeoutMs: number;
  readonly maxBytes: number;
  /**
   * PEM file with additional certificate authorities. It is read for each download, so that a
   * renewed file takes effect.
   */
  readonly caFile?: string | undefined;
  /** Default: {@link anyHost}. */
  readonly hosts?: HostRules;
}

type Request = Pick<ImageRequest, 'url' | 'upload' | 'userName' | 'password' | 'verifyCertificate' | 'authorities'>;

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Opens the download of an image, or the image that a client uploads.
 * @param onReceived receives the number of bytes so far.
 * @throws {ImageError} of every kind except storageFull. If the signal aborts: its reason if that is an ImageError,
 *   else `aborted`. For an upload, as {@link ImageUpload.open}.
 */
export async function openImage(
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
  onReceived?: (bytes: number) => void,
): Promise<ImageDownload> {
  if (request.upload !== undefined) return request.upload.open(limits.maxBytes, signal, onReceived);
  const response = await fetchHeaders('GET', request, limits, signal);
  const validator = validatorOf(response);
  try {
    checkSize(request.url, validator, limits.maxBytes);
  } catch (error) {
    response.destroy();
    throw error;
  }
  return { validator, body: countedBody(request.url, response, validator.sizeBytes, limits, signal, onReceived) };
}

/**
 * Reads the validator of an image without its body. Returns null if the HEAD request fails,
 * whatever the reason: a pre-signed URL is for GET only, and some servers do not support HEAD. Also returns null if
 * the signal aborts with an ImageError, for example at the deadline of a download.
 * @throws {ImageError} `aborted` if the signal aborts with another reason.
 */
export async function inspectImage(
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
): Promise<ImageValidator | null> {
  try {
    const response = await fetchHeaders('HEAD', request, limits, signal);
    response.destroy();
    return validatorOf(response);
  } catch (error) {
    if (error instanceof ImageError && error.kind !== 'aborted') return null;
    throw error;
  }
}

/** The location of an image after all redirects. */
interface ImageLocation {
  readonly url: URL;
  /** IP address of its server. */
  readonly address: string;
}

/**
 * Locates an image for streaming. Checks that its server supports ranges, and the size if the server sends it.
 * @throws {ImageError} of every kind except storageFull. If the signal aborts: its reason if that is an ImageError,
 *   else `aborted`.
 */
export async function locateImage(
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
): Promise<ImageLocation> {
  const { response, url } = await followWithinDeadline('GET', request, limits, signal, { range: 'bytes=0-0' });
  const { remoteAddress: address } = response.socket;
  const size = /\/(\d+)$/.exec(response.headers['content-range'] ?? '')?.[1];
  response.destroy();
  if (response.statusCode !== 206 || address === undefined) {
    throw new ImageError(
      'mediaUnreachable',
      `${readingText(request.url)}: the server does not send it in parts (Range)`,
    );
  }
  if (size !== undefined && Number(size) > limits.maxBytes) throw tooLargeError(request.url, limits.maxBytes);
  return { url, address };
}

/** Returns the response after all redirects, with an unread body. */
async function fetchHeaders(
  method: 'GET' | 'HEAD',
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return (await followWithinDeadline(method, request, limits, signal)).response;
}

/** The response after all redirects, and the URL that sent it. */
interface Followed {
  readonly response: IncomingMessage;
  readonly url: URL;
}

async function followWithinDeadline(
  method: 'GET' | 'HEAD',
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<Followed> {
  return await abortAtDeadline(headersTimeLimit(request.url, limits), signal, (within) =>
    followRedirects(method, request, limits, within, headers),
  );
}

async function followRedirects(
  method: 'GET' | 'HEAD',
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>>,
): Promise<Followed> {
  const ca = await authoritiesOf(request, limits.caFile);
  const hosts = imageHosts(limits.hosts ?? anyHost);
  let url = request.url;
  for (let redirects = 0; ; redirects += 1) {
    // Credentials go only to the origin that the client named, not to redirect targets.
    const credentials = url.origin === request.url.origin ? basicCredentials(request) : undefined;
    const response = await exchange(
      method,
      url,
      { ...limits, hosts, headers, credentials, ca, verify: request.verifyCertificate },
      signal,
    );
    const status = response.statusCode ?? 0;
    if (!REDIRECTS.has(status) || response.headers.location === undefined) {
      const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
      const isExpectedStatus = status === 200 || (status === 206 && 'range' in headers);
      if (isExpectedStatus && encoding === 'identity') return { response, url };
      response.destroy();
      // A guest cannot boot from compressed data, and its unpacked size is unknown. The request
      // accepts `identity` only, but a server may ignore that.
      if (isExpectedStatus)
        throw new ImageError('mediaUnreachable', `${readingText(request.url)}: the server sends it compressed`);
      throw statusError(request.url, status);
    }
    response.destroy();
    if (redirects === MAX_REDIRECTS)
      throw new ImageError('mediaUnreachable', `${readingText(request.url)}: more than ${MAX_REDIRECTS} redirects`);
    url = redirectUrl(request.url, url, response.headers.location);
  }
}

/** Returns the time limit of the response headers. */
export function headersTimeLimit(url: URL, { answerTimeoutMs: ms }: ImageServerLimits): TimeLimit {
  return { ms, message: () => `${readingText(url)}: no complete response headers within ${secondsText(ms)}` };
}

/** Returns the time limit of a download. */
export function downloadTimeLimit(url: URL, { downloadTimeoutMs: ms }: ImageServerLimits): TimeLimit {
  return { ms, message: () => `${readingText(url)}: the download was not complete after ${secondsText(ms)}` };
}

function redirectUrl(original: URL, from: URL, location: string): URL {
  let url: URL;
  try {
    url = new URL(location, from);
  } catch (cause) {
    throw new ImageError('mediaUnreachable', `${readingText(original)}: redirected to an invalid URL`, {
      cause,
    });
  }
  if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  throw new ImageError('mediaUnreachable', `${readingText(original)}: redirected to the scheme ${url.protocol}`);
}

function statusError(url: URL, status: number): ImageError {
  const message = `${readingText(url)}: the server answered ${status}`;
  if (status === 401 || status === 403 || status === 407) return new ImageError('mediaAuth', message);
  if (status === 404 || status === 410) return new ImageError('mediaNotFound', message);
  return new ImageError('mediaUnreachable', message);
}

function validatorOf({ headers }: IncomingMessage): ImageValidator {
  const length = headers['content-length'];
  return {
    etag: headers.etag ?? null,
    lastModified: headers['last-modified'] ?? null,
    sizeBytes: length !== undefined && /^\d+$/.test(length) ? Number(length) : null,
  };
}

function checkSize(url: URL, { sizeBytes }: ImageValidator, maxBytes: number): void {
  if (sizeBytes !== null && sizeBytes > maxBytes) throw tooLargeError(url, maxBytes);
}

function basicCredentials({ userName, password }: Request): string | undefined {
  if (userName === undefined && password === undefined) return undefined;
  return `Basic ${Buffer.from(`${userName ?? ''}:${password ?? ''}`).toString('base64')}`;
}
