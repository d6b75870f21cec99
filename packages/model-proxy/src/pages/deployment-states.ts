/** Reads the states of deployments for the metrics and `/model/status`. */
import type { ProxyState } from '../exchange/exchange.js';
import type { DeploymentHealthRecord } from '../deployment-metrics.js';
import type { MetricsSnapshot } from '../metrics-snapshot.js';

/** Returns the states of all configured deployments, as this worker knows them. */
export function deploymentStates({
  settings,
  health,
  checks,
  limits,
}: Pick<ProxyState, 'settings' | 'health' | 'checks' | 'limits'>): readonly DeploymentHealthRecord[] {
  return settings.deployments.map(({ id, modelName }) => ({
    modelGroup: modelName,
    modelId: id,
    state: health.coolingMs(id) > 0 ? 2 : health.isSuspect(id) ? 1 : 0,
    check: checks.get(id),
    cooldowns: health.states.get(id)?.cooldowns ?? 0,
    inFlight: limits.inFlightOf(id),
  }));
}

/** Returns the state that a scrape shows in addition to the counted requests. */
export function scrapedState(proxy: ProxyState) {
  return { deployments: deploymentStates(proxy), queued: proxy.overload.queued };
}

/** Returns the metrics of the other workers of the group, also of ended ones; empty: there are none. */
export async function siblingSnapshots({ siblings }: ProxyState): Promise<readonly MetricsSnapshot[]> {
  return siblings === null ? [] : siblings.snapshots();
}
