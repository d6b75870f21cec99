/** One configured target: an entry of `model_list` with everything that it inherits resolved. */
import type { Provider } from './provider.js';

/** Times, in milliseconds; null: no bound. */
export interface Timeouts {
  /** TCP and TLS. */
  readonly connectMs: number | null;
  /** From the last byte of the request to the first of the answer's body (or its head where there is no body). */
  readonly firstByteMs: number | null;
  /** Between two chunks of an answer. */
  readonly idleMs: number | null;
  /** From the start of the upstream request to its last byte. */
  readonly totalMs: number | null;
}

/** How the upstream's certificate is checked. Paths are absolute and were readable when the configuration was loaded. */
export interface UpstreamTls {
  /** false: not at all; true: Node's roots (and SSL_CERT_FILE); a text: the CA bundle that takes their place. */
  readonly verify: boolean | string;
  /** Client certificate and key, PEM; one file may hold both. */
  readonly clientCertificate: { readonly certFile: string; readonly keyFile: string } | null;
}

export interface Deployment {
  /** `model_info.id`, else a digest of what tells deployments apart: stable over restarts. */
  readonly id: string;
  /** The public name; `model` of requests. May be a wildcard (`openai/*`). */
  readonly modelName: string;
  readonly provider: Provider;
  /** What the upstream calls it, without the provider's prefix. May be a wildcard where the public name is one. */
  readonly upstreamModel: string;
  /**
   * Of one that takes every name (`model: "*"`): by the provider that a name begins with, who is asked for the rest of it; null:
   * nobody, we do not speak with that provider.
   */
  readonly byProvider?: ReadonlyMap<string, Deployment | null>;
  /** Absolute, without a final slash: `https://host/v1`. */
  readonly apiBase: string;
  /** null: the upstream wants none, and no Authorization header is sent. */
  readonly apiKey: string | null;
  readonly tls: UpstreamTls;
  readonly timeouts: Timeouts;
  /** As `timeouts`, for streamed answers (`stream_timeout`). */
  readonly streamTimeouts: Timeouts;
  /** Unsupported parameters of OpenAI's are left out (true) or refused (false). */
  readonly dropParams: boolean;
  /** Removed whatever else holds; `tools[*].input_examples` are paths. */
  readonly additionalDropParams: readonly string[];
  /** Count as supported. */
  readonly allowedOpenaiParams: readonly string[];
  /** Parameters that a request gets which does not have them (`temperature: 0.2` among the params). */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Merged into the body at top level; wins over the request. */
  readonly extraBody: Readonly<Record<string, unknown>>;
  /** Sent upstream; names lower case. */
  readonly extraHeaders: Readonly<Record<string, string>>;
  /** `model_info` as configured, for `/model/info` and `/v1/models/{id}`. */
  readonly modelInfo: Readonly<Record<string, unknown>>;
  /** Requests that it may get in a minute; null: any number. */
  readonly rpm: number | null;
  /** Whether raw pass-through (`/openai/…`) may use its key (`use_in_pass_through`). */
  readonly useInPassThrough: boolean;
  /** Share of the requests of its group; 1 unless configured. */
  readonly weight: number;
}
