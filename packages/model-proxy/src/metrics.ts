/**
 * Counts requests for Prometheus, under LiteLLM's metric names. A request only increases numbers.
 * prom-client would look up labels for each request, so only a scrape uses it, and copies these
 * numbers into it. Label values never come from clients: they are path templates, names of the configuration,
 * statuses and kinds of errors.
 * @see https://docs.litellm.ai/docs/proxy/prometheus
 */
import { histogramLines } from '@rackless/daemon/metrics/histogram.js';
import type { Counter, Gauge, Registry } from 'prom-client';
import { createDeploymentMetrics, deploymentLabelsOf, type DeploymentHealthRecord } from './deployment-metrics.js';
import { mergeDeployments, mergeProcesses, type MetricsSnapshot, type ProcessMetrics } from './metrics-snapshot.js';
import { mergeSeries, Series, totalsOf, type DeploymentTotals, type RequestRecord } from './series.js';

/** State of the process that only a scrape needs. The caller reads it for each scrape. */
interface ScrapedState {
  readonly deployments: readonly DeploymentHealthRecord[];
  /** Number of requests that wait for a place. */
  readonly queued: number;
}

/** The metrics of one app. */
export interface Metrics {
  /** Counts a client's request as in progress. */
  requestStarted(): void;
  /** Counts a request of {@link requestStarted} as no longer in progress. */
  requestEnded(): void;
  /** Counts a finished request and its failed attempts. */
  add(record: RequestRecord): void;
  /** Returns the numbers of a deployment since the start. @param others as for {@link Metrics.expose}. */
  totalsOf(modelId: string, others: readonly MetricsSnapshot[]): DeploymentTotals;
  /**
   * Returns the text for Prometheus and its content type.
   * @param others the numbers of the other workers of the group, also ended ones; empty: there are none.
   */
  expose(
    state: ScrapedState,
    others: readonly MetricsSnapshot[],
  ): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Returns all numbers, for another worker that answers a scrape. */
  snapshot(state: ScrapedState): Promise<MetricsSnapshot>;
  /** Loads prom-client before the first scrape needs it. `App.loadModules` calls this and has the reason. */
  loadModules(): Promise<void>;
  /** Stops collecting the metrics of the process. */
  close(): void;
}

/** Creates metrics with all numbers at 0. */
export function createMetrics(): Metrics {
  const series: Series[] = [];
  // Three maps: a joined key would cost more than everything else here.
  const byRoute = new Map<string, Map<string, Map<string, Series>>>();
  const seriesOf = (route: string, of: Pick<RequestRecord, 'modelGroup' | 'modelId'>): Series => {
    const found = byRoute.get(route)?.get(of.modelGroup)?.get(of.modelId);
    if (found !== undefined) return found;
    const added = new Series({ route, ...deploymentLabelsOf(of.modelGroup, of.modelId) });
    series.push(added);
    const byGroup = byRoute.get(route) ?? new Map<string, Map<string, Series>>();
    const byId = byGroup.get(of.modelGroup) ?? new Map<string, Series>();
    byRoute.set(route, byGroup.set(of.modelGroup, byId.set(of.modelId, added)));
    return added;
  };
  let inFlight = 0;
  let exposition: Promise<Exposition> | undefined;
  let registries: readonly Registry[] = [];
  const expositionOf = async (): Promise<Exposition> => {
    const created = await (exposition ??= createExposition());
    registries = created.registries;
    return created;
  };
  return {
    requestStarted() {
      inFlight += 1;
    },
    requestEnded() {
      inFlight -= 1;
    },
    add(record) {
      seriesOf(record.route, record).add(record);
      for (const attempt of record.failedAttempts) seriesOf(record.route, attempt).addAttempt(attempt);
    },
    totalsOf: (modelId, others) =>
      totalsOf(
        others.length === 0 ? series : mergeSeries(allSeries(series, others)),
        deploymentLabelsOf('', modelId)['model_id'] ?? '',
      ),
    async loadModules() {
      await import('prom-client');
    },
    async expose(state, others) {
      const { register, processText, fill } = await expositionOf();
      const isAlone = others.length === 0;
      const shown = isAlone ? series : mergeSeries(allSeries(series, others));
      fill(
        shown,
        others.reduce((sum, other) => sum + other.inFlight, inFlight),
        {
          deployments: isAlone ? state.deployments : ownOf(state, mergeDeployments([state, ...others])),
          queued: others.reduce((sum, { queued }) => sum + queued, state.queued),
        },
      );
      const [own, ofProcess] = await Promise.all([
        register.metrics(),
        processText(others.map((other) => other.process)),
      ]);
      return { contentType: register.contentType, text: `${ofProcess}\n${own}${renderHistograms(shown)}` };
    },
    async snapshot({ deployments, queued }) {
      const { processMetrics } = await expositionOf();
      const data = series.map((one) => one.toData());
      return { series: data, inFlight, queued, deployments, process: await processMetrics() };
    },
    close: () => {
      for (const registry of registries) registry.clear();
    },
  };
}

/** Returns the merged states of this worker's deployments, without removed ones that an ended worker has counted. */
function ownOf({ deployments }: ScrapedState, merged: readonly DeploymentHealthRecord[]) {
  const own = new Set(deployments.map(({ modelId }) => modelId));
  return merged.filter(({ modelId }) => own.has(modelId));
}

function* allSeries(own: readonly Series[], others: readonly MetricsSnapshot[]) {
  for (const one of own) yield one.toData();
  for (const { series } of others) yield* series;
}

interface Exposition {
  readonly register: Registry;
  /** All registries, for the end of the app. */
  readonly registries: readonly Registry[];
  /** Returns the metrics of this process. */
  readonly processMetrics: () => Promise<ProcessMetrics>;
  /** Returns the text with the metrics of this process and others. */
  readonly processText: (others: readonly ProcessMetrics[]) => Promise<string>;
  /** Copies the current numbers into the registry. */
  readonly fill: (series: Iterable<Series>, inFlight: number, state: ScrapedState) => void;
}

const labelNames = ['route', 'requested_model', 'model_id'];

async function createExposition(): Promise<Exposition> {
  // prom-client is CommonJS: all its exports are on `default`.
  const { default: prometheus } = await import('prom-client');
  const register = new prometheus.Registry();
  const ofProcess = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register: ofProcess });
  const counter = (name: string, help: string, ...more: string[]) =>
    new prometheus.Counter({ name, help, labelNames: [...labelNames, ...more], registers: [register] });
  const requests = counter(
    'litellm_proxy_total_requests_metric_total',
    'Requests that ended. 499: the client disconnected before the answer.',
    'status_code',
  );
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
    retries: counter('rackless_retries_total', 'Attempts after the first one at each model group of a request.'),
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
    // The registry only holds copies of the numbers in `series`, so each scrape replaces them.
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
  const processMetrics = (): Promise<ProcessMetrics> => ofProcess.getMetricsAsJSON();
  const processText = async (others: readonly ProcessMetrics[]): Promise<string> => {
    if (others.length === 0) return ofProcess.metrics();
    return mergeProcesses(prometheus, [await processMetrics(), ...others]).metrics();
  };
  return { register, registries: [ofProcess, register], processMetrics, processText, fill };
}

const tokenNames = ['inputTokens', 'outputTokens', 'totalTokens'] as const;
/** Numbers that have a line only if they are not 0. */
const rareNames = ['costUsd', 'retries', 'fallbacks', 'droppedHeaders'] as const;
const histograms = [
  ['litellm_request_total_latency_metric', 'Seconds from a request to the end of its answer.', 'total'],
  ['litellm_llm_api_latency_metric', 'Seconds of the total latency that the upstream needed.', 'upstream'],
  ['litellm_llm_api_time_to_first_token_metric', 'Seconds to the first byte of a streamed answer.', 'firstToken'],
  ['litellm_overhead_latency_metric', 'Seconds of the total latency that this proxy needed.', 'overhead'],
] as const;

/**
 * Formats the histograms without prom-client, because its histograms accept only single observations.
 */
function renderHistograms(series: readonly Series[]): string {
  return histograms
    .map(([name, help, what]) => {
      const lines = series.flatMap((one) => histogramLines(name, one.labels, one[what]));
      return ['', `# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines, ''].join('\n');
    })
    .join('');
}
