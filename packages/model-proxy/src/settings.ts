/** Everything that a configuration comes to; made by config/, read by everybody. Nothing here has a default: config/ has them all. */
import type { Deployment } from './providers/deployment.js';

/** Variables of a process: `process.env`, or what stands for it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** `model` of answers: `hosted_vllm/gpt-oss-120b`, `gpt-oss-120b`, or the name that the client asked for. */
export type ModelNameInResponse = 'provider' | 'upstream' | 'requested';

/** What can be changed by a reload. */
export interface ProxySettings {
  readonly deployments: readonly Deployment[];
  /** `router_settings.model_group_alias`: public name → model group. */
  readonly modelGroupAlias: ReadonlyMap<string, string>;
  /** Aliases that `/v1/models` does not show. */
  readonly hiddenAliases?: ReadonlySet<string>;
  /** Public names of `model_list` that can not be served, and why: `bedrock has an API of its own, which is not built yet`. */
  readonly unserved?: ReadonlyMap<string, string>;
  /** OpenAI itself with the key of the environment, for raw requests alone; null or absent: the environment has no key. */
  readonly environmentDeployment?: Deployment | null;
  readonly modelNameInResponse: ModelNameInResponse;
  /** Adds the specification's nullable fields where an answer lacks them. */
  readonly fillNullFields: boolean;
  /** Adds `stream_options.include_usage` to streamed requests (`always_include_stream_usage`). */
  readonly alwaysIncludeStreamUsage: boolean;
  readonly maxRequestBytes: number;
  /** Of an answer that is kept whole until it is sent (JSON). */
  readonly maxResponseBytes: number;
  /** Paths below `/v1/` that are served in addition to the built-in ones: `fim/completions`. */
  readonly forwardedPaths: ReadonlySet<string>;
  /** `forward_client_headers_to_llm_api`: the client's `x-*` and `anthropic-beta` headers go upstream. */
  readonly forwardClientHeaders: boolean;
  /** Paths that are served (`allowed_routes`), `/vllm/*` with all below; null: all. Probes are always served. */
  readonly allowedRoutes: readonly string[] | null;
  /** Addresses and subnets that clients may have (`allowed_ips`); null: any. */
  readonly allowedIps: readonly string[] | null;
  /** Whether a proxy in front says who the client is (`use_x_forwarded_for`). */
  readonly useXForwardedFor: boolean;
  /** Pages that need a key although they are open by default (`require_auth_for_metrics_endpoint`, `admin_only_routes`). */
  readonly closedPages: ReadonlySet<string>;
  /** Whether requests for models must have `user` (`enforce_user_param`). */
  readonly enforceUserParam: boolean;
  /** Keys that clients must present (`master_key`); null: any is accepted. */
  readonly clientKeys: ReadonlySet<string> | null;
}

/** What holds from the start to the end of the process. */
export interface ListenSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  readonly logLevel: 'error' | 'warn' | 'info' | 'debug';
  /** `--detailed_debug`: requests as curl lines and raw answers. */
  readonly detailedDebug: boolean;
  readonly jsonLogs: boolean | null;
  /** How long the process goes on listening, unready, when it is told to end, in milliseconds. */
  readonly drainDelayMs: number;
  /** How long requests under way may take after that, in milliseconds. */
  readonly drainMs: number;
}
