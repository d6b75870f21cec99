/** Resolves the settings of routing, retries, cooldowns, fallbacks, overload and health checks. */
import type {
  CooldownSettings,
  FallbackSettings,
  HealthCheckSettings,
  OverloadSettings,
  RetrySettings,
  StrategySettings,
} from '../../settings.js';
import { defaults } from '../defaults.js';
import type { Block } from '../faults.js';
import type { generalTable, settingsTable } from '../settings.js';
import type { routerTable } from './router-table.js';

/** Resolves the settings of retries. As in LiteLLM, `router_settings` override `litellm_settings`. */
function readRetries(
  { values: router }: Block<typeof routerTable>,
  { values: settings }: Block<typeof settingsTable>,
): RetrySettings {
  return {
    retries: router.numRetries ?? settings.numRetries ?? defaults.retries,
    policy: router.retryPolicy ?? new Map(),
    groupPolicies: router.modelGroupRetryPolicy ?? new Map(),
    minWaitMs: (router.retryAfter ?? 0) * 1000,
    budget: router.retryBudget ?? defaults.retryBudget,
  };
}

/** Resolves the settings of cooldowns, with the precedence of {@link readRetries}. */
function readCooldowns(
  { values: router }: Block<typeof routerTable>,
  { values: settings }: Block<typeof settingsTable>,
): CooldownSettings {
  return {
    isDisabled: router.disableCooldowns ?? false,
    cooldownMs: (router.cooldownTime ?? settings.cooldownTime ?? defaults.cooldownSeconds) * 1000,
    allowedFails: router.allowedFails ?? settings.allowedFails ?? null,
    policy: router.allowedFailsPolicy ?? new Map(),
  };
}

/**
 * Resolves the fallbacks, with the precedence of {@link readRetries}. `default_fallbacks` become those of the group
 * `*`, unless `fallbacks` has this group.
 */
function readFallbackSettings(
  { values: router }: Block<typeof routerTable>,
  { values: settings }: Block<typeof settingsTable>,
): FallbackSettings {
  const general = new Map(router.fallbacks ?? settings.fallbacks);
  const common = router.defaultFallbacks ?? settings.defaultFallbacks;
  if (common !== undefined && !general.has('*')) general.set('*', common);
  return {
    general,
    contextWindow: router.contextWindowFallbacks ?? settings.contextWindowFallbacks ?? new Map(),
    contentPolicy: router.contentPolicyFallbacks ?? settings.contentPolicyFallbacks ?? new Map(),
    max: router.maxFallbacks ?? settings.maxFallbacks ?? defaults.maxFallbacks,
  };
}

/** Resolves the strategy with its arguments, and which requests stay at a deployment. */
function readStrategy({ values: router }: Block<typeof routerTable>): StrategySettings {
  const { ttl, lowest_latency_buffer: latencyBuffer } = router.routingStrategyArgs ?? {};
  return {
    name: router.routingStrategy ?? 'simple-shuffle',
    ttlMs: (ttl ?? defaults.latencySeconds) * 1000,
    latencyBuffer: latencyBuffer ?? 0,
    affinity: router.optionalPreCallChecks ?? new Set(),
  };
}

/** Resolves the limits of parallel requests; null: none. */
function readOverload({ values }: Block<typeof generalTable>): OverloadSettings | null {
  const { globalMaxParallel, maxInFlight, maxQueued, queueTimeout } = values;
  if (maxInFlight === undefined && globalMaxParallel === undefined) return null;
  return {
    maxParallel: globalMaxParallel ?? null,
    maxInFlight: maxInFlight ?? null,
    maxQueued: maxQueued ?? maxInFlight ?? 0,
    queueMs: (queueTimeout ?? defaults.queueSeconds) * 1000,
  };
}

/** Resolves the settings of health checks. `router_settings` override `general_settings` if both have a setting. */
function readHealthChecks(
  { values: general }: Block<typeof generalTable>,
  { values: router }: Block<typeof routerTable>,
): HealthCheckSettings {
  const { healthCheckModelGroups, healthCheckConcurrency } = general;
  const intervalMs = (general.healthCheckInterval ?? defaults.healthCheckIntervalSeconds) * 1000;
  const staleness = router.healthCheckStaleness ?? general.healthCheckStaleness;
  const background = {
    intervalMs,
    method: general.healthCheckMethod ?? 'models',
    modelGroups: healthCheckModelGroups === undefined ? null : new Set(healthCheckModelGroups),
    steersRouting: router.enableHealthCheckRouting ?? general.enableHealthCheckRouting ?? false,
    staleMs: staleness === undefined ? 2 * intervalMs : staleness * 1000,
    ignoresTransient: router.healthCheckIgnoreTransient ?? general.healthCheckIgnoreTransient ?? false,
  };
  return {
    showsDetails: general.healthCheckDetails ?? true,
    concurrency: healthCheckConcurrency ?? defaults.healthCheckConcurrency,
    skipsDisabled: general.healthCheckSkipDisabled ?? false,
    background: general.backgroundHealthChecks === true ? background : null,
  };
}

/** Resolves all settings about routing, retries, cooldowns, fallbacks, overload and health checks. */
export function readRoutingSettings(
  router: Block<typeof routerTable>,
  settings: Block<typeof settingsTable>,
  general: Block<typeof generalTable>,
) {
  return {
    overload: readOverload(general),
    strategy: readStrategy(router),
    retry: readRetries(router, settings),
    cooldown: readCooldowns(router, settings),
    fallback: readFallbackSettings(router, settings),
    healthChecks: readHealthChecks(general, router),
  };
}
