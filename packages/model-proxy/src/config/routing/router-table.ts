/** The tables of settings about deployments: how the proxy selects them, and what follows a failure. */
import { defaults } from '../defaults.js';
import { boolean, mapping, number, seconds, texts, wholeNumber } from '../setting-types.js';
import { allowedFails, fallbacks, retryCounts, retryCountsByGroup } from './routing-types.js';

/** The row that all blocks with cooldowns have. */
export const cooldownRows = {
  cooldownTime: number(0, 2_000_000, {
    name: 'cooldown_time',
    default: `${defaults.cooldownSeconds}`,
    doc: 'Seconds of a [cooldown](#cooldowns). 0: no cooldown.',
  }),
};

/** Rows that `litellm_settings` and `router_settings` have. */
export const failureRows = {
  numRetries: wholeNumber(0, 100, {
    name: 'num_retries',
    default: `${defaults.retries}`,
    doc: 'Maximum number of [retries](#retries) of a request. 0: no retries. The header `x-litellm-num-retries` of a request overrides it.',
  }),
  allowedFails: wholeNumber(0, 1_000_000, {
    name: 'allowed_fails',
    default: 'see [cooldowns](#cooldowns)',
    doc: 'Number of failures of a deployment in a minute that cause no [cooldown](#cooldowns).',
  }),
  ...cooldownRows,
  fallbacks: fallbacks({
    name: 'fallbacks',
    doc: '[Fallbacks](#fallbacks): model groups for requests that a group cannot serve. Example: `[{gpt-4o: [gpt-4o-mini, claude]}]`. The group `*` stands for all others.',
  }),
  contextWindowFallbacks: fallbacks({
    name: 'context_window_fallbacks',
    doc: 'As `fallbacks`, for prompts that are too long for the model.',
  }),
  contentPolicyFallbacks: fallbacks({
    name: 'content_policy_fallbacks',
    doc: 'As `fallbacks`, for content that the upstream refuses.',
  }),
  defaultFallbacks: texts({
    name: 'default_fallbacks',
    doc: 'Fallbacks of all groups that `fallbacks` does not name.',
  }),
  maxFallbacks: wholeNumber(0, 100, {
    name: 'max_fallbacks',
    default: `${defaults.maxFallbacks}`,
    doc: 'Maximum number of fallbacks for a request.',
  }),
};

/**
 * The table of `router_settings`. model-group-alias.ts checks the values of `model_group_alias`,
 * which have two forms.
 */
export const routerTable = {
  timeout: seconds({
    name: 'timeout',
    default: 'request_timeout',
    doc: 'Default for all deployments.',
  }),
  streamTimeout: seconds({
    name: 'stream_timeout',
    default: '`first_byte_timeout`, then `timeout`',
    doc: 'Default for all deployments.',
  }),
  ...failureRows,
  retryPolicy: retryCounts({
    name: 'retry_policy',
    doc: `Other values of \`num_retries\` for some failures. Example: \`{TimeoutErrorRetries: 0, RateLimitErrorRetries: 3}\`. The proxy never repeats a request after BadRequestError and ContentPolicyViolationError.`,
  }),
  modelGroupRetryPolicy: retryCountsByGroup({
    name: 'model_group_retry_policy',
    doc: 'Replaces `retry_policy` for some model groups. Example: `{gpt-4o: {RateLimitErrorRetries: 5}}`.',
  }),
  retryAfter: seconds({
    name: 'retry_after',
    default: '0',
    doc: 'Minimum seconds to wait before the proxy repeats a request at the same deployment.',
  }),
  retryBudget: number(0, 100, {
    name: 'retry_budget',
    default: `${defaults.retryBudget}`,
    doc: 'Maximum share of retries in the requests of this process. Ten retries per second are always possible. Retries at a deployment whose last request succeeded do not count. Not in LiteLLM.',
  }),
  disableCooldowns: boolean({
    name: 'disable_cooldowns',
    default: 'false',
    doc: 'Whether deployments that fail stay in use. There are no [cooldowns](#cooldowns) then.',
  }),
  allowedFailsPolicy: allowedFails({
    name: 'allowed_fails_policy',
    doc: 'Other values of `allowed_fails` for some failures. Example: `{TimeoutErrorAllowedFails: 10}`.',
  }),
  modelGroupAlias: mapping({
    name: 'model_group_alias',
    doc: 'Other names of model groups. Example: `{"gpt-4": "gpt-4o"}`. `/v1/models` lists them. It does not list a hidden name: `{"gpt-4": {"model": "gpt-4o", "hidden": true}}`.',
  }),
};
