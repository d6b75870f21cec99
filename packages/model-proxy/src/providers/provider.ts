/**
 * A provider is a dialect: how an upstream of that kind is addressed and what it understands. It does no I/O and holds nothing.
 * Words: *provider* = dialect, *deployment* = configured target, *model group* = deployments sharing a `model_name`,
 * *upstream* = the HTTP peer.
 */

export interface Provider {
  /** The prefix of `model`: `openai`, `hosted_vllm`. */
  readonly name: string;
  /** As LiteLLM spells it in messages: `Hosted_vllmException`. */
  readonly displayName: string;
  /** Environment variables that hold a key where the configuration has none, in order of preference. */
  readonly apiKeyEnvironment: readonly string[];
  readonly apiBaseEnvironment: readonly string[];
  /** Where neither the configuration nor the environment names one; null: it is required. */
  readonly defaultApiBase: string | null;
  /** Names of OpenAI's parameters that the dialect understands, by endpoint (`chat/completions`); from parameters.json. */
  supportedParameters(endpoint: string, upstreamModel: string): ReadonlySet<string>;
  /** Headers that carry the key and what else the dialect wants; names lower case. Without a key: none that carries one. */
  headers(apiKey: string | null): Readonly<Record<string, string>>;
}
