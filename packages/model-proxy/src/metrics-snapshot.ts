/** The metrics of a worker, for the worker that answers a scrape, and the sums over several workers. */
import type { AggregatorRegistry, Registry } from 'prom-client';
import type { DeploymentHealthRecord } from './deployment-metrics.js';
import { mergeSeries, type SeriesData } from './series.js';

/** The metrics of the process in prom-client's form: CPU time, memory, event loop. */
export type ProcessMetrics = readonly { readonly name: string; readonly type: unknown }[];

/** All numbers of a worker, as JSON can hold them. */
export interface MetricsSnapshot {
  readonly series: readonly SeriesData[];
  readonly inFlight: number;
  readonly queued: number;
  readonly deployments: readonly DeploymentHealthRecord[];
  readonly process: ProcessMetrics;
}

/** Merges the states of deployments: the worst state, the sum of counts, and the last check. */
export function mergeDeployments(
  all: readonly Pick<MetricsSnapshot, 'deployments'>[],
): readonly DeploymentHealthRecord[] {
  const merged = new Map<string, DeploymentHealthRecord>();
  for (const { deployments } of all)
    for (const one of deployments) {
      const id = JSON.stringify([one.modelGroup, one.modelId]);
      const found = merged.get(id);
      merged.set(id, found === undefined ? one : mergeTwo(found, one));
    }
  return [...merged.values()];
}

function mergeTwo(first: DeploymentHealthRecord, second: DeploymentHealthRecord): DeploymentHealthRecord {
  const isSecondNewer = (second.check?.checkedAt ?? 0) > (first.check?.checkedAt ?? 0);
  return {
    ...first,
    state: first.state > second.state ? first.state : second.state,
    cooldowns: first.cooldowns + second.cooldowns,
    inFlight: first.inFlight + second.inFlight,
    check: isSecondNewer ? second.check : first.check,
  };
}

/** The part of prom-client that merges metrics. */
interface Prometheus {
  readonly AggregatorRegistry: Pick<typeof AggregatorRegistry, 'aggregate'>;
}

/** Merges the metrics of processes as prom-client does. The start is that of the oldest process. */
export function mergeProcesses({ AggregatorRegistry: registry }: Prometheus, all: readonly ProcessMetrics[]): Registry {
  const metrics = all.map((ofProcess) =>
    ofProcess.map((metric) => (metric.name === START_TIME ? { ...metric, aggregator: 'min' } : metric)),
  );
  return registry.aggregate(metrics);
}

const START_TIME = 'process_start_time_seconds';

/**
 * Merges the counters of the workers of a group that have ended; numbers of a current state become 0. Without the
 * counters of ended workers, the sums would become smaller, and Prometheus would treat this as a restart.
 */
export async function mergeEnded(all: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
  // prom-client is CommonJS: all its exports are on `default`.
  const { default: prometheus } = await import('prom-client');
  const counted = all.map((one) => one.process.filter(({ type }) => isCounter(type)));
  const merged = await mergeProcesses(prometheus, counted).getMetricsAsJSON();
  return {
    series: mergeSeries(all.flatMap(({ series }) => series)).map((one) => one.toData()),
    inFlight: 0,
    queued: 0,
    deployments: mergeDeployments(all).map(({ modelGroup, modelId, cooldowns }) => ({
      ...{ modelGroup, modelId, cooldowns },
      ...{ state: 0, inFlight: 0, check: undefined },
    })),
    process: merged,
  };
}

const isCounter = (type: unknown): boolean => type === 'counter' || type === 'histogram';
