/** The tables of settings about deployments: how the proxy selects them, and what follows a failure. */
import { defaults } from '../defaults.js';
import { boolean, mapping, number, seconds, texts, wholeNumber } from '../setting-types.js';
import { healthRoutingRows } from '../health-rows.js';
import { allowedFails, fallbacks, retryCounts, retryCountsByGroup } from './routing-types.js';
import { affinityChecks, routingStrategy, strategyArgs } from './strategy-types.js';

/** Rows of an entry and of its params. */
export const limitRows = {
  rpm: number(1, 1_000_000_000, {
    name: 'rpm',
    protects: true,
    doc: 'Limit of requests per minute at this proxy. At the limit, the proxy selects other deployments of the group. If all are at their limit, the client gets 429 with `Retry-After`. [Several workers](../guides/keys.md#several-workers) divide the limit.',
  }),
  tpm: number(1, 1_000_000_000_000, {
    name: 'tpm',
    protects: true,
    doc: 'Limit of tokens per minute at this proxy. At the limit, the proxy does the same as for `rpm`. The proxy counts the tokens that the upstream reports when an answer ends. The proxy requests the usage of streams from the upstream, also if the client does not.',
  }),
  maxParallelRequests: wholeNumber(1, 1_000_000, {
    name: 'max_parallel_requests',
    protects: true,
    default: '`default_max_parallel_requests`',
    doc: 'Limit of requests that run at the same time at this proxy. At the limit, the proxy does the same as for `rpm`.',
  }),
};

/** Rows of the params. */
export const orderRows = {
  order: number(0, 1_000_000, {
    name: 'order',
    doc: 'The proxy prefers deployments with a lower number. The proxy uses deployments with a higher number only if none with a lower number is available. Deployments without `order` come last.',
  }),
};

/** Rows of the params. */
export const retryRows = {
  numRetries: wholeNumber(0, 100, {
    name: 'num_retries',
    default: '`num_retries` of `router_settings`',
    doc: 'Maximum number of [retries](#retries) of a request after a failure of this deployment. 0: the client gets the error. `retry_policy` and the header `x-litellm-num-retries` override this number.',
  }),
};

/** The row that all blocks with cooldowns have. */
export const cooldownRows = {
  cooldownTime: number(0, 2_000_000, {
    name: 'cooldown_time',
    default: `${defaults.cooldownSeconds}`,
    doc: 'Seconds of a [cooldown](#cooldowns). 0: no cooldown.',
  }),
};

/** Rows that both `litellm_settings` and `router_settings` have. */
export const failureRows = {
  numRetries: wholeNumber(0, 100, {
    name: 'num_retries',
    default: `${defaults.retries}`,
    doc: 'Maximum number of [retries](#retries) of a request. 0: no retries. The header `x-litellm-num-retries` of a request overrides this number.',
  }),
  allowedFails: wholeNumber(0, 1_000_000, {
    name: 'allowed_fails',
    default: 'see [cooldowns](#cooldowns)',
    doc: 'Number of failures of a deployment in a minute that cause no [cooldown](#cooldowns).',
  }),
  ...cooldownRows,
  fallbacks: fallbacks({
    name: 'fallbacks',
    doc: '[Fallbacks](#fallbacks): model groups for requests that a group cannot serve. Example: `[{gpt-4o: [gpt-4o-mini, claude]}]`. The key `*` stands for all groups that the list does not name.',
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
  routingStrategy: routingStrategy({
    name: 'routing_strategy',
    default: 'simple-shuffle',
    doc: 'How the proxy [chooses](#strategies) among the deployments of a group.',
  }),
  routingStrategyArgs: strategyArgs({
    name: 'routing_strategy_args',
    doc: 'Settings of `latency-based-routing`. `ttl`: latencies of a deployment count until its last request is older than this number of seconds (default: 3600). `lowest_latency_buffer`: a deployment counts as equally fast if its latency is above the lowest one by at most this share (default: 0).',
  }),
  optionalPreCallChecks: affinityChecks({
    name: 'optional_pre_call_checks',
    doc: 'Which requests stay at the same deployment: [`session_affinity`, `deployment_affinity`, `prompt_caching`](#affinity). The proxy accepts other checks of LiteLLM without an effect.',
  }),
  defaultMaxParallelRequests: wholeNumber(1, 1_000_000, {
    name: 'default_max_parallel_requests',
    protects: true,
    doc: 'Default of `max_parallel_requests` for all deployments.',
  }),
  retryPolicy: retryCounts({
    name: 'retry_policy',
    doc: `Other values of \`num_retries\` for some failures. Example: \`{TimeoutErrorRetries: 0, RateLimitErrorRetries: 3}\`. The proxy never repeats a request after BadRequestError and ContentPolicyViolationError.`,
  }),
  modelGroupRetryPolicy: retryCountsByGroup({
    name: 'model_group_retry_policy',
    doc: 'Replaces `retry_policy` for some model groups. Example: `{gpt-4o: {RateLimitErrorRetries: 5}}`.',
  }),
  retryAfter: seconds(
    {
      name: 'retry_after',
      default: '0',
      doc: 'Minimum seconds to wait before the proxy repeats a request at the same deployment.',
    },
    'no wait',
  ),
  retryBudget: number(0, 100, {
    name: 'retry_budget',
    default: `${defaults.retryBudget}`,
    doc: 'Maximum share of retries in the requests of this process. Ten retries per second are always possible. A retry at another deployment does not count if the last request of that deployment did not fail. Not in LiteLLM.',
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
  ...healthRoutingRows,
  modelGroupAlias: mapping({
    name: 'model_group_alias',
    doc: 'Other names of model groups. Example: `{"gpt-4": "gpt-4o"}`. `/v1/models` lists these names, except a hidden name: `{"gpt-4": {"model": "gpt-4o", "hidden": true}}`.',
  }),
};
