/** Resolves the settings of retries and cooldowns. */
import type { CooldownSettings, RetrySettings } from '../../settings.js';
import { defaults } from '../defaults.js';
import type { Block } from '../faults.js';
import type { settingsTable } from '../settings.js';
import type { routerTable } from './router-table.js';

/** Resolves the settings. As in LiteLLM, `router_settings` override `litellm_settings`. */
export function readRetries(
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

/** Resolves the settings of cooldowns, as {@link readRetries}. */
export function readCooldowns(
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
