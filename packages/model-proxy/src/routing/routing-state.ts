/** The state of routing, which all requests share. It survives reloads, and lives as long as the process. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { CheckRecord } from './check-record.js';
import { createDeploymentHealth, type DeploymentHealth } from './deployment-health.js';
import { hostTimeMs } from './host-clock.js';
import { createLatencies, type Latencies } from './latencies.js';
import { createLimits, type Limits } from './limits.js';
import type { Siblings } from './siblings.js';
import { createRetryBudget, type RetryBudget } from './retry-budget.js';

/** Counters and results of requests, by deployment id. */
export interface RoutingState {
  readonly limits: Limits;
  readonly latencies: Latencies;
  readonly health: DeploymentHealth;
  /** Results of the last checks in the background. */
  readonly checks: Map<string, CheckRecord>;
  readonly retryBudget: RetryBudget;
}

/**
 * Creates the state of a process without requests. Logs cooldowns.
 * @param siblings null: there are no other workers.
 */
export function createRoutingState(log: Pick<Log, 'warn'>, siblings: Siblings | null): RoutingState {
  return {
    limits: createLimits(Date.now, siblings?.partOf),
    latencies: createLatencies(),
    health: createDeploymentHealth(
      (id, cooldownMs, failure) =>
        log.warn('a deployment cools down', { deployment: id, seconds: cooldownMs / 1000, failure }),
      hostTimeMs,
      (event) => siblings?.publish(event),
    ),
    checks: new Map(),
    retryBudget: createRetryBudget(),
  };
}
