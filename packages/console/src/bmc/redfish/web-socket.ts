/** WebSockets of the service. */
import { token } from './session.js';

/** Close codes of the service: 4000 + the HTTP status. */
export const closeCodes = { sessionEnded: 4401, forbidden: 4403, gone: 4404, absent: 4409, tooMany: 4429 } as const;

/**
 * Opens a WebSocket of the service.
 * @param path the URI in the resource, such as `SerialConsole.WebSocket.ConsoleURI`.
 */
export function openWebSocket(path: string): WebSocket {
  const url = new URL(path, location.href);
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url, webSocketProtocols(token()));
  socket.binaryType = 'arraybuffer';
  return socket;
}

/** Returns the subprotocols. A browser cannot send headers, so one subprotocol contains the token. */
function webSocketProtocols(used: string | null): string[] {
  return used === null ? ['rackless'] : ['rackless', `rackless.token.${used}`];
}
