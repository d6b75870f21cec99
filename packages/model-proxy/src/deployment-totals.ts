/** The numbers of each deployment since the start of the process, over all its paths, for `/model/status`. */
import type { ErrorKind } from './errors/proxy-error.js';
import { quantile, type Distribution } from './histogram.js';

/** The numbers of one deployment at one path, as the metrics count them. */
interface PathNumbers {
  readonly labels: Readonly<Record<string, string>>;
  /** Number of requests by status. */
  readonly requests: ReadonlyMap<number, number>;
  /** Number of failed attempts by status and kind: `429 upstreamStatus`. */
  readonly attempts: ReadonlyMap<string, number>;
  readonly upstream: Distribution;
  readonly firstToken: Distribution;
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
  return { status: Number(status), kind: kind as ErrorKind, count }; // the metrics write kinds only
}

/** @param distributions with the same bounds. */
function timesOf(distributions: readonly Distribution[]): Times | null {
  const [first] = distributions;
  if (first === undefined) return null;
  const counts = first.counts.map((_, index) => distributions.reduce((sum, one) => sum + (one.counts[index] ?? 0), 0));
  const count = counts.reduce((sum, inBucket) => sum + inBucket, 0);
  if (count === 0) return null;
  const seconds = distributions.reduce((sum, one) => sum + one.sum, 0);
  const at = (share: number): number => 1000 * quantile(first.bounds, counts, share);
  return { count, average: (1000 * seconds) / count, p50: at(0.5), p95: at(0.95) };
}
