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
  /**
   * Names of OpenAI's parameters that the dialect understands, by endpoint (`chat/completions`); from parameters.json. Empty for
   * an endpoint whose parameters nobody checks.
   */
  supportedParameters(endpoint: string, upstreamModel: string): ReadonlySet<string>;
  /** Headers that carry the key and what else the dialect wants; names lower case. Without a key: none that carries one. */
  headers(apiKey: string | null): Readonly<Record<string, string>>;
  /** OpenAI's parameters that the dialect spells otherwise: `seed` → `random_seed`. */
  readonly renamedParameters?: ReadonlyMap<string, string>;
  /** What the dialect needs beside that; see {@link Translation}. */
  readonly translate?: Translation;
  /** Without any of these members, and of these names inside of others, {@link Provider.translate} changes nothing. */
  readonly translated?: { readonly members: readonly string[]; readonly innerKeys: readonly string[] };
}

/** The values of a request's own members, each read when it is asked for and none of the others with it. */
export interface RequestMembers {
  /** The value's bytes, JSON; undefined: it is absent or null, or does not go upstream. A view where it lies in one chunk. */
  bytes(name: string): Buffer | undefined;
  /**
   * Whether members of these names may be inside of a value: false is certain, and costs nothing.
   * @param keys ASCII.
   */
  mayHold(name: string, keys: readonly string[]): boolean;
  /**
   * Whether one of the texts stands anywhere in the value but inside of a long text; its chunks are not joined.
   * @param texts ASCII.
   * @param isIt decides by the text and up to 32 bytes in all from its first on; left out: any place will do.
   */
  contains(name: string, texts: readonly Buffer[], isIt?: (following: string) => boolean): boolean;
}

/**
 * Rewrites members for an upstream that wants them otherwise.
 * @returns the new values as JSON; null: the member is left out. Members that it does not name stay, byte for byte.
 */
export type Translation = (endpoint: string, members: RequestMembers) => ReadonlyMap<string, Buffer | null>;
