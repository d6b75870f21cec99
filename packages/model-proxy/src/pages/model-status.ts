/**
 * `/model/status`: state, requests, failures and latencies of each deployment, since the start of the process or of
 * its group of workers.
 */
import type { DeploymentTotals, Times } from '../series.js';
import type { Exchange, ProxyState } from '../exchange/exchange.js';
import type { Metrics } from '../metrics.js';
import type { Deployment } from '../providers/deployment.js';
import { mergeDeployments, type MetricsSnapshot } from '../metrics-snapshot.js';
import { pricesOf } from '../providers/prices.js';
import { deploymentStates } from './deployment-states.js';

/** A state in words. `unknown`: there was no request, and no check whose result counts. */
type State = 'healthy' | 'failing' | 'cooling_down' | 'unknown';

/** The last check in the background. */
interface ShownCheck {
  readonly is_healthy: boolean;
  /** Absent if the check succeeded, for clients with a virtual key, and if `health_check_details` is false. */
  readonly error?: string;
  /** RFC 3339. */
  readonly checked_at: string;
  readonly duration_ms: number;
}

/** A deployment in the answer. */
interface ModelStatus {
  readonly model_name: string;
  readonly model_id: string;
  /** Provider and upstream's name, such as `openai/gpt-4o`. */
  readonly model: string;
  readonly state: State;
  /** Seconds until the end of the cooldown in this worker; 0: there is none. */
  readonly cooldown_seconds: number;
  /** null: there was no check. */
  readonly health_check: ShownCheck | null;
  readonly in_flight_requests: number;
  readonly requests: number;
  /** Failed attempts by status and kind. */
  readonly failures: DeploymentTotals['failures'];
  readonly latency_ms: Times | null;
  readonly first_token_ms: Times | null;
  /** US dollars; null: the configuration has no price. */
  readonly input_cost_per_token: number | null;
  readonly output_cost_per_token: number | null;
}

/**
 * Describes deployments.
 * @param deployments those that the client may use.
 * @param others the numbers of the other workers.
 */
export function modelStatus(
  { proxy, client }: Pick<Exchange, 'proxy' | 'client'>,
  deployments: readonly Deployment[],
  metrics: Pick<Metrics, 'totalsOf'>,
  others: readonly MetricsSnapshot[],
): readonly ModelStatus[] {
  const merged = mergeDeployments([{ deployments: deploymentStates(proxy) }, ...others]);
  const states = new Map(merged.map((state) => [state.modelId, state]));
  const showsErrors = client?.key === undefined && proxy.settings.healthChecks.showsDetails;
  return deployments.map((deployment) => {
    const { id, modelName, provider, upstreamModel } = deployment;
    const { requests, failures, latencyMs, firstTokenMs } = metrics.totalsOf(id, others);
    const prices = pricesOf(deployment);
    return {
      model_name: modelName,
      model_id: id,
      model: `${provider.name}/${upstreamModel}`,
      state: stateOf(proxy, id, requests > 0, states.get(id)?.state ?? 0),
      cooldown_seconds: Math.ceil(proxy.health.coolingMs(id) / 1000),
      health_check: checkOf(proxy, id, showsErrors),
      in_flight_requests: states.get(id)?.inFlight ?? 0,
      requests,
      failures,
      latency_ms: latencyMs,
      first_token_ms: firstTokenMs,
      input_cost_per_token: prices.inputToken,
      output_cost_per_token: prices.outputToken,
    };
  });
}

/** Returns the state in words. @param state 0: healthy, 1: the last request failed, 2: cools down, as in LiteLLM. */
function stateOf({ health, checks }: ProxyState, id: string, hasRequests: boolean, state: 0 | 1 | 2): State {
  if (state === 2) return 'cooling_down';
  // A request that succeeds removes the failed check. So a stored failed check is newer than the last success.
  if (state === 1 || health.failedChecks.isDown(id)) return 'failing';
  return hasRequests || checks.get(id)?.error === null ? 'healthy' : 'unknown';
}

function checkOf({ checks }: ProxyState, id: string, showsErrors: boolean): ShownCheck | null {
  const check = checks.get(id);
  if (check === undefined) return null;
  const { error, checkedAt, durationMs } = check;
  return {
    is_healthy: error === null,
    ...(error !== null && showsErrors ? { error } : {}),
    checked_at: new Date(checkedAt).toISOString(),
    duration_ms: durationMs,
  };
}
