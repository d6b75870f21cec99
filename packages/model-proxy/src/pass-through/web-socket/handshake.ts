/** Checks the opening handshake of WebSocket clients (RFC 6455 §4.2.1). */
import type { IncomingMessage } from 'node:http';
import { badHandshake, webSocketVersion } from '../../errors/path.js';
import type { ProxyError } from '../../errors/proxy-error.js';

/** Matches 16 bytes in base64. */
const keyPattern = /^[A-Za-z0-9+/]{21}[AQgw]==$/;

/**
 * Checks a request for a WebSocket. Client and upstream must agree on whether a WebSocket begins. Otherwise, the
 * upstream could read the client's next HTTP request as frames.
 * @returns undefined if the request is valid, or its method is not GET.
 */
export function handshakeFault({ headers, httpVersion, method }: IncomingMessage): ProxyError | undefined {
  // The handler of WebSockets answers 405 to other methods.
  if (method !== 'GET') return undefined;
  if (httpVersion !== '1.1') return badHandshake('HTTP/1.1');
  if (headers['sec-websocket-version'] !== '13') return webSocketVersion();
  if (!keyPattern.test(headers['sec-websocket-key'] ?? '')) return badHandshake('a Sec-WebSocket-Key of 16 bytes');
  // The upstream would read a body as the first frames.
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
  return hasBody ? badHandshake('no body') : undefined;
}
