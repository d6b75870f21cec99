/**
 * The numbers of requests that the metrics count, their sums over several processes, and the totals of each
 * deployment since the start of the process, for `/model/status`.
 */
import { Histogram, quantile } from '@rackless/daemon/metrics/histogram.js';
import type { ErrorKind } from './errors/proxy-error.js';

/** An attempt that failed, before or after its answer began. */
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
  /** Number of attempts after the first one at each model group. The first attempt at a fallback is not a retry. */
  readonly retries: number;
  /** Number of model groups that got the request after the first one. */
  readonly fallbacks: number;
  /** Number of upstream headers that the answer omits because its head would be too large. */
  readonly droppedHeaders: number;
  /** The failed attempts of a model request. */
  readonly failedAttempts: readonly FailedAttempt[];
}

/** Upper bounds in seconds, from a model's first token to its longest answer. */
const LATENCY_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Upper bounds in seconds, for the time that the proxy adds. */
const OVERHEAD_BUCKETS = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** The numbers of one deployment at one path, or of the requests that reached no deployment. */
export class Series {
  readonly labels: Readonly<Record<string, string>>;
  /** Number of requests by status. */
  readonly requests = new Map<number, number>();
  /** Number of failures by status and kind, such as `429 upstreamStatus`. */
  readonly failures = new Map<string, number>();
  /** Number of failed attempts, as {@link failures}. */
  readonly attempts = new Map<string, number>();
  readonly total = new Histogram(LATENCY_BUCKETS);
  readonly upstream = new Histogram(LATENCY_BUCKETS);
  readonly firstToken = new Histogram(LATENCY_BUCKETS);
  readonly overhead = new Histogram(OVERHEAD_BUCKETS);
  inputTokens = 0;
  outputTokens = 0;
  totalTokens = 0;
  costUsd = 0;
  retries = 0;
  fallbacks = 0;
  droppedHeaders = 0;

  constructor(labels: Series['labels']) {
    this.labels = labels;
  }

  add(record: RequestRecord): void {
    this.requests.set(record.status, (this.requests.get(record.status) ?? 0) + 1);
    const { errorKind } = record;
    if (errorKind !== null) {
      count(this.failures, record.status, errorKind);
      // A raw request has no attempts of its own, so its failure counts as one.
      if (isUpstreamFault(errorKind) && record.failedAttempts.length === 0)
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

  /** Counts a failed attempt. */
  addAttempt({ status, errorKind }: FailedAttempt): void {
    count(this.attempts, status, errorKind);
  }

  /** Returns the numbers as JSON can hold them. */
  toData(): SeriesData {
    const counts = Object.fromEntries(countNames.map((name) => [name, [...this[name]]]));
    const numbers = Object.fromEntries(numberNames.map((name) => [name, this[name]]));
    const times = Object.fromEntries(
      timeNames.map((name) => [name, { counts: this[name].counts, sum: this[name].sum }]),
    );
    return { labels: this.labels, counts, numbers, times };
  }

  /** Adds the numbers of another process. */
  merge({ counts, numbers, times }: SeriesData): void {
    for (const name of countNames) {
      const own: Map<number | string, number> = this[name];
      for (const [key, added] of counts[name] ?? []) own.set(key, (own.get(key) ?? 0) + added);
    }
    for (const name of numberNames) this[name] += numbers[name] ?? 0;
    for (const name of timeNames) {
      const added = times[name];
      if (added === undefined) continue;
      for (const [index, inBucket] of added.counts.entries())
        this[name].counts[index] = (this[name].counts[index] ?? 0) + inBucket;
      this[name].sum += added.sum;
    }
  }
}

const countNames = ['requests', 'failures', 'attempts'] as const;
const numberNames = [
  ...(['inputTokens', 'outputTokens', 'totalTokens', 'costUsd'] as const),
  ...(['retries', 'fallbacks', 'droppedHeaders'] as const),
];
const timeNames = ['total', 'upstream', 'firstToken', 'overhead'] as const;

/** A {@link Series} as JSON can hold it. */
export interface SeriesData {
  readonly labels: Readonly<Record<string, string>>;
  readonly counts: Readonly<Record<string, readonly (readonly [key: number | string, count: number])[]>>;
  readonly numbers: Readonly<Record<string, number>>;
  readonly times: Readonly<Record<string, { readonly counts: readonly number[]; readonly sum: number }>>;
}

/** Adds the numbers of several processes. */
export function mergeSeries(all: Iterable<SeriesData>): readonly Series[] {
  const merged = new Map<string, Series>();
  for (const data of all) {
    const id = JSON.stringify(data.labels);
    const found = merged.get(id) ?? new Series(data.labels);
    merged.set(id, found);
    found.merge(data);
  }
  return [...merged.values()];
}

/** Counts a failure. */
function count(failures: Map<string, number>, status: number, kind: ErrorKind): void {
  const key = `${status} ${kind}`;
  failures.set(key, (failures.get(key) ?? 0) + 1);
}

const upstreamKinds: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  'upstreamStatus',
  'connection',
  'tls',
  'timeout',
  'malformedAnswer',
]);

/** Returns whether an upstream, or the connection to it, causes errors of a kind. */
export function isUpstreamFault(kind: ErrorKind): boolean {
  return upstreamKinds.has(kind);
}

/** The numbers of one deployment at one path, as the metrics count them. */
interface PathNumbers {
  readonly labels: Readonly<Record<string, string>>;
  /** Number of requests by status. */
  readonly requests: ReadonlyMap<number, number>;
  /** Number of failed attempts by status and kind, such as `429 upstreamStatus`. */
  readonly attempts: ReadonlyMap<string, number>;
  readonly upstream: Histogram;
  readonly firstToken: Histogram;
}

/** Times in milliseconds. */
export interface Times {
  readonly count: number;
  readonly average: number;
  /** Estimated from a histogram, as Prometheus does. */
  readonly p50: number;
  readonly p95: number;
}

/** Attempts that failed in the same way. */
interface FailureCount {
  readonly status: number;
  readonly kind: ErrorKind;
  readonly count: number;
}

/** The numbers of a deployment. */
export interface DeploymentTotals {
  readonly requests: number;
  readonly failures: readonly FailureCount[];
  /** Time that the upstream took; null: it got no request. */
  readonly latencyMs: Times | null;
  /** Time to the first byte of streamed answers; null: there was none. */
  readonly firstTokenMs: Times | null;
}

/** Returns the numbers of the deployment with an id. @param numbers of all deployments. */
export function totalsOf(numbers: Iterable<PathNumbers>, modelId: string): DeploymentTotals {
  const own = [...numbers].filter(({ labels }) => labels['model_id'] === modelId);
  const failures = new Map<string, number>();
  for (const { attempts } of own)
    for (const [key, count] of attempts) failures.set(key, (failures.get(key) ?? 0) + count);
  return {
    requests: own.reduce((sum, { requests }) => sum + [...requests.values()].reduce((all, one) => all + one, 0), 0),
    failures: [...failures].map(([key, count]) => failureOf(key, count)),
    latencyMs: timesOf(own.map(({ upstream }) => upstream)),
    firstTokenMs: timesOf(own.map(({ firstToken }) => firstToken)),
  };
}

function failureOf(key: string, count: number): FailureCount {
  const [status = '', kind = ''] = key.split(' ');
  return { status: Number(status), kind: kind as ErrorKind, count }; // `count` writes a status and a kind
}

/** Returns the times of all histograms together; null: they are empty. @param histograms with the same bounds. */
function timesOf(histograms: readonly Histogram[]): Times | null {
  const [first] = histograms;
  if (first === undefined) return null;
  const counts = first.counts.map((_, index) => histograms.reduce((sum, one) => sum + (one.counts[index] ?? 0), 0));
  const count = counts.reduce((sum, inBucket) => sum + inBucket, 0);
  if (count === 0) return null;
  const seconds = histograms.reduce((sum, one) => sum + one.sum, 0);
  const at = (share: number): number => 1000 * quantile(first.bounds, counts, share);
  return { count, average: (1000 * seconds) / count, p50: at(0.5), p95: at(0.95) };
}
