/**
 * The metrics of deployments: states, cooldowns, requests in progress and health checks. A scrape copies them into
 * the registry.
 */
import { plainLine } from '@rackless/daemon/text/plain-text.js';
import type { Counter, Gauge, Registry } from 'prom-client';

/** The state of a deployment at a scrape. */
export interface DeploymentHealthRecord {
  readonly modelGroup: string;
  readonly modelId: string;
  /** LiteLLM's numbers: 0 is healthy, 1 has failed its last request, 2 cools down. */
  readonly state: 0 | 1 | 2;
  /** Number of cooldowns since the start. */
  readonly cooldowns: number;
  /** Number of requests that have not ended. */
  readonly inFlight: number;
  /** The last check in the background; undefined: there was none. */
  readonly check: CheckSample | undefined;
}

/** The part of a check's result that the metrics show. */
interface CheckSample {
  /** null: the deployment works. */
  readonly error: string | null;
  /** Time in milliseconds since 1970. */
  readonly checkedAt: number;
  readonly durationMs: number;
}

/** Returns the labels of a deployment. Escapes the control characters that names of a configuration may contain. */
export function deploymentLabelsOf(modelGroup: string, modelId: string): Readonly<Record<string, string>> {
  return { requested_model: plainLine(modelGroup), model_id: plainLine(modelId) };
}

/** Creates the metrics. @param prometheus the module `prom-client`, which loads on demand. */
export function createDeploymentMetrics(
  prometheus: { readonly Gauge: typeof Gauge; readonly Counter: typeof Counter },
  register: Registry,
) {
  const described = (name: string, help: string) => ({
    ...{ name, help, registers: [register] },
    labelNames: ['requested_model', 'model_id'],
  });
  const gauge = (name: string, help: string) => new prometheus.Gauge(described(name, help));
  const cooldowns = new prometheus.Counter(
    described('litellm_deployment_cooled_down_total', 'Cooldowns of a deployment.'),
  );
  const gauges = {
    state: gauge(
      'litellm_deployment_state',
      'State of a deployment: 0 is healthy, 1 has failed its last request, 2 cools down.',
    ),
    inFlight: gauge('rackless_deployment_in_flight_requests', 'Requests in progress at a deployment.'),
    isHealthy: gauge('rackless_health_check_healthy', 'Whether the last check in the background succeeded: 1 or 0.'),
    checkedAt: gauge('rackless_health_check_timestamp_seconds', 'Time of the last check in the background.'),
    duration: gauge('rackless_health_check_duration_seconds', 'Duration of the last check in the background.'),
  };
  return {
    /** Replaces the numbers in the registry. Deployments that are not in the list disappear from it. */
    fill: (deployments: readonly DeploymentHealthRecord[]) => {
      for (const each of [cooldowns, ...Object.values(gauges)]) each.reset();
      for (const { modelGroup, modelId, state, cooldowns: cooled, inFlight, check } of deployments) {
        const labels = deploymentLabelsOf(modelGroup, modelId);
        gauges.state.set(labels, state);
        gauges.inFlight.set(labels, inFlight);
        if (cooled > 0) cooldowns.inc(labels, cooled);
        if (check === undefined) continue;
        gauges.isHealthy.set(labels, check.error === null ? 1 : 0);
        gauges.checkedAt.set(labels, check.checkedAt / 1000);
        gauges.duration.set(labels, check.durationMs / 1000);
      }
    },
  };
}
