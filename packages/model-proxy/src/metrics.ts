/**
 * Counts requests for Prometheus, under LiteLLM's metric names. A request only adds to numbers.
 * prom-client would look up labels for each request, so only a scrape uses it, and copies these
 * numbers into it. Label values come from the configuration, never from clients.
 * @see https://docs.litellm.ai/docs/proxy/prometheus
 */
import type { Counter, Gauge, Registry } from 'prom-client';
import { totalsOf, type DeploymentTotals } from './deployment-totals.js';
import { createDeploymentMetrics, deploymentLabelsOf, type DeploymentHealthRecord } from './deployment-metrics.js';
import type { ErrorKind } from './errors/proxy-error.js';
import { distributionLines, Distribution } from './histogram.js';

/** An attempt that failed before its answer began. */
export interface FailedAttempt {
  readonly modelGroup: string;
  readonly modelId: string;
  readonly status: number;
  readonly errorKind: ErrorKind;
}

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
  /** Cost with the prices of the deployment; 0 if it has none. */
  readonly costUsd: number;
  /** Number of attempts after the first one, in all model groups. */
  readonly retries: number;
  /** Number of model groups that got the request after the first one. */
  readonly fallbacks: number;
  /** Number of upstream headers that the answer omits because its head would be too large. */
  readonly droppedHeaders: number;
  /** Without attempts after the beginning of an answer. */
  readonly failedAttempts: readonly FailedAttempt[];
}

/** State of the process that only a scrape reads. */
interface ScrapedState {
  readonly deployments: readonly DeploymentHealthRecord[];
  /** Number of requests that wait for a place. */
  readonly queued: number;
}

/** The metrics of one app. */
export interface Metrics {
  /** A client's request is in progress from now on. */
  requestStarted(): void;
  /** A client's request is no longer in progress. */
  requestEnded(): void;
  /** Counts a request to a model, or one that reached none. */
  add(record: RequestRecord): void;
  /** Returns the numbers of a deployment since the start. */
  totalsOf(modelId: string): DeploymentTotals;
  /** Returns the text for Prometheus and its content type. */
  expose(state: ScrapedState): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Loads prom-client, as `App.loadModules`. */
  loadModules(): Promise<void>;
  /** Stops collecting the metrics of the process. */
  close(): void;
}

/** Upper bounds in seconds, from a model's first token to its longest answer. */
const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Upper bounds in seconds, for the time that the proxy adds. */
const OVERHEAD_BUCKETS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** The numbers of one deployment at one path. */
class Series {
  readonly labels: Readonly<Record<string, string>>;
  /** Number of requests by status. */
  readonly requests = new Map<number, number>();
  /** Number of failures by status and kind: `429 upstreamStatus`. */
  readonly failures = new Map<string, number>();
  /** Number of failed attempts, as {@link failures}. */
  readonly attempts = new Map<string, number>();
  readonly total = new Distribution(LATENCY_BUCKETS);
  readonly upstream = new Distribution(LATENCY_BUCKETS);
  readonly firstToken = new Distribution(LATENCY_BUCKETS);
  readonly overhead = new Distribution(OVERHEAD_BUCKETS);
  inputTokens = 0;
  outputTokens = 0;
  totalTokens = 0;
  costUsd = 0;
  retries = 0;
  fallbacks = 0;
  droppedHeaders = 0;

  constructor(route: string, { modelGroup, modelId }: Pick<RequestRecord, 'modelGroup' | 'modelId'>) {
    this.labels = { route, ...deploymentLabelsOf(modelGroup, modelId) };
  }

  add(record: RequestRecord): void {
    this.requests.set(record.status, (this.requests.get(record.status) ?? 0) + 1);
    const { errorKind } = record;
    if (errorKind !== null) {
      count(this.failures, record.status, errorKind);
      // The last attempt is among the failed ones, unless its answer had begun.
      if (upstreamKinds.has(errorKind) && record.failedAttempts.length === 0)
        count(this.attempts, record.status, errorKind);
    }
    this.total.observe(record.totalMs / 1000);
    if (record.upstreamMs !== null) this.upstream.observe(record.upstreamMs / 1000);
    if (record.firstTokenMs !== null) this.firstToken.observe(record.firstTokenMs / 1000);
    if (record.overheadMs !== null) this.overhead.observe(record.overheadMs / 1000);
    this.inputTokens += record.inputTokens;
    this.outputTokens += record.outputTokens;
    this.totalTokens += record.totalTokens;
    this.costUsd += record.costUsd;
    this.retries += record.retries;
    this.fallbacks += record.fallbacks;
    this.droppedHeaders += record.droppedHeaders;
  }
}

/** Counts a failure. */
function count(failures: Map<string, number>, status: number, kind: ErrorKind): void {
  const key = `${status} ${kind}`;
  failures.set(key, (failures.get(key) ?? 0) + 1);
}

/** Creates metrics with all numbers at 0. */
export function createMetrics(): Metrics {
  const series: Series[] = [];
  // Three maps: a joined key would cost more than everything else here.
  const byRoute = new Map<string, Map<string, Map<string, Series>>>();
  const seriesOf = (route: string, of: Pick<RequestRecord, 'modelGroup' | 'modelId'>): Series => {
    const found = byRoute.get(route)?.get(of.modelGroup)?.get(of.modelId);
    if (found !== undefined) return found;
    const added = new Series(route, of);
    series.push(added);
    const byGroup = byRoute.get(route) ?? new Map<string, Map<string, Series>>();
    const byId = byGroup.get(of.modelGroup) ?? new Map<string, Series>();
    byRoute.set(route, byGroup.set(of.modelGroup, byId.set(of.modelId, added)));
    return added;
  };
  let inFlight = 0;
  let exposition: Promise<Exposition> | undefined;
  let registry: Registry | undefined;
  return {
    requestStarted() {
      inFlight += 1;
    },
    requestEnded() {
      inFlight -= 1;
    },
    add(record) {
      seriesOf(record.route, record).add(record);
      for (const attempt of record.failedAttempts)
        count(seriesOf(record.route, attempt).attempts, attempt.status, attempt.errorKind);
    },
    totalsOf: (modelId) => totalsOf(series, deploymentLabelsOf('', modelId)['model_id'] ?? ''),
    async loadModules() {
      await import('prom-client');
    },
    async expose(state) {
      exposition ??= createExposition();
      const { register, fill } = await exposition;
      registry = register;
      fill(series, inFlight, state);
      const text = await register.metrics();
      return { contentType: register.contentType, text: text + distributions(series) };
    },
    close: () => registry?.clear(),
  };
}

interface Exposition {
  readonly register: Registry;
  /** Copies the current numbers into the registry. */
  readonly fill: (series: Iterable<Series>, inFlight: number, state: ScrapedState) => void;
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
    'Attempts that failed at the upstream, or because of its connection.',
    'exception_status',
    'exception_class',
  );
  const tokens = {
    inputTokens: counter('litellm_input_tokens_metric_total', 'Tokens of requests, as upstreams counted them.'),
    outputTokens: counter('litellm_output_tokens_metric_total', 'Tokens of answers, as upstreams counted them.'),
    totalTokens: counter('litellm_total_tokens_metric_total', 'Tokens of requests and answers.'),
  };
  const rare = {
    costUsd: counter('litellm_spend_metric_total', 'US dollars, with the prices of the configuration.'),
    retries: counter('rackless_retries_total', 'Attempts after the first one of each request.'),
    fallbacks: counter('rackless_fallbacks_total', 'Model groups that got a request after the first one.'),
    droppedHeaders: counter(
      'rackless_dropped_response_headers_total',
      'Upstream headers that answers omit because their total size is limited to 4096 bytes.',
    ),
  };
  const deploymentMetrics = createDeploymentMetrics(prometheus, register);
  const gauge = (name: string, help: string): Gauge => new prometheus.Gauge({ name, help, registers: [register] });
  const running = gauge('litellm_in_flight_requests', 'Requests in progress, including this request for metrics.');
  const waiting = gauge('rackless_queued_requests', 'Requests that wait for a place.');
  const counters: readonly Counter[] = [
    ...[requests, failed, deploymentFailures],
    ...Object.values(tokens),
    ...Object.values(rare),
  ];

  const fill: Exposition['fill'] = (series, inFlight, { deployments, queued }) => {
    // The registry only holds copies of the numbers that are counted above.
    for (const each of counters) each.reset();
    running.set(inFlight);
    waiting.set(queued);
    deploymentMetrics.fill(deployments);
    for (const one of series) {
      const { labels } = one;
      for (const [status, count] of one.requests) requests.inc({ ...labels, status_code: String(status) }, count);
      for (const [key, count] of one.failures) {
        const [status = '', kind = ''] = key.split(' ');
        const failureLabels = { ...labels, exception_status: status, exception_class: kind };
        failed.inc(failureLabels, count);
      }
      for (const [key, count] of one.attempts) {
        const [status = '', kind = ''] = key.split(' ');
        deploymentFailures.inc({ ...labels, exception_status: status, exception_class: kind }, count);
      }
      for (const name of rareNames) if (one[name] > 0) rare[name].inc(labels, one[name]);
      if (one.totalTokens > 0) for (const name of tokenNames) tokens[name].inc(labels, one[name]);
    }
  };
  return { register, fill };
}

const tokenNames = ['inputTokens', 'outputTokens', 'totalTokens'] as const;
/** Numbers that have a line only if they are not 0. */
const rareNames = ['costUsd', 'retries', 'fallbacks', 'droppedHeaders'] as const;
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
