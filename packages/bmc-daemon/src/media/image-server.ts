/**
 * The image server's side of virtual media: one GET or HEAD, redirects followed, every failure named. Streams; nothing here
 * keeps a body, touches the file system or remembers a password.
 */
import { readFile } from 'node:fs/promises';
import { request as httpRequest, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Transform, type Readable } from 'node:stream';
import { rootCertificates } from 'node:tls';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import type { ImageRequest } from './image.js';
import { ImageError, errorCode } from './image-error.js';
import { anyHost, imageHosts, type HostRules, type ImageHosts } from './image-hosts.js';

/** What holds for every image server. */
export interface ImageServerLimits {
  /** Resolving the name, connecting and the TLS handshake, together. */
  readonly connectTimeoutMs: number;
  /** The longest silence of the server, before its answer and within it. */
  readonly idleTimeoutMs: number;
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

async function followTo(
  method: 'GET' | 'HEAD',
  request: Request,
  limits: ImageServerLimits,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly response: IncomingMessage; readonly url: URL }> {
  const ca = await authoritiesOf(request, limits);
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

interface ExchangeOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly hosts: ImageHosts;
  readonly connectTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly credentials: string | undefined;
  readonly ca: readonly string[] | undefined;
  readonly verify: boolean;
}

/** One request, up to the head of its answer. */
function exchange(
  method: 'GET' | 'HEAD',
  url: URL,
  options: ExchangeOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { hosts } = options;
    // Every hop of a redirection comes through here.
    hosts.check(url);
    const common: RequestOptions = {
      method,
      lookup: hosts.lookupFor(url),
      // A connection of its own, closed with the answer: an idle one must not keep the process alive.
      agent: false,
      signal,
      headers: {
        accept: '*/*',
        'accept-encoding': 'identity',
        'user-agent': 'rackless-bmc-daemon',
        ...options.headers,
        ...(options.credentials === undefined ? {} : { authorization: options.credentials }),
      },
    };
    const fail = (error: unknown): void => reject(transportError(url, error, signal));
    let request: ClientRequest;
    try {
      request =
        url.protocol === 'https:'
          ? httpsRequest(url, {
              ...common,
              rejectUnauthorized: options.verify,
              ...(options.ca === undefined ? {} : { ca: [...options.ca] }),
            })
          : httpRequest(url, common);
    } catch (error) {
      fail(error);
      return;
    }
    const connecting = setTimeout(() => {
      request.destroy(
        new ImageError(
          'mediaUnreachable',
          `${reading(url)}: no connection within ${seconds(options.connectTimeoutMs)}`,
        ),
      );
    }, options.connectTimeoutMs);
    request.on('socket', (socket) => {
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        clearTimeout(connecting);
        request.setTimeout(options.idleTimeoutMs, () => {
          request.destroy(silence(url, options.idleTimeoutMs));
        });
      });
    });
    request.once('error', fail);
    request.once('close', () => clearTimeout(connecting));
    request.once('response', (response) => {
      // From here on the body's reader watches the silence: a full disk is not the server's.
      request.setTimeout(0);
      // An answer that is dropped before its end says so with an error that nobody needs.
      response.on('error', () => undefined);
      resolve(response);
    });
    request.end();
  });
}

function countedBody(
  url: URL,
  response: IncomingMessage,
  expectedBytes: number | null,
  limits: ImageServerLimits,
  signal: AbortSignal,
  onReceived: ((bytes: number) => void) | undefined,
): Readable {
  let received = 0;
  const counter = new Transform({
    readableHighWaterMark: 1_048_576,
    transform(chunk: Buffer, _encoding, done) {
      received += chunk.length;
      if (received > limits.maxBytes) {
        done(tooLarge(url, limits.maxBytes));
        return;
      }
      onReceived?.(received);
      done(null, chunk);
    },
    flush(done) {
      if (expectedBytes === null || received === expectedBytes) done();
      else
        done(new ImageError('mediaUnreachable', `${reading(url)}: ended after ${received} of ${expectedBytes} bytes`));
    },
  });
  const tickMs = Math.max(10, limits.idleTimeoutMs / 4);
  let silentMs = 0;
  let seen = 0;
  const watch = setInterval(() => {
    // Bytes that wait for a slow disk are not the server's silence.
    const moving = received !== seen || counter.readableLength > 0 || counter.writableNeedDrain;
    silentMs = moving ? 0 : silentMs + tickMs;
    seen = received;
    if (silentMs >= limits.idleTimeoutMs) counter.destroy(silence(url, limits.idleTimeoutMs));
  }, tickMs);
  watch.unref();
  // By hand, for `pipeline` would hand its own words of a broken connection to whoever reads the counter.
  const fail = (error: unknown): void => {
    counter.destroy(transportError(url, error, signal));
  };
  response.once('error', fail);
  response.once('close', () => {
    if (!response.complete) fail(undefined);
  });
  // It may break while nobody reads it yet; whoever does then is told by the state of the stream.
  counter.on('error', () => undefined);
  counter.once('close', () => {
    clearInterval(watch);
    response.destroy();
  });
  response.pipe(counter);
  return counter;
}

function transportError(url: URL, error: unknown, signal: AbortSignal): ImageError {
  if (error instanceof ImageError) return error;
  if (signal.aborted) return new ImageError('aborted', `${reading(url)}: given up`, { cause: error });
  const code = errorCode(error);
  if (code !== undefined && isTlsCode(code))
    return new ImageError('mediaTls', `${reading(url)}: the server's certificate or TLS is not acceptable (${code})`, {
      cause: error,
    });
  return new ImageError(
    'mediaUnreachable',
    `${reading(url)}: ${reasons[code ?? ''] ?? code ?? 'the server broke the connection off'}`,
    {
      cause: error,
    },
  );
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the server broke the connection off',
  ERR_STREAM_PREMATURE_CLOSE: 'the server broke the connection off',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the host name could not be resolved',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'the connection timed out',
};

/** Certificate faults have OpenSSL's X509 names, protocol faults Node's or EPROTO. */
function isTlsCode(code: string): boolean {
  return (
    /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|HOSTNAME_MISMATCH|CRL_|PATH_LENGTH)/.test(
      code,
    ) || code === 'EPROTO'
  );
}

/** Undefined: Node's own. Setting `ca` replaces the built-in list; a private authority is meant to be added to it. */
async function authoritiesOf(
  { authorities = [] }: Request,
  { caFile }: ImageServerLimits,
): Promise<readonly string[] | undefined> {
  if (caFile === undefined && authorities.length === 0) return undefined;
  return [...rootCertificates, ...(caFile === undefined ? [] : [await readAuthorities(caFile)]), ...authorities];
}

async function readAuthorities(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new ImageError(
      'mediaTls',
      `reading the certificate authorities of ${file}: ${errorCode(cause) ?? 'failed'}`,
      {
        cause,
      },
    );
  }
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

const reading = (url: URL): string => `reading image ${maskUrl(url)}`;
const seconds = (milliseconds: number): string => `${milliseconds / 1000} s`;
const silence = (url: URL, idleMs: number): ImageError =>
  new ImageError('mediaUnreachable', `${reading(url)}: the server was silent for ${seconds(idleMs)}`);
const tooLarge = (url: URL, maxBytes: number): ImageError =>
  new ImageError('mediaTooLarge', `${reading(url)}: larger than the limit of ${maxBytes} bytes`);
