/**
 * What Prometheus reads, under LiteLLM's names. On the hot path numbers are added to numbers; prom-client, which would look up its
 * labels for each of them, is loaded when somebody first asks. Labels come from the configuration alone, never from a client.
 * @see https://docs.litellm.ai/docs/proxy/prometheus
 */
import type { Counter, Gauge, Registry } from 'prom-client';
import type { ErrorKind } from './errors.js';

/** One request that is over. Times in milliseconds. */
export interface RequestRecord {
  /** Template of the path: `/v1/chat/completions`, `unmatched`. */
  readonly route: string;
  /** As configured, wildcards unfilled; empty where none was found. */
  readonly modelGroup: string;
  readonly modelId: string;
  /** Of the answer; 499: the client went away before there was one. */
  readonly status: number;
  readonly errorKind: ErrorKind | null;
  readonly totalMs: number;
  /** null: no upstream was asked, as with everything below. */
  readonly upstreamMs: number | null;
  /** From the request to the first byte of a streamed answer; null where it was none. */
  readonly firstTokenMs: number | null;
  readonly overheadMs: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** Headers of the upstream's that the answer does not have because its head would be too large. */
  readonly droppedHeaders: number;
}

export interface Metrics {
  requestStarted(): void;
  requestFinished(record: RequestRecord): void;
  /** The text that Prometheus reads, and its content type. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Stops watching the process. */
  close(): void;
}

/** Seconds; from a model's first token to its longest answer. */
const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Seconds; what a proxy adds. */
const OVERHEAD_BUCKETS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** Counts how many values were at most as large as each bound. */
class Distribution {
  readonly bounds: readonly number[];
  /** One more than bounds: the last is for what is above them all. */
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

/** What is counted of one deployment at one path. */
class Series {
  readonly labels: Readonly<Record<string, string>>;
  /** By status. */
  readonly requests = new Map<number, number>();
  /** By status and kind: `429 upstreamStatus`. */
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
  /** Puts the present numbers into the registry. */
  readonly fill: (series: Iterable<Series>, inFlight: number) => void;
}

const labelNames = ['route', 'requested_model', 'model_id'];

async function createExposition(): Promise<Exposition> {
  // It is CommonJS: all of it is behind `default`.
  const { default: prometheus } = await import('prom-client');
  const register = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register });
  const counter = (name: string, help: string, ...more: string[]) =>
    new prometheus.Counter({ name, help, labelNames: [...labelNames, ...more], registers: [register] });
  const requests = counter('litellm_proxy_total_requests_metric_total', 'Requests answered.', 'status_code');
  const failed = counter(
    'litellm_proxy_failed_requests_metric_total',
    'Requests that failed, and whose fault it was.',
    'exception_status',
    'exception_class',
  );
  const deploymentFailures = counter(
    'litellm_deployment_failure_responses_total',
    'Requests that failed at the upstream or on the way to it.',
    'exception_status',
    'exception_class',
  );
  const tokens = {
    inputTokens: counter('litellm_input_tokens_metric_total', 'Tokens of requests, as upstreams counted them.'),
    outputTokens: counter('litellm_output_tokens_metric_total', 'Tokens of answers, as upstreams counted them.'),
    totalTokens: counter('litellm_total_tokens_metric_total', 'Tokens of both.'),
  };
  const droppedHeaders = counter(
    'rackless_dropped_response_headers_total',
    'Headers of upstreams that answers do not have because all headers together are limited to 4096 bytes.',
  );
  const gauge: Gauge = new prometheus.Gauge({
    name: 'litellm_in_flight_requests',
    help: 'Requests not answered yet, this one included.',
    registers: [register],
  });
  const counters: readonly Counter[] = [
    ...[requests, failed, deploymentFailures, droppedHeaders],
    ...Object.values(tokens),
  ];

  const fill = (series: Iterable<Series>, inFlight: number): void => {
    // Counted elsewhere: what stands in the registry is a copy.
    for (const each of counters) each.reset();
    gauge.set(inFlight);
    for (const one of series) {
      const { labels } = one;
      for (const [status, count] of one.requests) requests.inc({ ...labels, status_code: String(status) }, count);
      for (const [key, count] of one.failures) {
        const [status = '', kind = ''] = key.split(' ');
        const named = { ...labels, exception_status: status, exception_class: kind };
        failed.inc(named, count);
        if (upstreamKinds.has(kind)) deploymentFailures.inc(named, count);
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
  ['litellm_llm_api_latency_metric', 'Seconds that the upstream took of it.', 'upstream'],
  ['litellm_llm_api_time_to_first_token_metric', 'Seconds to the first byte of a streamed answer.', 'firstToken'],
  ['litellm_overhead_latency_metric', 'Seconds that this proxy took of it.', 'overhead'],
] as const;

/** prom-client's histograms take one value at a time and give none back: these lines of its format are written here. */
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
