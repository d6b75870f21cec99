/**
 * The interface of providers. A provider is a dialect: it knows the address, the headers and the
 * parameters of a kind of upstream. It has no state and does no I/O.
 *
 * Terms: a *provider* is a dialect, a *deployment* is a configured target, a *model group* has all
 * deployments with the same `model_name`, and an *upstream* is the HTTP server.
 */

/** A dialect. */
export interface Provider {
  /** The prefix of `model`: `openai`, `hosted_vllm`. */
  readonly name: string;
  /** The name in LiteLLM's error messages: `Hosted_vllmException`. */
  readonly displayName: string;
  /** Environment variables for the key if the configuration has none. The first has priority. */
  readonly apiKeyEnvironment: readonly string[];
  /** Environment variables for the address, as {@link apiKeyEnvironment}. */
  readonly apiBaseEnvironment: readonly string[];
  /**
   * The address if neither the configuration nor the environment has any; null: the address is
   * required.
   */
  readonly defaultApiBase: string | null;
  /**
   * Returns the OpenAI parameters that the dialect supports, from parameters.json. Empty for an
   * endpoint whose parameters are not checked.
   * @param endpoint path, such as `chat/completions`.
   */
  supportedParameters(endpoint: string, upstreamModel: string): ReadonlySet<string>;
  /** Returns the headers with the key, and other headers of the dialect; names in lower case. */
  headers(apiKey: string | null): Readonly<Record<string, string>>;
  /** OpenAI parameters that have another name in the dialect: `seed` → `random_seed`. */
  readonly renamedParameters?: ReadonlyMap<string, string>;
  /** Other changes of the dialect. */
  readonly translate?: Translation;
  /**
   * {@link Provider.translate} changes nothing in a request without these members, and without
   * these names inside of other members.
   */
  readonly translated?: { readonly members: readonly string[]; readonly innerKeys: readonly string[] };
}

/** The top-level members of a request. Each value is read only on demand. */
export interface RequestMembers {
  /**
   * Returns the value of a member as JSON; undefined: the member is missing, null, or does not go
   * upstream. A view if the value is in a single chunk.
   */
  bytes(name: string): Buffer | undefined;
  /**
   * Returns whether a value may contain members with these names. False is certain. The call is
   * cheap.
   * @param keys ASCII.
   */
  mayHold(name: string, keys: readonly string[]): boolean;
  /**
   * Returns whether a value contains a text, not inside of long strings. Does not join the value's
   * chunks.
   * @param texts ASCII.
   * @param accepts decides about a match by up to 32 bytes from its first byte on; absent: accepts
   *   all.
   */
  contains(name: string, texts: readonly Buffer[], accepts?: (following: string) => boolean): boolean;
}

/**
 * Rewrites members for a dialect.
 * @returns the new values as JSON; null: removes the member. Other members stay unchanged.
 */
export type Translation = (endpoint: string, members: RequestMembers) => ReadonlyMap<string, Buffer | null>;
