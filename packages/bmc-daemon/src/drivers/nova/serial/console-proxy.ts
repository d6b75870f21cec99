/** Connections to the proxy that serves the serial consoles of a cloud as WebSockets. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocket } from 'ws';
import { errorCode } from '@rackless/daemon/error-code.js';
import { connectionReasons } from '../../../host/connection-reasons.js';
import { DriverError } from '../../driver-error.js';
import type { CloudTls } from '../cloud/cloud-settings.js';
import { createLiveness } from './liveness.js';

/** Times of a connection, in milliseconds. */
export interface ProxyTimes {
  /** Maximum time until the proxy accepts a connection. */
  readonly connectMs: number;
  /** Period of silence after which the driver sends a ping. It waits for a reply for the same time. */
  readonly pingMs: number;
}

/** The default times. */
export const proxyTimes: ProxyTimes = { connectMs: 10_000, pingMs: 30_000 };

/** Options of {@link connectToProxy}. */
interface ProxyOptions {
  readonly tls: CloudTls;
  readonly times: ProxyTimes;
  /** Ends the attempt. */
  readonly signal?: AbortSignal | undefined;
}

/** Maximum size of a message. Nova's proxy sends up to 64 KiB. */
const MAX_MESSAGE_BYTES = 1024 * 1024;

/**
 * Connects to a console.
 * @param url from Nova; its query is a token, so the URL must not be logged.
 * @param doing for errors: `connecting to the console of server x`.
 * @returns raw bytes in both directions. The stream closes when the connection ends, or if nothing arrives after
 *   a ping: neither the reply nor a message. A paused stream stays open. The caller destroys the stream.
 * @throws {DriverError} consoleUnreachable.
 */
export async function connectToProxy(url: URL, doing: string, options: ProxyOptions): Promise<Duplex> {
  const { tls, times, signal } = options;
  const { verify, ...certificates } = tls;
  const socket = new WebSocket(url, ['binary'], {
    handshakeTimeout: times.connectMs,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    followRedirects: false,
    rejectUnauthorized: verify,
    ...certificates,
  });
  // The stream exists before the connection opens, so that it gets the first message.
  const stream = createWebSocketStream(socket);
  // Otherwise, the stream stays open after the connection has ended, until the caller ends its writes.
  stream.once('end', () => stream.destroy());
  const onAbort = (): void => void stream.destroy();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('the connection ended')));
      stream.on('error', () => undefined);
      if (signal?.aborted === true) onAbort();
    });
  } catch (error) {
    stream.destroy();
    const message = `${doing}: the connection to the proxy of Nova's serial consoles failed: ${reasonOf(error)}`;
    throw new DriverError('consoleUnreachable', message, { cause: error });
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
  watch(socket, times.pingMs);
  return stream;
}

/** Returns why a connection failed. The text of a system error contains an address, so only its code is returned. */
function reasonOf(error: unknown): string {
  const code = errorCode(error) ?? '';
  const text = error instanceof Error ? error.message : String(error);
  const isSystem = error instanceof Error && 'syscall' in error;
  return connectionReasons[code] ?? (isSystem && code !== '' ? code : text);
}

/** Ends a connection whose proxy no longer answers. TCP alone would notice this only after input. */
function watch(socket: WebSocket, pingMs: number): void {
  const liveness = createLiveness();
  socket.on('message', liveness.heard);
  socket.on('pong', liveness.replied);
  const timer = setInterval(() => {
    // A paused connection reads no reply: the client is slow, not the proxy.
    if (socket.isPaused) liveness.heard();
    const next = liveness.next();
    if (next === 'ping') socket.ping();
    if (next === 'end') socket.terminate();
  }, pingMs).unref();
  socket.once('close', () => clearInterval(timer));
}

/**
 * Returns whether an HTTP server answers at the address of a proxy in time, with a status below 500. The request
 * has no token, so it opens no console.
 */
export function isProxyThere({ protocol, host, pathname }: URL, tls: CloudTls, timeoutMs: number): Promise<boolean> {
  const { verify, ...certificates } = tls;
  const isSecure = protocol === 'wss:';
  const url = new URL(`${isSecure ? 'https' : 'http'}://${host}${pathname}`);
  return new Promise((resolve) => {
    const request = isSecure
      ? httpsRequest(url, { agent: false, rejectUnauthorized: verify, ...certificates })
      : httpRequest(url, { agent: false });
    const finish = (isThere: boolean): void => {
      clearTimeout(timer);
      resolve(isThere);
      request.destroy();
    };
    const timer = setTimeout(() => finish(false), timeoutMs).unref();
    // A load balancer answers 502 or 503 if the proxy is down. The proxy itself answers 405.
    request.on('response', ({ statusCode = 500 }) => finish(statusCode < 500));
    request.on('error', () => finish(false));
    request.end();
  });
}
