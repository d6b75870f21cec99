/**
 * The complete configuration as typed values. config/ makes it, and all other modules read it. It
 * has no defaults: these are in config/.
 */
import type { FailureKind } from './errors/failure-kind.js';
import type { Deployment } from './providers/deployment.js';

/** Environment variables: `process.env` or a substitute. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The content of the member `model` in answers: the name with its provider
 * (`hosted_vllm/gpt-oss-120b`), the upstream's name (`gpt-oss-120b`), or the name that the client
 * requested.
 */
export type ModelNameInResponse = 'provider' | 'upstream' | 'requested';

/** Methods to choose among the deployments of a group, with LiteLLM's names. */
export type RoutingStrategy =
  'simple-shuffle' | 'least-busy' | 'usage-based-routing' | 'latency-based-routing' | 'cost-based-routing';

/**
 * Feature of a request that keeps it at one deployment: its session header, its user, or the beginning of its
 * prompt.
 */
export type AffinityKind = 'session' | 'user' | 'prompt';

/** Settings of the choice among deployments. */
export interface StrategySettings {
  readonly name: RoutingStrategy;
  /** How long latencies count. */
  readonly ttlMs: number;
  /** Deployments whose latency is above the lowest one by at most this share count as equally fast. */
  readonly latencyBuffer: number;
  /** Empty: no affinity. */
  readonly affinity: ReadonlySet<AffinityKind>;
}

/** Settings of retries after failures of upstreams. */
export interface RetrySettings {
  /** `num_retries`: the maximum for each request. */
  readonly retries: number;
  /** `retry_policy`: other maximums for some failures. */
  readonly policy: ReadonlyMap<FailureKind, number>;
  /** `model_group_retry_policy`: replaces `retry_policy` for some model groups. */
  readonly groupPolicies: ReadonlyMap<string, ReadonlyMap<FailureKind, number>>;
  /** `retry_after`: minimum wait before a request is repeated at the same deployment. */
  readonly minWaitMs: number;
  /** `retry_budget`: maximum share of retries in the traffic. */
  readonly budget: number;
}

/** Settings of cooldowns after failures of deployments. */
export interface CooldownSettings {
  /** LiteLLM's `disable_cooldowns`. */
  readonly isDisabled: boolean;
  /** LiteLLM's `cooldown_time`. */
  readonly cooldownMs: number;
  /** `allowed_fails`: how many failures a deployment may have in a minute without a cooldown; null: not set. */
  readonly allowedFails: number | null;
  /** `allowed_fails_policy`: other values for some failures. */
  readonly policy: ReadonlyMap<FailureKind, number>;
}

/** The fallbacks of each model group, in order; `*` stands for all groups without their own. */
export type GroupFallbacks = ReadonlyMap<string, readonly string[]>;

/** Model groups that can get a request after another group has failed. */
export interface FallbackSettings {
  /** `fallbacks`, and `default_fallbacks` as those of `*`. */
  readonly general: GroupFallbacks;
  /** `context_window_fallbacks`: for prompts that are too long. */
  readonly contextWindow: GroupFallbacks;
  /** `content_policy_fallbacks`: for content that the upstream refuses. */
  readonly contentPolicy: GroupFallbacks;
  /** `max_fallbacks`: the maximum for each request. */
  readonly max: number;
}

/** Limits of the requests of the process. */
export interface OverloadSettings {
  /** `global_max_parallel_requests`: more requests are rejected at once; null: no such limit. */
  readonly maxParallel: number | null;
  /** `max_in_flight_requests_per_worker`: more requests wait; null: no such limit. */
  readonly maxInFlight: number | null;
  /** `max_queued_requests_per_worker`: how many requests may wait. */
  readonly maxQueued: number;
  /** `admission_queue_timeout_seconds`: how long a request waits. */
  readonly queueMs: number;
}

/** Settings of checks in the background. */
export interface BackgroundCheckSettings {
  /** LiteLLM's `health_check_interval`. */
  readonly intervalMs: number;
  /** `health_check_method`: by the list of the upstream's models, or by a short request to the model. */
  readonly method: 'models' | 'completion';
  /** `background_health_check_model_groups`; null: all groups. */
  readonly modelGroups: ReadonlySet<string> | null;
  /** `enable_health_check_routing`: whether requests prefer deployments whose checks succeed. */
  readonly steersRouting: boolean;
  /** `health_check_staleness_threshold`: how long a failed check counts. */
  readonly staleMs: number;
  /** `health_check_ignore_transient_errors`: whether 408 and 429 do not count. */
  readonly ignoresTransient: boolean;
}

/** Settings of health checks. */
export interface HealthCheckSettings {
  /** `health_check_details`: whether `/health` shows addresses and errors. */
  readonly showsDetails: boolean;
  /** `health_check_concurrency`: maximum number of checks at the same time. */
  readonly concurrency: number;
  /**
   * `health_check_skip_disabled_background_models`: whether checks that a client requests also leave
   * out deployments that are excluded from checks in the background.
   */
  readonly skipsDisabled: boolean;
  /** null: no checks in the background. */
  readonly background: BackgroundCheckSettings | null;
}

/** Settings that a reload can change. */
export interface ProxySettings {
  readonly deployments: readonly Deployment[];
  /** `router_settings.model_group_alias`: public name → model group. */
  readonly modelGroupAlias: ReadonlyMap<string, string>;
  /** Aliases that `/v1/models` does not list. */
  readonly hiddenAliases?: ReadonlySet<string>;
  /**
   * Public names of `model_list` that cannot be served, with the reason:
   * `bedrock has its own API, which is not implemented`.
   */
  readonly unserved?: ReadonlyMap<string, string>;
  /**
   * OpenAI with the key from the environment, for raw requests only; null or absent without such a
   * key.
   */
  readonly environmentDeployment?: Deployment | null;
  /** null: the number of requests has no limit. */
  readonly overload: OverloadSettings | null;
  readonly strategy: StrategySettings;
  readonly retry: RetrySettings;
  readonly cooldown: CooldownSettings;
  readonly fallback: FallbackSettings;
  readonly healthChecks: HealthCheckSettings;
  readonly modelNameInResponse: ModelNameInResponse;
  /** Whether answers get the missing fields that are nullable in OpenAI's API. */
  readonly fillNullFields: boolean;
  /**
   * Whether to add `stream_options.include_usage` to streamed requests
   * (`always_include_stream_usage`).
   */
  readonly alwaysIncludeStreamUsage: boolean;
  /**
   * Whether the proxy counts the usage of each request. It then requests the usage of streams, and
   * removes it from the answer if the client has not requested it.
   */
  readonly countsUsage?: boolean;
  /** Whether `--detailed_debug` hides bodies (`turn_off_message_logging`). */
  readonly hidesBodies?: boolean;
  /** Whether only virtual keys may set tags (`reject_clientside_metadata_tags`). */
  readonly rejectClientTags?: boolean;
  readonly maxRequestBytes: number;
  /** Maximum size of answers that the proxy collects in memory (JSON). */
  readonly maxResponseBytes: number;
  /** Paths below `/v1/` that are served in addition to the built-in ones: `fim/completions`. */
  readonly forwardedPaths: ReadonlySet<string>;
  /**
   * Whether the client's `x-*` and `anthropic-beta` headers go upstream
   * (`forward_client_headers_to_llm_api`).
   */
  readonly forwardClientHeaders: boolean;
  /**
   * Paths that are served (`allowed_routes`); `/vllm/*` includes everything below. Null allows all
   * paths. Probes are always allowed.
   */
  readonly allowedRoutes: readonly string[] | null;
  /** Client addresses and subnets that are allowed (`allowed_ips`); null allows all. */
  readonly allowedIps: readonly string[] | null;
  /** Whether to read the client's address from X-Forwarded-For (`use_x_forwarded_for`). */
  readonly useXForwardedFor: boolean;
  /**
   * Routes for which the configuration requires the master key (`require_auth_for_metrics_endpoint`,
   * `admin_only_routes`). For a page: all its paths. For an endpoint: `/v1/chat/completions`. For a raw path: the
   * results of `rawName` and `nameAtAnyProvider`.
   */
  readonly masterKeyRoutes: ReadonlySet<string>;
  /** The paths of `masterKeyRoutes`, as the operator wrote them. */
  readonly adminOnlyRoutes: readonly string[];
  /** Whether model requests must contain `user` (`enforce_user_param`). */
  readonly enforceUserParam: boolean;
  /** The master key (`master_key`), which has all rights. null: the proxy accepts every client. */
  readonly clientKeys: ReadonlySet<string> | null;
}

/** The store of virtual keys and usage. */
export interface StoreSettings {
  /** The absolute path of a folder, or the URL of a Redis. */
  readonly place: { readonly folder: string } | { readonly url: string };
  /** How many days the usage is stored; null: without end. */
  readonly keepDays: number | null;
}

/** A receiver of OTLP over HTTP. */
export interface OtlpTarget {
  /** Absolute URL, with the path of the signal. */
  readonly url: string;
  /** Headers, which may contain keys. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the certificates, headers, timeout and compression of `OTEL_EXPORTER_OTLP_*` apply to this address. */
  readonly usesVariables: boolean;
}

/** Settings of OpenTelemetry. */
export interface TelemetrySettings {
  readonly serviceName: string;
  readonly traces: readonly OtlpTarget[];
  readonly metrics: readonly OtlpTarget[];
  readonly metricIntervalMs: number;
}

/** A receiver of reports about requests. */
export interface WebhookSettings {
  /** The name of the callback. */
  readonly name: string;
  /** Absolute URL, which may contain a secret. */
  readonly url: string;
  /** Headers, which may contain keys. */
  readonly headers: Readonly<Record<string, string>>;
  /** Requests that are reported. */
  readonly outcomes: ReadonlySet<'success' | 'failure'>;
  /** `log_format`: a list, a line for each report, or a request for each report. */
  readonly format: 'json_array' | 'ndjson' | 'single';
  /** `batch_size`: maximum number of reports that are sent together. */
  readonly batchSize: number;
  /** `flush_interval`: how long a report waits for others. */
  readonly flushMs: number;
  /** `max_retries`: further attempts after a failure. */
  readonly maxRetries: number;
  /** `retry_delay`: wait before the first further attempt. It doubles each time. */
  readonly retryDelayMs: number;
  readonly timeoutMs: number;
}

/** Settings that only a restart can change. Exception: a reload reads the TLS files again. */
export interface ListenSettings {
  /** Receiver of alerts about budgets; null: none. */
  readonly budgetAlerts: WebhookSettings | null;
  /** null: no OpenTelemetry. */
  readonly telemetry: TelemetrySettings | null;
  readonly webhooks: readonly WebhookSettings[];
  /** null: there are no virtual keys. */
  readonly store: StoreSettings | null;
  readonly host: string;
  readonly port: number;
  /** Number of processes that serve the port (`--num_workers`). 1: this process alone. */
  readonly numWorkers: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  readonly logLevel: 'error' | 'warn' | 'info' | 'debug';
  /** Whether to log upstream requests as curl lines and raw answers (`--detailed_debug`). */
  readonly detailedDebug: boolean;
  /** Whether the log has JSON lines; null: text on a terminal, JSON elsewhere. */
  readonly jsonLogs: boolean | null;
  /**
   * How long the process keeps listening but reports as not ready after a termination signal, in
   * milliseconds.
   */
  readonly drainDelayMs: number;
  /** How long requests in progress may take after `drainDelayMs`, in milliseconds. */
  readonly drainMs: number;
}
