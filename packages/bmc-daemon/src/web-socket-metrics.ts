/** Metrics of WebSockets: how many are open, and how the others ended. */
import type * as Prometheus from 'prom-client';
import type { WebSocketEnd } from './redfish/web-sockets/web-sockets.js';

/** Counts WebSockets. */
export interface WebSocketMetrics {
  /** Counts a WebSocket as open. @param route the URI template. */
  opened(route: string): void;
  /** Counts the end of an open WebSocket, and its bytes. */
  ended(end: Pick<WebSocketEnd, 'route' | 'code' | 'bytesIn' | 'bytesOut'>): void;
}

/** Values by their labels, written as JSON. */
type Values = Map<string, number>;

/** Counts WebSockets, and shows the numbers after {@link WebSocketCounts.register}. */
export class WebSocketCounts implements WebSocketMetrics {
  readonly #open: Values = new Map();
  readonly #ends: Values = new Map();
  readonly #bytes: Values = new Map();

  opened(route: string): void {
    add(this.#open, { route }, 1);
  }

  ended({ route, code, bytesIn, bytesOut }: Pick<WebSocketEnd, 'route' | 'code' | 'bytesIn' | 'bytesOut'>): void {
    add(this.#open, { route }, -1);
    add(this.#ends, { route, code: isKnownCode(code) ? code : 'other' }, 1);
    add(this.#bytes, { route, direction: 'received' }, bytesIn);
    add(this.#bytes, { route, direction: 'sent' }, bytesOut);
  }

  /** Adds the metrics to a registry. Each scrape copies the numbers. */
  register({ Counter, Gauge }: Pick<typeof Prometheus, 'Counter' | 'Gauge'>, register: Prometheus.Registry): void {
    const registers = [register];
    const open = this.#open;
    new Gauge({
      name: 'bmc_web_sockets_open',
      help: 'Open WebSockets.',
      labelNames: ['route'],
      registers,
      collect() {
        for (const [labels, value] of open) this.set(parse(labels), value);
      },
    });
    const counter = (name: string, help: string, label: string, values: Values) =>
      new Counter({
        name,
        help,
        labelNames: ['route', label],
        registers,
        collect() {
          this.reset();
          for (const [labels, value] of values) this.inc(parse(labels), value);
        },
      });
    counter('bmc_web_sockets_ended_total', 'Ended WebSockets, by close code.', 'code', this.#ends);
    counter('bmc_web_socket_bytes_total', 'Bytes in the messages of ended WebSockets.', 'direction', this.#bytes);
  }
}

type Labels = Readonly<Record<string, string | number>>;

function add(values: Values, labels: Labels, change: number): void {
  const key = JSON.stringify(labels);
  values.set(key, (values.get(key) ?? 0) + change);
}

/** Returns the labels of a key of {@link Values}. */
function parse(key: string): Labels {
  return JSON.parse(key) as Labels; // `add` wrote it
}

/**
 * Returns whether a close code may be the value of a label. A client can send each of 2,000 codes, so all
 * other codes count together.
 */
function isKnownCode(code: number): boolean {
  return code < 1016 || [4401, 4403, 4404, 4409, 4429].includes(code);
}
