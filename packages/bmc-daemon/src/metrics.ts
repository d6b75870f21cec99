/**
 * Metrics for Prometheus: requests by method, route and status, their duration, whether the
 * hypervisor answers, and its hosts.
 */
import { Histogram, histogramLines } from '@rackless/daemon/metrics/histogram.js';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { HypervisorDriver } from './drivers/driver.js';
import { registerHostMetrics } from './host-metrics.js';
import { registerWebSocketMetrics, type WebSocketMetrics } from './web-socket-metrics.js';

/** An answered request. */
interface AnsweredRequest {
  readonly method: string;
  /** The URI template of its resource, because the number of paths is unbounded. */
  readonly route: string;
  readonly status: number;
  /** Time from the head of the request until the service has begun to send the answer. */
  readonly seconds: number;
}

/** The metrics of one app. */
export interface Metrics {
  /** Counts a request as in flight. */
  requestStarted(): void;
  /** Counts an answered request, which is not in flight anymore. */
  requestAnswered(request: AnsweredRequest): void;
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
  const requests = new RequestCounts(register);
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
    requestStarted() {
      inFlight += 1;
    },
    requestAnswered(request) {
      inFlight -= 1;
      requests.add(request);
    },
    webSockets,
    expose: async () => {
      await readHostMetrics?.();
      return { contentType: register.contentType, text: `${await register.metrics()}\n${requests.durations()}` };
    },
    clear: () => register.clear(),
  };
}

/** The requests of one method at one route. */
interface RequestSeries {
  readonly labels: { readonly method: string; readonly route: string };
  readonly byStatus: Map<number, number>;
  readonly durations: Histogram;
}

/**
 * Counts the answered requests. A request only increases numbers: prom-client would build a key of
 * its labels twice for each request. A scrape copies the numbers into the registry.
 */
class RequestCounts {
  readonly #series = new Map<string, Map<string, RequestSeries>>();

  constructor(register: Registry) {
    const all = () => this.#all();
    new Counter({
      name: 'bmc_http_requests_total',
      help: 'Requests answered.',
      labelNames: ['method', 'route', 'status'],
      registers: [register],
      collect() {
        this.reset();
        for (const { labels, byStatus } of all())
          for (const [status, count] of byStatus) this.inc({ ...labels, status }, count);
      },
    });
  }

  add({ method, route, status, seconds }: AnsweredRequest): void {
    const { byStatus, durations } = this.#series.get(route)?.get(method) ?? this.#addSeries(method, route);
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    durations.observe(seconds);
  }

  /** Returns the lines of the histogram. prom-client's histograms accept only single values. */
  durations(): string {
    const name = 'bmc_http_request_duration_seconds';
    const lines = [...this.#all()].flatMap(({ labels, durations }) => histogramLines(name, labels, durations));
    return [
      `# HELP ${name} Time from the head of a request to its answer.`,
      `# TYPE ${name} histogram`,
      ...lines,
      '',
    ].join('\n');
  }

  *#all(): Iterable<RequestSeries> {
    for (const byMethod of this.#series.values()) yield* byMethod.values();
  }

  #addSeries(method: string, route: string): RequestSeries {
    const series: RequestSeries = {
      labels: { method, route },
      byStatus: new Map(),
      durations: new Histogram(DURATION_BOUNDS),
    };
    const byMethod = this.#series.get(route) ?? new Map<string, RequestSeries>();
    this.#series.set(route, byMethod.set(method, series));
    return series;
  }
}

/**
 * Bounds of the histogram in seconds. A read takes about a millisecond and a shutdown some seconds;
 * a slow insert becomes a task, by default after eight seconds.
 */
const DURATION_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
