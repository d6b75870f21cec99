/**
 * `/health`: the results of the checks in the background. Without such checks, the proxy sends a short request to
 * each deployment of the configuration, or to those that the query selects. With
 * `health_check_skip_disabled_background_models`, it sends none to deployments whose `model_info` disables checks in
 * the background. These requests cost tokens, as LiteLLM's do.
 * Probes should use `/health/liveliness`, for which the proxy sends no request.
 */
import type { ProxyState } from '../exchange/exchange.js';
import { shownApiBase } from '../exchange/answer/answer-headers.js';
import { isCheckDisabled } from '../health-checks/background-checks.js';
import { checkModel } from '../health-checks/check.js';
import { mapWithLimit } from '../health-checks/map-with-limit.js';
import type { Deployment } from '../providers/deployment.js';

/** The result for one deployment. */
interface HealthEntry {
  readonly model: string;
  readonly model_id: string;
  /** Absent if `health_check_details` is false. */
  readonly api_base?: string;
  /** The error; absent for a healthy deployment, and if `health_check_details` is false. */
  readonly error?: string;
}

/** The answer of `/health`, in LiteLLM's shape. */
export interface HealthReport {
  readonly healthy_endpoints: readonly HealthEntry[];
  readonly unhealthy_endpoints: readonly HealthEntry[];
  readonly healthy_count: number;
  readonly unhealthy_count: number;
}

/**
 * Returns the results of the checks in the background; without such checks, sends requests and returns their results.
 * Omits deployments without a result.
 * @param deployments the deployments to report. The report lists them in the same order.
 */
export async function healthReport(proxy: ProxyState, deployments: readonly Deployment[]): Promise<HealthReport> {
  const { concurrency, skipsDisabled, background } = proxy.settings.healthChecks;
  if (background !== null) return reportOf(proxy, deployments, (one) => proxy.checks.get(one.id)?.error);
  const checked = skipsDisabled ? deployments.filter((one) => !isCheckDisabled(one)) : deployments;
  const results = await mapWithLimit(checked, concurrency, (deployment) => checkModel(proxy, deployment));
  const errors = new Map(checked.map((deployment, index) => [deployment, results[index]?.error]));
  return reportOf(proxy, checked, (deployment) => errors.get(deployment));
}

/** Makes the report. @param errorOf returns the error; null: healthy; undefined: the deployment was not checked. */
function reportOf(
  { settings }: Pick<ProxyState, 'settings'>,
  deployments: readonly Deployment[],
  errorOf: (deployment: Deployment) => string | null | undefined,
): HealthReport {
  const { showsDetails } = settings.healthChecks;
  const healthy: HealthEntry[] = [];
  const unhealthy: HealthEntry[] = [];
  for (const deployment of deployments) {
    const error = errorOf(deployment);
    if (error === undefined) continue;
    const { provider, upstreamModel, id } = deployment;
    const entry = {
      model: `${provider.name}/${upstreamModel}`,
      ...(showsDetails ? { api_base: shownApiBase(deployment) } : {}),
      model_id: id,
    };
    if (error === null) healthy.push(entry);
    else unhealthy.push(showsDetails ? { ...entry, error } : entry);
  }
  return {
    healthy_endpoints: healthy,
    unhealthy_endpoints: unhealthy,
    healthy_count: healthy.length,
    unhealthy_count: unhealthy.length,
  };
}
