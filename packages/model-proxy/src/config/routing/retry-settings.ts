/** Resolves the settings of retries. */
import type { RetrySettings } from '../../settings.js';
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
