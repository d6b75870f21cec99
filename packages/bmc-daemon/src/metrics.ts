/**
 * Metrics for Prometheus: requests by method, route and status, their duration, whether the
 * hypervisor answers, and its hosts.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { HypervisorDriver } from './drivers/driver.js';
import { registerHostMetrics } from './host-metrics.js';
import { registerWebSocketMetrics, type WebSocketMetrics } from './web-socket-metrics.js';

/** The metrics of one app. */
export interface Metrics {
  /**
   * Counts a request.
   * @returns a function to call with the answer; `route` is a template, because the number of paths
   *   is unbounded.
   */
  requestStarted(method: string): (route: string, status: number, seconds: number) => void;
  /** Counts WebSockets. */
  readonly webSockets: WebSocketMetrics;
  /** Returns the metrics as text, with its content type. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Removes all metrics. Call it when the app closes. */
  clear(): void;
}

/**
 * Creates the metrics of one app.
 * @param driver each scrape asks it whether the hypervisor answers, and reads its hosts.
 */
export function createMetrics(driver: Pick<HypervisorDriver, 'ping' | 'hosts'>): Metrics {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const requests = new Counter({
    name: 'bmc_http_requests_total',
    help: 'Requests answered.',
    labelNames: ['method', 'route', 'status'],
    registers: [register],
  });
  const duration = new Histogram({
    name: 'bmc_http_request_duration_seconds',
    help: 'Time from the head of a request to its answer.',
    labelNames: ['method', 'route'],
    // A read takes about a millisecond and a shutdown some seconds; a slow insert becomes a task
    // after eight seconds.
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [register],
  });
  let inFlight = 0;
  new Gauge({
    name: 'bmc_http_requests_in_flight',
    help: 'Requests not answered yet, this one included.',
    registers: [register],
    collect() {
      this.set(inFlight);
    },
  });
  new Gauge({
    name: 'bmc_hypervisor_up',
    help: '1 while the hypervisor answers, 0 while it does not.',
    registers: [register],
    async collect() {
      this.set(
        await driver.ping().then(
          () => 1,
          () => 0,
        ),
      );
    },
  });

  const webSockets = registerWebSocketMetrics(register);
  const readHostMetrics = driver.hosts === undefined ? undefined : registerHostMetrics(driver.hosts, register);

  return {
    requestStarted(method) {
      inFlight += 1;
      return (route, status, seconds) => {
        inFlight -= 1;
        requests.inc({ method, route, status });
        duration.observe({ method, route }, seconds);
      };
    },
    webSockets,
    expose: async () => {
      await readHostMetrics?.();
      return { contentType: register.contentType, text: await register.metrics() };
    },
    clear: () => register.clear(),
  };
}
