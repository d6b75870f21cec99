/** Reads the opening handshake of a WebSocket (RFC 6455 §4.2.1). */
import type { IncomingMessage } from 'node:http';
import { isWebSocketRequest } from '@rackless/daemon/http/upgrade-response.js';
import { RedfishError } from '../messages/errors.js';
import { message } from '../messages/messages.js';

/** The subprotocol of our WebSockets. If a client offers it, most errors after a valid handshake are close codes. */
export const subprotocol = 'rackless';
/** The prefix of a subprotocol that contains the session's token. */
const tokenPrefix = `${subprotocol}.token.`;

/** Matches 16 bytes in base64. */
const keyPattern = /^[A-Za-z0-9+/]{21}[AQgw]==$/;

/** Returns the offered subprotocols; one empty text if the request offers none. */
export function offeredSubprotocols({ headers }: Pick<IncomingMessage, 'headers'>): readonly string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
}

/**
 * Copies the token of a subprotocol into X-Auth-Token, so that authentication finds it. The
 * WebSockets of browsers cannot send headers. Keeps an X-Auth-Token that the client has sent.
 */
export function readSubprotocolToken(request: IncomingMessage): void {
  const token = offeredSubprotocols(request).find((name) => name.startsWith(tokenPrefix));
  if (token === undefined) return;
  request.headers['x-auth-token'] ??= token.slice(tokenPrefix.length);
}

/**
 * Checks a handshake.
 * @throws {RedfishError} 426 for a request without a handshake or with another version of the protocol,
 *   400 for an invalid handshake or a body.
 */
export function checkHandshake(request: IncomingMessage): void {
  const { headers, httpVersion } = request;
  if (!isWebSocketRequest(request)) {
    // RFC 9110 §15.5.22: a 426 names the protocol.
    throw new RedfishError(426, [message('HeaderMissing', 'Upgrade')], { Upgrade: 'websocket', Connection: 'Upgrade' });
  }
  if (headers['sec-websocket-version'] !== '13') {
    throw new RedfishError(426, [message('HeaderInvalid', 'Sec-WebSocket-Version')], { 'Sec-WebSocket-Version': '13' });
  }
  const invalidHeaderError = (header: string): RedfishError =>
    new RedfishError(400, [message('HeaderInvalid', header)]);
  if (httpVersion !== '1.1') throw invalidHeaderError('Upgrade');
  if (!keyPattern.test(headers['sec-websocket-key'] ?? '')) throw invalidHeaderError('Sec-WebSocket-Key');
  // The service would read the bytes of a body as frames, so it rejects a body.
  if (headers['transfer-encoding'] !== undefined) throw invalidHeaderError('Transfer-Encoding');
  if (Number(headers['content-length'] ?? 0) !== 0) throw invalidHeaderError('Content-Length');
}
