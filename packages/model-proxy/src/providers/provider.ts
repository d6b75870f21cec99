/**
 * The interface of providers. A provider knows the address, the headers, the parameters and the
 * dialect of a kind of upstream. It has no state and does no I/O.
 *
 * Terms:
 * - A *provider* is a kind of upstream.
 * - A *dialect* describes a provider's API that is not OpenAI's.
 * - A *deployment* is a configured target.
 * - A *model group* has all deployments with the same `model_name`.
 * - An *upstream* is the HTTP server.
 */
import type { Dialect } from './dialect.js';
import type { Translation, TranslationTriggers } from './request-members.js';
import type { TargetOf } from './target.js';

/** A provider. Without {@link dialect} it has OpenAI's API, with the changes that its other members declare. */
export interface Provider {
  /** The prefix of `model`: `openai`, `hosted_vllm`. */
  readonly name: string;
  /** The name in LiteLLM's error messages, such as `Hosted_vllmException`. */
  readonly exceptionName: string;
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
   * Returns the OpenAI parameters that the provider supports, from parameters.json. Empty for an
   * endpoint whose parameters are not checked.
   * @param endpoint path, such as `chat/completions`.
   */
  supportedParameters(endpoint: string, upstreamModel: string): ReadonlySet<string>;
  /** Returns the headers with the key, and other headers of the provider; names in lower case. */
  headers(apiKey: string | null): Readonly<Record<string, string>>;
  /** As {@link headers}, for raw requests to the API of the vendor itself. Absent: the same. */
  nativeHeaders?(apiKey: string | null): Readonly<Record<string, string>>;
  /**
   * Derives the address, and what depends on it, from the settings of a deployment. Absent: the address is
   * `api_base`, or {@link defaultApiBase}.
   */
  readonly targetOf?: TargetOf;
  /** The API, if it is not OpenAI's. */
  readonly dialect?: Dialect;
  /** Endpoints of Anthropic's API that the upstream also serves, such as `messages`. Absent: none. */
  readonly anthropicEndpoints?: readonly string[];
  /**
   * Parameters with which a request could use other models than `model`, or another project than that of the deployment.
   * The proxy ignores them in a client's `extra_body`, and {@link Provider.dialect} must not forward them. Without a
   * dialect, the proxy forwards them, but answers 403 if the key has a list of models. Absent: none.
   */
  readonly modelParameters?: readonly string[];
  /** OpenAI parameters that have another name at the provider: `seed` → `random_seed`. */
  readonly renamedParameters?: ReadonlyMap<string, string>;
  /** Other changes of members. */
  readonly translate?: Translation;
  /**
   * Names of members, and names inside of members, that {@link Provider.translate} changes. It does not
   * change a request without these names.
   */
  readonly translationTriggers?: TranslationTriggers;
}
