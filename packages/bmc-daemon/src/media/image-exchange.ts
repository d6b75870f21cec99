/** Sends one HTTP request to an image server, and translates all errors of the connection. */
import { request as httpRequest, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { errorCode } from '@rackless/daemon/error-code.js';
import { limitInterimAnswers, MAX_INTERIM_ANSWERS } from '@rackless/daemon/http/interim-answers.js';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { connectionReasons } from '../host/connection-reasons.js';
import { ImageError } from './image-error.js';
import type { ImageHosts } from './image-hosts.js';

/** Options of one request. */
interface ExchangeOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly hosts: ImageHosts;
  readonly connectTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly credentials: string | undefined;
  readonly ca: readonly string[] | undefined;
  readonly verify: boolean;
}

/**
 * Sends one request and waits for the response headers. The caller reads or destroys the body, and
 * limits the total time by `signal`.
 * @throws {ImageError} the signal's reason, if the signal aborted with an ImageError; else an error
 *   for the cause.
 * @see RFC 9110 §15.2 (interim responses), §15.2.2 (101)
 */
export function exchange(
  method: 'GET' | 'HEAD',
  url: URL,
  options: ExchangeOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Also checks the target of each redirect, because each redirect calls this function.
    options.hosts.check(url);
    const fail = (error: unknown): void => reject(transportError(url, error, signal));
    let request: ClientRequest;
    try {
      request = createRequest(method, url, options, signal);
    } catch (error) {
      fail(error);
      return;
    }
    const cancelConnectLimit = limitSilence(request, url, options);
    request.once('error', fail);
    limitInterimAnswers(request, () => tooManyInterimAnswers(url));
    // Without a listener, Node.js closes the connection after a 101 and reports neither a response nor an
    // error.
    request.once('upgrade', (_response, socket) => {
      socket.destroy();
      fail(
        new ImageError('mediaUnreachable', `${readingText(url)}: the server answered 101 to a request without Upgrade`),
      );
    });
    request.once('close', () => {
      cancelConnectLimit();
      // Rejects if the connection closed without a response and without an error. Otherwise, this has no effect.
      fail(undefined);
    });
    request.once('response', (response) => {
      // From here on, `countedBody` detects a silent server. Unlike this timeout, it does not count
      // the time that a slow disk needs.
      request.setTimeout(0);
      // A destroyed response emits an error, which is expected.
      response.on('error', () => undefined);
      resolve(response);
    });
    request.end();
  });
}

/** Creates the request. @throws {TypeError} if a header is invalid. */
function createRequest(
  method: 'GET' | 'HEAD',
  url: URL,
  { headers, hosts, credentials, verify, ca }: ExchangeOptions,
  signal: AbortSignal,
): ClientRequest {
  const common: RequestOptions = {
    method,
    lookup: hosts.lookupFor(url),
    // A separate connection, closed after the response: an idle connection would keep the process
    // alive.
    agent: false,
    signal,
    headers: {
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': 'rackless-bmc-daemon',
      ...headers,
      ...(credentials === undefined ? {} : { authorization: credentials }),
    },
  };
  if (url.protocol !== 'https:') return httpRequest(url, common);
  return httpsRequest(url, { ...common, rejectUnauthorized: verify, ...(ca === undefined ? {} : { ca: [...ca] }) });
}

/**
 * Ends the request if the server takes too long to accept the connection, or is silent after that.
 * @returns a function that cancels the time limit for the connection.
 */
function limitSilence(
  request: ClientRequest,
  url: URL,
  { connectTimeoutMs, idleTimeoutMs }: ExchangeOptions,
): () => void {
  const connectTimer = setTimeout(() => {
    request.destroy(
      new ImageError('mediaUnreachable', `${readingText(url)}: no connection within ${secondsText(connectTimeoutMs)}`),
    );
  }, connectTimeoutMs);
  const cancelConnectLimit = (): void => clearTimeout(connectTimer);
  request.on('socket', (socket) => {
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      cancelConnectLimit();
      request.setTimeout(idleTimeoutMs, () => {
        request.destroy(silenceError(url, idleTimeoutMs));
      });
    });
  });
  return cancelConnectLimit;
}

/**
 * Translates the error of a connection. Returns an ImageError as it is. After an abort, returns the
 * signal's reason if it is an ImageError.
 */
export function transportError(url: URL, error: unknown, signal: AbortSignal): ImageError {
  if (error instanceof ImageError) return error;
  if (signal.aborted) {
    const reason: unknown = signal.reason;
    return reason instanceof ImageError
      ? reason
      : new ImageError('aborted', `${readingText(url)}: cancelled`, { cause: error });
  }
  const code = errorCode(error);
  if (code !== undefined && isTlsCode(code))
    return new ImageError(
      'mediaTls',
      `${readingText(url)}: the server's certificate or TLS is not acceptable (${code})`,
      {
        cause: error,
      },
    );
  return new ImageError(
    'mediaUnreachable',
    `${readingText(url)}: ${reasons[code ?? ''] ?? code ?? 'the server closed the connection'}`,
    {
      cause: error,
    },
  );
}

const reasons: Readonly<Record<string, string>> = {
  ...connectionReasons,
  ECONNRESET: 'the server closed the connection',
  ERR_STREAM_PREMATURE_CLOSE: 'the server closed the connection',
};

/**
 * Returns whether a code is a TLS fault. Certificate faults have OpenSSL's X509 names; protocol
 * faults have codes of Node.js, or EPROTO.
 */
function isTlsCode(code: string): boolean {
  return (
    /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|HOSTNAME_MISMATCH|CRL_|PATH_LENGTH)/.test(
      code,
    ) || code === 'EPROTO'
  );
}

/** Returns the beginning of an error message. */
export const readingText = (url: URL): string => `reading image ${maskUrl(url)}`;
/** Formats a time, for example `0.05 s`. */
export const secondsText = (milliseconds: number): string => `${milliseconds / 1000} s`;
const tooManyInterimAnswers = (url: URL): ImageError =>
  new ImageError(
    'mediaUnreachable',
    `${readingText(url)}: the server sent more than ${MAX_INTERIM_ANSWERS} 1xx answers`,
  );
/** Returns the error of a silent server. */
export const silenceError = (url: URL, idleMs: number): ImageError =>
  new ImageError('mediaUnreachable', `${readingText(url)}: the server was silent for ${secondsText(idleMs)}`);
