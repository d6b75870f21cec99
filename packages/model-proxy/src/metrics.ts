/**
 * Counts requests for Prometheus, under LiteLLM's metric names. A request only adds to numbers.
 * prom-client would look up labels for each request, so only a scrape uses it, and copies these
 * numbers into it. Label values come from the configuration, never from clients.
 * @see https://docs.litellm.ai/docs/proxy/prometheus
 */
import type { Counter, Gauge, Registry } from 'prom-client';
import type { ErrorKind } from './errors/proxy-error.js';

/** A finished request. Times are in milliseconds. */
export interface RequestRecord {
  /** Path template: `/v1/chat/completions`, or `unmatched`. */
  readonly route: string;
  /** Name of the model group as configured, with its stars; empty if no group was selected. */
  readonly modelGroup: string;
  readonly modelId: string;
  /** Status of the answer; 499 if the client disconnected before it. */
  readonly status: number;
  readonly errorKind: ErrorKind | null;
  readonly totalMs: number;
  /** Time that the upstream took. Null, like `overheadMs`, if no request was sent upstream. */
  readonly upstreamMs: number | null;
  /** Time until the first byte of a streamed answer; null for other answers. */
  readonly firstTokenMs: number | null;
  readonly overheadMs: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** Number of upstream headers that the answer omits because its head would be too large. */
  readonly droppedHeaders: number;
}

/** The metrics of one app. */
export interface Metrics {
  requestStarted(): void;
  requestFinished(record: RequestRecord): void;
  /** Returns the text for Prometheus and its content type. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Loads prom-client, as `App.loadModules`. */
  loadModules(): Promise<void>;
  /** Stops collecting the metrics of the process. */
  close(): void;
}

/** Upper bounds in seconds, from a model's first token to its longest answer. */
const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Upper bounds in seconds, for the time that the proxy adds. */
const OVERHEAD_BUCKETS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** A histogram. */
class Distribution {
  readonly bounds: readonly number[];
  /** Number of values in each bucket; the last bucket is for values above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array<number>(bounds.length + 1).fill(0);
  }

  observe(seconds: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && seconds > (bounds[index] ?? 0)) index += 1;
    counts[index] = (counts[index] ?? 0) + 1;
    this.sum += seconds;
  }
}

/** The numbers of one deployment at one path. */
class Series {
  readonly labels: Readonly<Record<string, string>>;
  /** Number of requests by status. */
  readonly requests = new Map<number, number>();
  /** Number of failures by status and kind: `429 upstreamStatus`. */
  readonly failures = new Map<string, number>();
  readonly total = new Distribution(LATENCY_BUCKETS);
  readonly upstream = new Distribution(LATENCY_BUCKETS);
  readonly firstToken = new Distribution(LATENCY_BUCKETS);
  readonly overhead = new Distribution(OVERHEAD_BUCKETS);
  inputTokens = 0;
  outputTokens = 0;
  totalTokens = 0;
  droppedHeaders = 0;

  constructor({ route, modelGroup, modelId }: RequestRecord) {
    this.labels = { route, requested_model: modelGroup, model_id: modelId };
  }

  add(record: RequestRecord): void {
    this.requests.set(record.status, (this.requests.get(record.status) ?? 0) + 1);
    if (record.errorKind !== null) {
      const key = `${record.status} ${record.errorKind}`;
      this.failures.set(key, (this.failures.get(key) ?? 0) + 1);
    }
    this.total.observe(record.totalMs / 1000);
    if (record.upstreamMs !== null) this.upstream.observe(record.upstreamMs / 1000);
    if (record.firstTokenMs !== null) this.firstToken.observe(record.firstTokenMs / 1000);
    if (record.overheadMs !== null) this.overhead.observe(record.overheadMs / 1000);
    this.inputTokens += record.inputTokens;
    this.outputTokens += record.outputTokens;
    this.totalTokens += record.totalTokens;
    this.droppedHeaders += record.droppedHeaders;
  }
}

/** Creates metrics with all numbers at 0. */
export function createMetrics(): Metrics {
  const series = new Map<string, Series>();
  let inFlight = 0;
  let exposition: Promise<Exposition> | undefined;
  let registry: Registry | undefined;
  return {
    requestStarted() {
      inFlight += 1;
    },
    requestFinished(record) {
      inFlight -= 1;
      const key = `${record.route}\n${record.modelGroup}\n${record.modelId}`;
      let found = series.get(key);
      if (found === undefined) {
        found = new Series(record);
        series.set(key, found);
      }
      found.add(record);
    },
    async loadModules() {
      await import('prom-client');
    },
    async expose() {
      exposition ??= createExposition();
      const { register, fill } = await exposition;
      registry = register;
      fill(series.values(), inFlight);
      const text = await register.metrics();
      return { contentType: register.contentType, text: text + distributions([...series.values()]) };
    },
    close: () => registry?.clear(),
  };
}

interface Exposition {
  readonly register: Registry;
  /** Copies the current numbers into the registry. */
  readonly fill: (series: Iterable<Series>, inFlight: number) => void;
}

const labelNames = ['route', 'requested_model', 'model_id'];

async function createExposition(): Promise<Exposition> {
  // prom-client is CommonJS: all its exports are on `default`.
  const { default: prometheus } = await import('prom-client');
  const register = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register });
  const counter = (name: string, help: string, ...more: string[]) =>
    new prometheus.Counter({ name, help, labelNames: [...labelNames, ...more], registers: [register] });
  const requests = counter('litellm_proxy_total_requests_metric_total', 'Requests answered.', 'status_code');
  const failed = counter(
    'litellm_proxy_failed_requests_metric_total',
    'Requests that failed, by the kind of failure.',
    'exception_status',
    'exception_class',
  );
  const deploymentFailures = counter(
    'litellm_deployment_failure_responses_total',
    'Requests that failed at the upstream, or because of its connection.',
    'exception_status',
    'exception_class',
  );
  const tokens = {
    inputTokens: counter('litellm_input_tokens_metric_total', 'Tokens of requests, as upstreams counted them.'),
    outputTokens: counter('litellm_output_tokens_metric_total', 'Tokens of answers, as upstreams counted them.'),
    totalTokens: counter('litellm_total_tokens_metric_total', 'Tokens of requests and answers.'),
  };
  const droppedHeaders = counter(
    'rackless_dropped_response_headers_total',
    'Upstream headers that answers omit because their total size is limited to 4096 bytes.',
  );
  const gauge: Gauge = new prometheus.Gauge({
    name: 'litellm_in_flight_requests',
    help: 'Requests in progress, including this request for metrics.',
    registers: [register],
  });
  const counters: readonly Counter[] = [
    ...[requests, failed, deploymentFailures, droppedHeaders],
    ...Object.values(tokens),
  ];

  const fill = (series: Iterable<Series>, inFlight: number): void => {
    // The registry only holds copies of the numbers that are counted above.
    for (const each of counters) each.reset();
    gauge.set(inFlight);
    for (const one of series) {
      const { labels } = one;
      for (const [status, count] of one.requests) requests.inc({ ...labels, status_code: String(status) }, count);
      for (const [key, count] of one.failures) {
        const [status = '', kind = ''] = key.split(' ');
        const failureLabels = { ...labels, exception_status: status, exception_class: kind };
        failed.inc(failureLabels, count);
        if (upstreamKinds.has(kind)) deploymentFailures.inc(failureLabels, count);
      }
      if (one.droppedHeaders > 0) droppedHeaders.inc(labels, one.droppedHeaders);
      if (one.totalTokens > 0) for (const name of tokenNames) tokens[name].inc(labels, one[name]);
    }
  };
  return { register, fill };
}

const tokenNames = ['inputTokens', 'outputTokens', 'totalTokens'] as const;
const upstreamKinds: ReadonlySet<string> = new Set<ErrorKind>([
  'upstreamStatus',
  'connection',
  'tls',
  'timeout',
  'malformedAnswer',
]);

const histograms = [
  ['litellm_request_total_latency_metric', 'Seconds from a request to the end of its answer.', 'total'],
  ['litellm_llm_api_latency_metric', 'Seconds of the total latency that the upstream needed.', 'upstream'],
  ['litellm_llm_api_time_to_first_token_metric', 'Seconds to the first byte of a streamed answer.', 'firstToken'],
  ['litellm_overhead_latency_metric', 'Seconds of the total latency that this proxy needed.', 'overhead'],
] as const;

/**
 * Formats the histograms. prom-client's histograms accept only single observations, so this file
 * writes their lines.
 */
function distributions(series: readonly Series[]): string {
  return histograms
    .map(([name, help, what]) => {
      const lines = series.flatMap((one) => distributionLines(name, one.labels, one[what]));
      return ['', `# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines, ''].join('\n');
    })
    .join('');
}

function distributionLines(name: string, labels: Series['labels'], { bounds, counts, sum }: Distribution): string[] {
  const shown = Object.entries(labels)
    .map(([label, value]) => `${label}="${escapeLabel(value)}"`)
    .join(',');
  let count = 0;
  const buckets = counts.map((inBucket, index) => {
    count += inBucket;
    return `${name}_bucket{${shown},le="${bounds[index] ?? '+Inf'}"} ${count}`;
  });
  if (count === 0) return [];
  return [...buckets, `${name}_sum{${shown}} ${sum}`, `${name}_count{${shown}} ${count}`];
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
