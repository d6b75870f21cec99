/** Metrics of WebSockets: how many are open, and how the closed ones ended. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { WebSocketEnd } from './redfish/web-sockets/web-sockets.js';

/** Counts WebSockets. */
export interface WebSocketMetrics {
  /** Counts a WebSocket as open. @param route the URI template. */
  opened(route: string): void;
  /** Counts the end of an open WebSocket, and its bytes. */
  ended(end: Pick<WebSocketEnd, 'route' | 'code' | 'bytesIn' | 'bytesOut'>): void;
}

/** Adds the metrics to a registry. */
export function registerWebSocketMetrics(register: Registry): WebSocketMetrics {
  const registers = [register];
  const open = new Gauge({
    name: 'bmc_web_sockets_open',
    help: 'Open WebSockets.',
    labelNames: ['route'],
    registers,
  });
  const ends = new Counter({
    name: 'bmc_web_sockets_ended_total',
    help: 'Ended WebSockets, by close code.',
    labelNames: ['route', 'code'],
    registers,
  });
  const bytes = new Counter({
    name: 'bmc_web_socket_bytes_total',
    help: 'Bytes in the messages of ended WebSockets.',
    labelNames: ['route', 'direction'],
    registers,
  });
  return {
    opened: (route) => open.inc({ route }),
    ended: ({ route, code, bytesIn, bytesOut }) => {
      open.dec({ route });
      ends.inc({ route, code: isKnownCode(code) ? code : 'other' });
      bytes.inc({ route, direction: 'received' }, bytesIn);
      bytes.inc({ route, direction: 'sent' }, bytesOut);
    },
  };
}

/**
 * Returns whether a close code may be the value of a label. A client can send each of 2,000 codes, so all
 * other codes count together.
 */
function isKnownCode(code: number): boolean {
  return code < 1016 || [4401, 4403, 4404, 4409, 4429].includes(code);
}
