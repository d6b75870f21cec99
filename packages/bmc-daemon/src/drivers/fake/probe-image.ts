/** Asks for an image and reads no further than its headers: all that a drive without a guest needs. */
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { ImageRequest } from '../../media/image.js';
import { DriverError, type DriverErrorKind, type InsertOptions } from '../driver.js';

const redirects = new Set([301, 302, 303, 307, 308]);
const maxRedirects = 5;
const timeoutMs = 30_000;

const kindByStatus: Readonly<Record<number, DriverErrorKind>> = {
  401: 'mediaAuth',
  403: 'mediaAuth',
  404: 'mediaNotFound',
  410: 'mediaNotFound',
};

/**
 * Resolves when the image's server answers 200 for it, redirects followed.
 * @throws {DriverError} mediaNotFound, mediaAuth, mediaTls, or mediaUnreachable for everything else that went wrong.
 */
export async function probeImage(image: ImageRequest, options: InsertOptions): Promise<void> {
  let url = image.url;
  for (let hop = 0; hop <= maxRedirects; hop += 1) {
    const response = await askFor(url, image, options.signal);
    const { statusCode = 0, headers } = response;
    response.destroy();
    if (statusCode === 200) return;
    if (!redirects.has(statusCode) || headers.location === undefined) {
      throw new DriverError(
        kindByStatus[statusCode] ?? 'mediaUnreachable',
        `${where(url)}: the server answers ${statusCode}`,
      );
    }
    url = new URL(headers.location, url);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new DriverError('mediaUnreachable', `${where(image.url)}: redirected to ${url.protocol}`);
    }
  }
  throw new DriverError('mediaUnreachable', `${where(image.url)}: more than ${maxRedirects} redirects`);
}

/** Without the query: it may carry a token. */
function where(url: URL): string {
  return `fetching the image from ${url.origin}${url.pathname}`;
}

function askFor(url: URL, image: ImageRequest, signal: AbortSignal | undefined): Promise<IncomingMessage> {
  // Credentials go to the server that they were given for, and to no one that it points to.
  const auth =
    url.origin === image.url.origin && image.userName !== undefined
      ? { auth: `${image.userName}:${image.password ?? ''}` }
      : {};
  const options = { ...auth, ...(signal === undefined ? {} : { signal }), timeout: timeoutMs, agent: false as const };
  return new Promise((resolve, reject) => {
    const request =
      url.protocol === 'https:'
        ? requestHttps(url, { ...options, rejectUnauthorized: image.verifyCertificate })
        : requestHttp(url, options);
    request.once('response', resolve);
    request.once('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
    request.once('error', (error: NodeJS.ErrnoException) => {
      if (signal?.aborted === true && signal.reason instanceof DriverError) reject(signal.reason);
      else
        reject(
          new DriverError(isTlsFault(error) ? 'mediaTls' : 'mediaUnreachable', `${where(url)}: ${error.message}`, {
            cause: error,
          }),
        );
    });
    request.end();
  });
}

/** OpenSSL's verification codes and `ERR_TLS_*`, `ERR_SSL_*`; all others are codes of the network. */
function isTlsFault({ code = '' }: NodeJS.ErrnoException): boolean {
  return /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH)/.test(code);
}
