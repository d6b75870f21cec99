/**
 * Renders the effective configuration as YAML, for `--validate_config`. Secrets are masked. Values that no setting of
 * the file has, such as the port, are comments. The text leaves out telemetry, the workers and the format of the log.
 */
import { maskPath, maskUrl } from '@rackless/daemon/text/mask-url.js';
import type { Deployment, Timeouts } from '../providers/deployment.js';
import type { AwsToken, TokenSettings } from '../providers/token.js';
import { MASK, maskSecrets, secretHeader, secretParameter } from '../secret-names.js';
import type {
  CooldownSettings,
  FallbackSettings,
  GroupFallbacks,
  HealthCheckSettings,
  ListenSettings,
  OverloadSettings,
  RetrySettings,
  StrategySettings,
  WebhookSettings,
} from '../settings.js';
import type { LoadedConfig } from './load.js';
import { defaults } from './defaults.js';
import { allowedFailsPolicyOf, retryPolicyOf } from './routing/routing-types.js';
import { checksOf } from './routing/strategy-types.js';

/** Renders a value as YAML in one line. JSON is valid YAML. */
const inline = (value: unknown) => JSON.stringify(value);

/** Converts milliseconds to seconds. No limit (null) becomes 0, as in a configuration file. */
const seconds = (ms: number | null) => (ms === null ? 0 : ms / 1000);

function timeoutLines(plain: Timeouts, stream: Timeouts): readonly string[] {
  return [
    `timeout: ${seconds(plain.totalMs)}`,
    ...(plain.firstByteMs === null ? [] : [`first_byte_timeout: ${seconds(plain.firstByteMs)}`]),
    `stream_timeout: ${seconds(stream.firstByteMs)}`,
    `connect_timeout: ${seconds(plain.connectMs)}`,
    `idle_timeout: ${seconds(plain.idleMs)}`,
  ];
}

function limitLines({ rpm, tpm, maxParallelRequests }: Deployment): readonly string[] {
  return [
    ...(rpm === null ? [] : [`rpm: ${rpm}`]),
    ...(tpm === null ? [] : [`tpm: ${tpm}`]),
    ...(maxParallelRequests === null ? [] : [`max_parallel_requests: ${maxParallelRequests}`]),
  ];
}

function deploymentLines(deployment: Deployment): readonly string[] {
  const { tls, extraHeaders, extraBody, additionalDropParams, allowedOpenaiParams, modelInfo } = deployment;
  const params = [
    `model: ${inline(`${deployment.provider.name}/${deployment.upstreamModel}`)}`,
    ...addressLines(deployment),
    `api_key: ${deployment.apiKey === null ? 'null' : inline(MASK)}`,
    ...(deployment.token === undefined ? [] : tokenLines(deployment.token.settings)),
    `ssl_verify: ${inline(tls.verify)}`,
    ...(tls.clientCertificate === null
      ? []
      : [
          `ssl_certificate: ${inline(tls.clientCertificate.certFile)}`,
          `ssl_certificate_key: ${inline(tls.clientCertificate.keyFile)}`,
        ]),
    ...timeoutLines(deployment.timeouts, deployment.streamTimeouts),
    `drop_params: ${deployment.dropParams}`,
    ...(additionalDropParams.length === 0 ? [] : [`additional_drop_params: ${inline(additionalDropParams)}`]),
    ...(allowedOpenaiParams.length === 0 ? [] : [`allowed_openai_params: ${inline(allowedOpenaiParams)}`]),
    ...(Object.keys(extraHeaders).length === 0
      ? []
      : [`extra_headers: ${inline(maskSecrets(extraHeaders, secretHeader))}`]),
    ...(Object.keys(extraBody).length === 0 ? [] : [`extra_body: ${inline(maskSecrets(extraBody, secretHeader))}`]),
    ...limitLines(deployment),
    ...(deployment.retries === null ? [] : [`num_retries: ${deployment.retries}`]),
    ...(deployment.cooldownMs === null ? [] : [`cooldown_time: ${deployment.cooldownMs / 1000}`]),
    `weight: ${deployment.weight ?? defaults.weight}`,
    ...(deployment.order === null ? [] : [`order: ${deployment.order}`]),
    ...(deployment.useInPassThrough ? ['use_in_pass_through: true'] : []),
    ...Object.entries(maskSecrets(deployment.defaults, secretParameter)).map(
      ([name, value]) => `${name}: ${inline(value)}`,
    ),
  ];
  return [
    `  - model_name: ${inline(deployment.modelName)}`,
    '    litellm_params:',
    ...params.map((line) => `      ${line}`),
    `    model_info: ${inline({ ...maskSecrets(modelInfo, secretParameter), id: deployment.id })}`,
  ];
}

/** Renders the address. Masks its query, which may contain secrets, but shows the version of Azure's API. */
function addressLines({ apiBase, query = '' }: Deployment): readonly string[] {
  const members = new URLSearchParams(query);
  const version = members.get('api-version');
  members.delete('api-version');
  return [
    `api_base: ${inline(maskUrl(members.size === 0 ? apiBase : `${apiBase}?${members.toString()}`))}`,
    ...(version === null ? [] : [`api_version: ${inline(version)}`]),
  ];
}

/**
 * Renders a source of access tokens. It is a comment if no setting contains it: Google's default credentials, and a
 * URL that the proxy makes of several settings.
 */
function tokenLines(token: TokenSettings): readonly string[] {
  if (token.kind === 'google') {
    const { credentials } = token;
    if (credentials === null) return [`# access tokens of ${token.issuer}: Application Default Credentials`];
    return [`vertex_credentials: ${inline(credentials.trimStart().startsWith('{') ? MASK : credentials)}`];
  }
  if (token.kind === 'aws') return awsLines(token);
  const { identityMember } = token;
  const identity =
    identityMember === undefined || !('file' in identityMember[1])
      ? {}
      : { [identityMember[0]]: identityMember[1].file };
  const form = { ...maskSecrets(token.form, secretHeader), ...identity };
  return [`# access tokens of ${token.issuer}: POST ${maskUrl(token.url)} ${inline(form)}`];
}

/** Renders the credentials of AWS. Those of the host are a comment, because they are not settings. */
function awsLines({ region, source, role, stsEndpoint }: AwsToken): readonly string[] {
  const { keys, profile, webIdentity, places } = source;
  const assumed = role ?? webIdentity?.role ?? null;
  const token = webIdentity === undefined ? undefined : 'file' in webIdentity.token ? webIdentity.token.file : MASK;
  return [
    `aws_region_name: ${inline(region)}`,
    ...(keys === undefined ? [] : [`aws_access_key_id: ${inline(MASK)}`, `aws_secret_access_key: ${inline(MASK)}`]),
    ...(profile === undefined ? [] : [`aws_profile_name: ${inline(profile)}`]),
    ...(places === undefined ? [] : ['# access keys of AWS: those of the host']),
    ...(token === undefined ? [] : [`aws_web_identity_token: ${inline(token)}`]),
    ...(assumed === null
      ? []
      : [`aws_role_name: ${inline(assumed.arn)}`, `aws_session_name: ${inline(assumed.sessionName)}`]),
    ...((assumed?.externalId ?? null) === null ? [] : [`aws_external_id: ${inline(MASK)}`]),
    ...(stsEndpoint === null ? [] : [`aws_sts_endpoint: ${inline(maskUrl(stsEndpoint))}`]),
  ];
}

function storeLines(store: ListenSettings['store']): readonly string[] {
  if (store === null) return [];
  const { place, keepDays } = store;
  return [
    `  store: ${inline('url' in place ? maskUrl(place.url) : place.folder)}`,
    ...(keepDays === null ? [] : [`  maximum_spend_logs_retention_period: ${keepDays}d`]),
  ];
}

function retryLines({ retries, policy, groupPolicies, minWaitMs, budget }: RetrySettings): readonly string[] {
  const groups = [...groupPolicies].map(([group, own]) => [group, retryPolicyOf(own)]);
  return [
    `  num_retries: ${retries}`,
    ...(policy.size === 0 ? [] : [`  retry_policy: ${inline(retryPolicyOf(policy))}`]),
    ...(groups.length === 0 ? [] : [`  model_group_retry_policy: ${inline(Object.fromEntries(groups))}`]),
    ...(minWaitMs === 0 ? [] : [`  retry_after: ${minWaitMs / 1000}`]),
    `  retry_budget: ${budget}`,
  ];
}

function cooldownLines({ isDisabled, cooldownMs, allowedFails, policy }: CooldownSettings): readonly string[] {
  if (isDisabled) return ['  disable_cooldowns: true'];
  return [
    `  cooldown_time: ${cooldownMs / 1000}`,
    ...(allowedFails === null ? [] : [`  allowed_fails: ${allowedFails}`]),
    ...(policy.size === 0 ? [] : [`  allowed_fails_policy: ${inline(allowedFailsPolicyOf(policy))}`]),
  ];
}

function fallbackLines({ general, contextWindow, contentPolicy, max }: FallbackSettings): readonly string[] {
  const line = (name: string, groups: GroupFallbacks) =>
    groups.size === 0 ? [] : [`  ${name}: ${inline([...groups].map(([group, names]) => ({ [group]: names })))}`];
  return [
    ...line('fallbacks', general),
    ...line('context_window_fallbacks', contextWindow),
    ...line('content_policy_fallbacks', contentPolicy),
    ...(general.size + contextWindow.size + contentPolicy.size === 0 ? [] : [`  max_fallbacks: ${max}`]),
  ];
}

function overloadLines(overload: OverloadSettings | null): readonly string[] {
  if (overload === null) return [];
  const { maxParallel, maxInFlight, maxQueued, queueMs } = overload;
  const parallel = maxParallel === null ? [] : [`  global_max_parallel_requests: ${maxParallel}`];
  if (maxInFlight === null) return parallel;
  return [
    ...parallel,
    `  max_in_flight_requests_per_worker: ${maxInFlight}`,
    `  max_queued_requests_per_worker: ${maxQueued}`,
    `  admission_queue_timeout_seconds: ${queueMs / 1000}`,
  ];
}

function healthLines({ showsDetails, concurrency, skipsDisabled, background }: HealthCheckSettings): readonly string[] {
  const always = [
    ...(showsDetails ? [] : ['  health_check_details: false']),
    ...(skipsDisabled ? ['  health_check_skip_disabled_background_models: true'] : []),
  ];
  if (background === null) return always;
  const { intervalMs, method, modelGroups, steersRouting, staleMs, ignoresTransient } = background;
  return [
    '  background_health_checks: true',
    `  health_check_interval: ${intervalMs / 1000}`,
    `  health_check_method: ${method}`,
    `  health_check_concurrency: ${concurrency}`,
    `  health_check_staleness_threshold: ${staleMs / 1000}`,
    `  enable_health_check_routing: ${steersRouting}`,
    `  health_check_ignore_transient_errors: ${ignoresTransient}`,
    ...(modelGroups === null ? [] : [`  background_health_check_model_groups: ${inline([...modelGroups])}`]),
    ...always,
  ];
}

function strategyLines({ name, ttlMs, latencyBuffer, affinity }: StrategySettings): readonly string[] {
  const args = { ttl: ttlMs / 1000, lowest_latency_buffer: latencyBuffer };
  return [
    `  routing_strategy: ${name}`,
    ...(name === 'latency-based-routing' ? [`  routing_strategy_args: ${inline(args)}`] : []),
    ...(affinity.size === 0 ? [] : [`  optional_pre_call_checks: ${inline(checksOf(affinity))}`]),
  ];
}

function webhookLines(webhooks: readonly WebhookSettings[]): readonly string[] {
  const lines = webhooks.map(({ name, url, headers, outcomes, format, batchSize, flushMs, ...rest }) => {
    const settings = {
      callback_type: 'generic_api',
      endpoint: maskPath(url),
      headers: Object.fromEntries(Object.keys(headers).map((header) => [header, MASK])),
      event_types: [...outcomes].map((outcome) => `llm_api_${outcome}`),
      log_format: format,
      batch_size: batchSize,
      flush_interval: flushMs / 1000,
      max_retries: rest.maxRetries,
      retry_delay: rest.retryDelayMs / 1000,
      timeout: rest.timeoutMs / 1000,
    };
    return `  ${inline(name)}: ${inline(settings)}`;
  });
  return lines.length === 0 ? [] : ['callback_settings:', ...lines];
}

/** Renders the whole text, with a newline at the end. */
export function renderEffectiveConfig({ listen, proxy }: Pick<LoadedConfig, 'listen' | 'proxy'>): string {
  const { host, port, tls, logLevel, drainDelayMs, drainMs } = listen;
  const scheme = tls === null ? 'http' : 'https';
  const aliases = [...proxy.modelGroupAlias].map(([alias, model]) => [
    alias,
    proxy.hiddenAliases?.has(alias) === true ? { model, hidden: true } : model,
  ]);
  return [
    `# ${scheme}, ${host === '' ? 'every address' : host} port ${port}; log level ${logLevel}; drain timeout ${drainMs / 1000} s`,
    ...(drainDelayMs === 0 ? [] : [`# drain delay ${drainDelayMs / 1000} s`]),
    ...(tls === null ? [] : [`# certificate ${tls.certFile}, key ${tls.keyFile}`]),
    proxy.deployments.length === 0 ? 'model_list: []' : 'model_list:',
    ...proxy.deployments.flatMap(deploymentLines),
    ...[...(proxy.unserved ?? [])].map(([name, reason]) => `  # ${inline(name)} is not served: ${reason}`),
    'litellm_settings:',
    `  model_name_in_response: ${proxy.modelNameInResponse}`,
    `  fill_null_fields: ${proxy.fillNullFields}`,
    ...(proxy.hidesBodies === true ? ['  turn_off_message_logging: true'] : []),
    'general_settings:',
    `  master_key: ${proxy.clientKeys === null ? 'null' : inline(MASK)}`,
    `  always_include_stream_usage: ${proxy.alwaysIncludeStreamUsage}`,
    `  forward_client_headers_to_llm_api: ${proxy.forwardClientHeaders}`,
    ...(proxy.allowedIps === null ? [] : [`  allowed_ips: ${inline(proxy.allowedIps)}`]),
    ...(proxy.useXForwardedFor ? ['  use_x_forwarded_for: true'] : []),
    ...(proxy.allowedRoutes === null ? [] : [`  allowed_routes: ${inline(proxy.allowedRoutes)}`]),
    ...(proxy.adminOnlyRoutes.length === 0 ? [] : [`  admin_only_routes: ${inline(proxy.adminOnlyRoutes)}`]),
    ...storeLines(listen.store),
    ...(listen.budgetAlerts === null ? [] : [`  alerting: ["webhook"] # to ${maskPath(listen.budgetAlerts.url)}`]),
    ...(proxy.rejectClientTags === true ? ['  reject_clientside_metadata_tags: true'] : []),
    ...(proxy.enforceUserParam ? ['  enforce_user_param: true'] : []),
    ...(proxy.forwardedPaths.size === 0 ? [] : [`  forwarded_paths: ${inline([...proxy.forwardedPaths])}`]),
    ...overloadLines(proxy.overload),
    ...healthLines(proxy.healthChecks),
    `  max_request_size_mb: ${proxy.maxRequestBytes / 2 ** 20}`,
    `  max_response_size_mb: ${proxy.maxResponseBytes / 2 ** 20}`,
    ...webhookLines(listen.webhooks),
    'router_settings:',
    ...strategyLines(proxy.strategy),
    ...retryLines(proxy.retry),
    ...cooldownLines(proxy.cooldown),
    ...fallbackLines(proxy.fallback),
    ...(aliases.length === 0 ? [] : [`  model_group_alias: ${inline(Object.fromEntries(aliases))}`]),
    '',
  ].join('\n');
}
