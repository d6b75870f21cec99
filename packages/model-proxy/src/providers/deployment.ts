/** Deployments: the entries of `model_list` with all inherited values resolved. */
import type { Provider } from './provider.js';
import type { CallTraits } from './target.js';
import type { TokenSettings } from './token.js';

/** Maximum of a timeout in seconds: 23 days. Node's timers support up to 2^31 ms, which is 24 days. */
export const MAX_TIMEOUT_SECONDS = 2_000_000;

/** Timeouts in milliseconds; null: no timeout. */
export interface Timeouts {
  /** For TCP and TLS. */
  readonly connectMs: number | null;
  /**
   * From the last byte of the request to the first byte of the answer's body. For an answer without a body, and for
   * a raw request: to its headers. Also limits each pause while the proxy sends the request.
   */
  readonly firstByteMs: number | null;
  /** Between two chunks of an answer. */
  readonly idleMs: number | null;
  /** From the start of the upstream request to the last byte of its answer. */
  readonly totalMs: number | null;
}

/**
 * Verification of the upstream's certificate. Paths are absolute. Files were readable when
 * the configuration was loaded.
 */
export interface UpstreamTls {
  /** false: no verification; true: Node's roots or SSL_CERT_FILE; a text: path of the CA bundle. */
  readonly verify: boolean | string;
  /** PEM files of the client certificate and its key, which may be the same file; null: none. */
  readonly clientCertificate: { readonly certFile: string; readonly keyFile: string } | null;
}

/** Source of the access tokens of a deployment. */
export interface DeploymentToken {
  readonly settings: TokenSettings;
  /** For the connections to the token server. */
  readonly tls: UpstreamTls;
}

/** A configured target. */
export interface Deployment {
  /** `model_info.id`, or a digest of the deployment's settings. Stable over restarts. */
  readonly id: string;
  /** The public name, which requests have in `model`. May be a wildcard (`openai/*`). */
  readonly modelName: string;
  readonly provider: Provider;
  /**
   * The upstream's name for the model, without the provider's prefix. May be a wildcard if the
   * public name is a wildcard.
   */
  readonly upstreamModel: string;
  /**
   * For a deployment of all names (`model: "*"`): the deployment for each provider, which gets the name without the
   * provider's prefix. null: the proxy does not support that provider.
   */
  readonly byProvider?: ReadonlyMap<string, Deployment | null>;
  /** Absolute URL without a slash at its end, such as `https://host/v1`. */
  readonly apiBase: string;
  /** Query of all requests, without `?`: `api-version=2024-10-21`. Absent: none. */
  readonly query?: string;
  /** As in {@link ProviderTarget}. */
  readonly pathOf?: (path: string, call: CallTraits) => string;
  /** As in {@link ProviderTarget}. */
  readonly formFields?: Readonly<Record<string, string>>;
  /** Source of the access token of each request. Absent: the requests have no access token. */
  readonly token?: DeploymentToken;
  /** null: there is no key; a token or other headers may authenticate the requests. */
  readonly apiKey: string | null;
  readonly tls: UpstreamTls;
  readonly timeouts: Timeouts;
  /** As `timeouts`, for streamed answers (`stream_timeout`). */
  readonly streamTimeouts: Timeouts;
  /** Whether unsupported OpenAI parameters are dropped (true) or rejected (false). */
  readonly dropParams: boolean;
  /** Parameters that are always removed. May be paths, such as `tools[*].input_examples`. */
  readonly additionalDropParams: readonly string[];
  /** Parameters that the proxy treats as supported, also if the provider does not support them. */
  readonly allowedOpenaiParams: readonly string[];
  /** Parameters that are added to requests without them, such as `temperature: 0.2`. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Top-level members that are added to the body, or replace the request's. */
  readonly extraBody: Readonly<Record<string, unknown>>;
  /** Additional headers for the upstream; names in lower case. */
  readonly extraHeaders: Readonly<Record<string, string>>;
  /** `model_info` as configured, and the prices of `litellm_params`. `/model/info` and `/v1/models/{id}` show it. */
  readonly modelInfo: Readonly<Record<string, unknown>>;
  /** Maximum number of requests per minute; null: unlimited. */
  readonly rpm: number | null;
  /** Maximum number of tokens per minute; null: unlimited. */
  readonly tpm: number | null;
  /** Maximum number of requests at the same time (`max_parallel_requests`); null: unlimited. */
  readonly maxParallelRequests: number | null;
  /** The proxy prefers deployments with a lower value (`order`); null: after all others. */
  readonly order: number | null;
  /** `num_retries` of `litellm_params`: maximum number of retries after a failure; null: that of the router. */
  readonly retries: number | null;
  /** `cooldown_time` of `litellm_params`; null: that of the router. */
  readonly cooldownMs: number | null;
  /** Whether raw pass-through (`/openai/…`) may use the deployment and its key (`use_in_pass_through`). */
  readonly useInPassThrough: boolean;
  /**
   * Weight in the model group: the deployment's share of the requests is its weight divided by the sum of the weights.
   * null: not configured.
   */
  readonly weight: number | null;
}
