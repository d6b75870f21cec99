/** The opening handshake of a WebSocket as clients must send it (RFC 6455 §4.2.1). */
import type { IncomingMessage } from 'node:http';
import { badHandshake, webSocketVersion, type ProxyError } from '../errors.js';

/** 16 bytes in base64. */
const key = /^[A-Za-z0-9+/]{21}[AQgw]==$/;

/**
 * What is wrong with a request for a WebSocket. An upstream that accepted it nevertheless would take what the client sends next for
 * frames, and the client would take the answer for HTTP.
 * @returns undefined: nothing.
 */
export function handshakeFault({ headers, httpVersion, method }: IncomingMessage): ProxyError | undefined {
  // What takes the handshakes answers 405.
  if (method !== 'GET') return undefined;
  if (httpVersion !== '1.1') return badHandshake('HTTP/1.1');
  if (headers['sec-websocket-version'] !== '13') return webSocketVersion();
  if (!key.test(headers['sec-websocket-key'] ?? '')) return badHandshake('a Sec-WebSocket-Key of 16 bytes');
  // Its bytes would be the first frames.
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
  return hasBody ? badHandshake('no body') : undefined;
}
