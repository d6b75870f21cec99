/**
 * The image server's side of virtual media: one GET or HEAD, redirects followed, every failure named. Streams; nothing here
 * keeps a body, touches the file system or remembers a password.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { ImageRequest } from './image.js';
import { authoritiesOf } from './image-authorities.js';
import { countedBody, tooLarge } from './image-body.js';
import { ImageError } from './image-error.js';
import { withDeadline, type Deadline } from './image-deadline.js';
import { exchange, reading, seconds } from './image-exchange.js';
import { anyHost, imageHosts, type HostRules } from './image-hosts.js';

/** Limits for every image server. */
export interface ImageServerLimits {
  /** Resolving the name, connecting and the TLS handshake, together. */
  readonly connectTimeoutMs: number;
  /**
   * The whole time from a request to the complete head of its last answer: resolving, connecting, redirects and 1xx answers
   * included.
   */
  readonly answerTimeoutMs: number;
  /** The longest silence of the server, before its answer and within it. */
  readonly idleTimeoutMs: number;
  /** The whole time from the first request for an image to its last byte. */
  readonly downloadTimeoutMs: number;
  readonly maxBytes: number;
  /** PEM file of further certificate authorities, read at every download so that a renewed one is noticed. */
  readonly caFile?: string | undefined;
  /** Default: {@link anyHost}. */
  readonly hosts?: HostRules;
}

/** What tells one content of a URL from the next. */
export interface ImageValidator {
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** Null where the server does not say (chunked). */
  readonly sizeBytes: number | null;
}

/** An answer whose body has not been read yet. Whoever gets it reads the body to its end or destroys it. */
export interface ImageDownload {
  readonly validator: ImageValidator;
  /** Fails with an {@link ImageError}: too large, broken off, silent. */
  readonly body: Readable;
}

type Request = Pick<ImageRequest, 'url' | 'userName' | 'password' | 'verifyCertificate' | 'authorities'>;

const MAX_REDIRECTS = 5;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Opens the download of an image.
 * @param onReceived called with the number of bytes so far, as they come.
 * @throws {ImageError} of every kind but storageFull; `aborted` when the signal fires.
 */
export async function openImage(
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
  onReceived?: (bytes: number) => void,
): Promise<ImageDownload> {
  const response = await follow('GET', request, limits, signal);
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
 * What the server says of the image without sending it; null where it does not answer HEAD: a pre-signed URL is signed for
 * GET only, and some servers never learned it.
 * @throws {ImageError} `aborted` when the signal fires.
 */
export async function inspectImage(
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
): Promise<ImageValidator | null> {
  try {
    const response = await follow('HEAD', request, limits, signal);
    response.destroy();
    return validatorOf(response);
  } catch (error) {
    if (error instanceof ImageError && error.kind !== 'aborted') return null;
    throw error;
  }
}

/** Where an image is once every redirection was followed. */
export interface ImageLocation {
  readonly url: URL;
  /** IP address that it came from. */
  readonly address: string;
}

/**
 * Finds an image that is to be read in parts, and makes sure that its server sends it so.
 * @throws {ImageError} of every kind but storageFull; `aborted` when the signal fires.
 */
export async function locateImage(
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
): Promise<ImageLocation> {
  const { response, url } = await followTo('GET', request, limits, signal, { range: 'bytes=0-0' });
  const { remoteAddress: address } = response.socket;
  const size = /\/(\d+)$/.exec(response.headers['content-range'] ?? '')?.[1];
  response.destroy();
  if (response.statusCode !== 206 || address === undefined) {
    throw new ImageError('mediaUnreachable', `${reading(request.url)}: the server does not send it in parts (Range)`);
  }
  if (size !== undefined && Number(size) > limits.maxBytes) throw tooLarge(request.url, limits.maxBytes);
  return { url, address };
}

async function follow(
  method: 'GET' | 'HEAD',
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return (await followTo(method, request, limits, signal)).response;
}

/** The answer to the last request, and the address that it came from. */
interface Followed {
  readonly response: IncomingMessage;
  readonly url: URL;
}

async function followTo(
  method: 'GET' | 'HEAD',
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<Followed> {
  return await withDeadline(answerDeadline(request.url, limits), signal, (within) =>
    followWithin(method, request, limits, within, headers),
  );
}

async function followWithin(
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
    // Credentials go to the origin that the client named, and to no other that it redirects to.
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
      const isRight = status === 200 || (status === 206 && 'range' in headers);
      if (isRight && encoding === 'identity') return { response, url };
      response.destroy();
      // No guest boots from it. It was asked for as it is, and what it unpacks to may be of any size.
      if (isRight) throw new ImageError('mediaUnreachable', `${reading(request.url)}: the server sends it compressed`);
      throw refusal(request.url, status);
    }
    response.destroy();
    if (redirects === MAX_REDIRECTS)
      throw new ImageError('mediaUnreachable', `${reading(request.url)}: more than ${MAX_REDIRECTS} redirects`);
    url = redirected(request.url, url, response.headers.location);
  }
}

/** For a server that does not complete the head of its answer. */
export function answerDeadline(url: URL, { answerTimeoutMs: ms }: ImageServerLimits): Deadline {
  return { ms, message: () => `${reading(url)}: no complete answer within ${seconds(ms)}` };
}

/** For a server that does not complete the image. */
export function downloadDeadline(url: URL, { downloadTimeoutMs: ms }: ImageServerLimits): Deadline {
  return { ms, message: () => `${reading(url)}: the download was not complete after ${seconds(ms)}` };
}

function redirected(original: URL, from: URL, location: string): URL {
  let url: URL;
  try {
    url = new URL(location, from);
  } catch (cause) {
    throw new ImageError('mediaUnreachable', `${reading(original)}: redirected to an address that is not one`, {
      cause,
    });
  }
  if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  throw new ImageError('mediaUnreachable', `${reading(original)}: redirected to the scheme ${url.protocol}`);
}

function refusal(url: URL, status: number): ImageError {
  const message = `${reading(url)}: the server answered ${status}`;
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
  if (sizeBytes !== null && sizeBytes > maxBytes) throw tooLarge(url, maxBytes);
}

function basicCredentials({ userName, password }: Request): string | undefined {
  if (userName === undefined && password === undefined) return undefined;
  return `Basic ${Buffer.from(`${userName ?? ''}:${password ?? ''}`).toString('base64')}`;
}
